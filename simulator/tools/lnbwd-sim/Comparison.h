//===- Comparison.h - Outputs of two orders of execution --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel leaves may depend on the order in which its waves run: by a
// mistake, or since sums of floating-point numbers do. How far two results may
// lie apart is the user's to say.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_SIM_COMPARISON_H
#define LNBWD_TOOLS_LNBWD_SIM_COMPARISON_H

#include "Arguments.h"

#include "llvm/ADT/ArrayRef.h"

namespace lnbwd::simtool {

/// How far two floating-point numbers x and y may lie apart:
/// |x - y| <= Relative * max(|x|, |y|) + Absolute. A NaN equals a NaN, and an
/// infinity the same one. Without a tolerance their bits are compared, as those
/// of integers always are.
struct Tolerance {
  double Relative = 0, Absolute = 0;
  bool isNone() const { return Relative == 0 && Absolute == 0; }
};

/// Understands R or R,A, numbers of 0 or more.
std::optional<Tolerance> parseTolerance(llvm::StringRef Text);

/// "37 of its 64 f16 elements differ, ..." for an argument whose elements are
/// not alike in the usual order and another one; empty if they are.
std::string describeDifference(Element Type, llvm::ArrayRef<uint8_t> Usual,
                               llvm::ArrayRef<uint8_t> Other,
                               const Tolerance &Allowed);

} // namespace lnbwd::simtool

#endif // LNBWD_TOOLS_LNBWD_SIM_COMPARISON_H
