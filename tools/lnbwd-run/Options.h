//===- Options.h - The command line -----------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_OPTIONS_H
#define LNBWD_TOOLS_LNBWD_RUN_OPTIONS_H

#include "Inputs.h"

#include "lnbwd/Reference/FloatFormat.h"

#include <cstdint>
#include <string>

namespace lnbwd::run {

struct Options {
  bool help = false;
  bool version = false;

  /// The compiled kernel; empty: compile one from the fields below.
  std::string kernelFile;
  int64_t columns = 0;
  reference::FloatFormat format = reference::FloatFormat::F32;
  reference::FloatFormat parameterFormat = reference::FloatFormat::F32;
  std::string chip;
  std::string schedule;
  bool hasGamma = true;
  bool wantsDx = true;
  bool wantsDgamma = true;
  bool wantsDbeta = true;
  /// Where the compiled kernel is left; empty: nowhere.
  std::string keepFile;

  int64_t rows = 1024;
  /// Empty: from the kernel's chip.
  std::string device;
  Init init = Init::Normal;
  uint64_t seed = 1;
  double epsilon = 1e-5;
  bool verify = false;
  bool time = false;
  bool json = false;
  /// Run under the simulator's checks.
  bool check = false;
  /// Compare with a run in another order of waves; 0: do not.
  uint64_t shuffleSeed = 0;
};

/// Reads the command line; throws a UsageFailure that says what is wrong.
Options parseOptions(int argc, const char *const *argv);

/// The text of --help.
std::string helpText();

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_OPTIONS_H
