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
#include <optional>
#include <string>
#include <vector>

namespace lnbwd::run {

struct Options {
  bool help = false;
  bool version = false;

  /// The compiled kernel; empty: compile one from the fields below.
  std::string kernelFile;
  int64_t columns = 0;
  Element format = Element::F32;
  Element parameterFormat = Element::F32;
  std::string chip;
  std::string schedule;
  NamedOperation operation = NamedOperation::LayerNormBwd;
  /// Of a gradient: saved, recomputed, or output (from y in the place of x).
  std::string statistics = "saved";
  bool hasGamma = true;
  bool hasBeta = true;
  bool zeroCentredGamma = false;
  bool accumulate = false;
  /// The type of residual and sum, or of dsum and dresidual; none: they are not
  /// there.
  std::optional<Element> residualFormat;
  /// Elements from row to row; 0: dense.
  int64_t rowStride = 0;
  /// Which outputs; empty: all that the operation has.
  std::vector<std::string> outputs;
  /// Where the compiled kernel is left; empty: nowhere.
  std::string keepFile;

  int64_t rows = 1024;
  /// Of rows, in programs that have such.
  int64_t groups = 1;
  /// Empty: from the kernel's chip.
  std::string device;
  Init init = Init::Normal;
  uint64_t seed = 1;
  double epsilon = 1e-5;
  bool epsilonGiven = false;
  /// Lay dx over dy, or the sum over the residual.
  bool inPlace = false;
  bool verify = false;
  bool time = false;
  /// Predict, and execute no more than that needs.
  bool predict = false;
  /// Of the simulator's timing model, and where its timeline goes.
  std::string timeOptions;
  std::string traceFile;
  bool json = false;
  /// Run under the simulator's checks.
  bool check = false;
  /// Compare with a run in another order of waves; 0: do not.
  uint64_t shuffleSeed = 0;
};

/// Whether an operand that only some uses have is among those of the options.
bool isCompiledIn(const OperandInfo &operand, const Options &options);

/// Reads the command line; throws a UsageFailure that says what is wrong.
Options parseOptions(int argc, const char *const *argv);

/// The text of --help.
std::string helpText();

/// The kernel that the options describe, as MLIR: the text that
/// lnbwd.operations.mlir writes (docs/adding.md says why there are two).
std::string kernelMlir(const Options &options);

/// Compiles MLIR by lnbwd-opt for a chip, with a schedule if it is not empty,
/// and returns the bytes of the compiled file.
std::string compileMlir(const std::string &mlir, const std::string &chip,
                        const std::string &schedule);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_OPTIONS_H
