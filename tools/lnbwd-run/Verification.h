//===- Verification.h - Comparison with the reference -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares a kernel's outputs with the float64 reference. docs/numerics.md
// says where each allowed error comes from.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_VERIFICATION_H
#define LNBWD_TOOLS_LNBWD_RUN_VERIFICATION_H

#include "Problem.h"

#include <string>
#include <vector>

namespace lnbwd::run {

/// How one output compares.
struct OutputReport {
  explicit OutputReport(const Argument &argument)
      : name(argument.outputName()), format(argument.format),
        elements(argument.elements) {}

  std::string name;
  Element format;
  size_t elements;
  /// The largest |reference|, |output - reference|, and what is allowed of it.
  double largestReference = 0;
  double maxAbsoluteError = 0;
  double allowedError = 0;
  /// Where that is: where an error is farthest beyond what is allowed, or else
  /// where it is largest.
  size_t worstIndex = 0;
  /// Elements that are NaN or infinite where the reference is a number of the
  /// type's range, or the reverse.
  size_t nonFiniteMismatches = 0;
  /// Elements that were not written at all.
  size_t unwritten = 0;
  /// Elements whose reference has no bound: beyond float32, or decided by a
  /// rounding.
  size_t undecided = 0;
  /// Whether it was compared at all, and whether two runs gave the same bits.
  bool compared = false;
  bool repeatable = true;

  /// The error, and what is allowed of it, relative to the largest reference
  /// value; no number if that is 0.
  double relativeError() const { return maxAbsoluteError / largestReference; }
  double allowedRelativeError() const {
    return allowedError / largestReference;
  }
  bool isValid() const;
};

/// The largest relative error that is allowed of an output, a sum over rows or
/// not, of the largest reference value.
double tolerance(bool isSum, Element format);

/// Compares all outputs of a problem that has an operation or programs;
/// `outputs` are their contents by argument, without what lies between rows.
std::vector<OutputReport>
compareWithReference(const Problem &problem,
                     const std::vector<std::vector<char>> &outputs);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_VERIFICATION_H
