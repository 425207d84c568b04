//===- Device.cpp - Opening a device by its specification -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Error.h"

#include "lnbwd/Chips/ChipNames.h"

namespace lnbwd::runtime {

[[noreturn]] static void badSpec(const std::string &spec) {
  throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
              "device: expected 'sim', 'sim:CHIP', 'hip', 'hip:I', 'cuda' or "
              "'cuda:I' with a device number I, got '" +
                  spec + "'");
}

/// The number behind "hip:" or "cuda:"; 0 if there is none.
static int deviceIndex(const std::string &spec, size_t colon) {
  if (colon == std::string::npos)
    return 0;
  std::string digits = spec.substr(colon + 1);
  if (digits.empty() || digits.size() > 4 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    badSpec(spec);
  return std::stoi(digits);
}

std::shared_ptr<Driver> openDevice(const std::string &spec,
                                   const std::string &chip) {
  size_t colon = spec.find(':');
  std::string kind = spec.substr(0, colon);
  if (kind == "hip")
    return openHipDevice(deviceIndex(spec, colon));
  if (kind == "cuda")
    return openCudaDevice(deviceIndex(spec, colon));
  if (kind != "sim")
    badSpec(spec);
  if (colon != std::string::npos) {
    if (colon + 1 == spec.size())
      badSpec(spec);
    return openSimulatedDevice(spec.substr(colon + 1));
  }
  if (chip.empty())
    throw Error(LNBWD_ERROR_INVALID_ARGUMENT,
                "device 'sim': pass the program's chip too, or name one, as in "
                "'sim:" LNBWD_DEFAULT_SIMULATED_CHIP "'");
  return openSimulatedDevice(chip);
}

} // namespace lnbwd::runtime
