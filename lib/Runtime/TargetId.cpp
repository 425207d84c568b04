//===- TargetId.cpp - Names of AMD chips with settings --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads target ids: a chip, and settings behind it, "CHIP:sramecc+:xnack-".
//
//===----------------------------------------------------------------------===//

#include "TargetId.h"

namespace lnbwd::runtime {

std::string baseChip(const std::string &targetId) {
  return targetId.substr(0, targetId.find(':'));
}

bool isCompatible(const std::string &code, const std::string &device) {
  if (baseChip(code) != baseChip(device))
    return false;
  for (size_t begin = code.find(':'), end; begin != std::string::npos;
       begin = end) {
    end = code.find(':', begin + 1);
    std::string setting = code.substr(begin, end - begin);
    setting.back() = setting.back() == '+' ? '-' : '+';
    if (setting.size() > 1 &&
        (device + ":").find(setting + ":") != std::string::npos)
      return false;
  }
  return true;
}

} // namespace lnbwd::runtime
