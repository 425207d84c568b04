//===- RowSumPrograms.h - Row sums computed before --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes row sums out of a row program into one of their own, which leaves them
// in memory.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWSUMPROGRAMS_H
#define LNBWD_LIB_TRANSFORMS_ROWSUMPROGRAMS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/PatternMatch.h"

namespace lnbwd {

struct RowSumPrograms {
  /// Computes the sums.
  RowwiseOp sums;
  /// What is left of the program: it reads them.
  RowwiseOp rest;
};

/// Replaces `op` by a program with `suffix` after its name, whose outputs are
/// `sums`, operations of its region, and one that is given them as row scalars:
/// in buffers of one number for each row, or of `parts` where that is not 0.
/// The buffers are allocated before, and added to `allocations`. Neither
/// program has a schedule. What one of them does not need is left in it for
/// canonicalisation.
RowSumPrograms hoistRowSums(mlir::RewriterBase &rewriter, RowwiseOp op,
                            llvm::ArrayRef<mlir::Operation *> sums,
                            llvm::StringRef suffix, int64_t parts,
                            llvm::SmallVectorImpl<mlir::Value> &allocations);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWSUMPROGRAMS_H
