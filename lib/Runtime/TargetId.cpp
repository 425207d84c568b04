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

#include <algorithm>
#include <map>

namespace lnbwd::runtime {

std::string baseChip(const std::string &targetId) {
  return targetId.substr(0, targetId.find(':'));
}

/// The settings behind the chip in a target id, by name: '+' or '-'.
static std::map<std::string, char> readSettings(const std::string &targetId) {
  std::map<std::string, char> settings;
  for (size_t begin = targetId.find(':'); begin != std::string::npos;) {
    size_t end = targetId.find(':', begin + 1);
    std::string part =
        targetId.substr(begin + 1, end == std::string::npos ? std::string::npos
                                                            : end - begin - 1);
    if (!part.empty())
      settings[part.substr(0, part.size() - 1)] = part.back();
    begin = end;
  }
  return settings;
}

bool isCompatible(const std::string &code, const std::string &device) {
  if (baseChip(code) != baseChip(device))
    return false;
  const std::map<std::string, char> settings = readSettings(device);
  const std::map<std::string, char> needed = readSettings(code);
  return std::all_of(needed.begin(), needed.end(), [&](const auto &need) {
    auto found = settings.find(need.first);
    return found == settings.end() || found->second == need.second;
  });
}

} // namespace lnbwd::runtime
