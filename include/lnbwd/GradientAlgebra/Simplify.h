//===- Simplify.h - What holds of sums over a row ---------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algebra on the regions of row programs, which derivatives need to become as
// short as what one would write by hand. It treats float32 numbers as real
// ones. docs/math.md has the design.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_GRADIENTALGEBRA_SIMPLIFY_H
#define LNBWD_GRADIENTALGEBRA_SIMPLIFY_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace lnbwd {

/// What a region costs, in no unit: operations on each element of the row, row
/// sums, each of which is an exchange between lanes beside, and operations on
/// scalars, which are a small part of that.
unsigned getRowCost(RowwiseOp op);

/// Simplifies regions of row programs. One for a pass: it holds the patterns.
class RowSimplifier {
public:
  RowSimplifier() = default;
  /// With the canonicalisations of the dialects that `context` has loaded.
  explicit RowSimplifier(mlir::MLIRContext *context);

  /// Upstream's canonicalisations and common subexpressions, which keep every
  /// bit of the results.
  void canonicalize(RowwiseOp op) const;

  /// Canonicalises the region, and writes it anew from the normal forms of its
  /// outputs as long as that makes it cheaper. Results may round otherwise,
  /// infinities and NaNs may vanish.
  void normalize(RowwiseOp op) const;

private:
  void rewrite(RowwiseOp op) const;

  mlir::FrozenRewritePatternSet canonicalizations;
};

} // namespace lnbwd

#endif // LNBWD_GRADIENTALGEBRA_SIMPLIFY_H
