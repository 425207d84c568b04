//===- RowStatistics.h - Numbers of rows computed before --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes a row program apart into one that makes numbers of row sums, and one
// that is elementwise, given those.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWSTATISTICS_H
#define LNBWD_LIB_TRANSFORMS_ROWSTATISTICS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/Builders.h"

namespace lnbwd {

struct StatisticsPrograms {
  /// Writes the numbers, and the row scalars that the program wrote.
  RowwiseOp statistics;
  /// Reads the numbers, and writes the row block.
  RowwiseOp rest;
  /// Buffers of the numbers, one for each row. They are allocated before, and
  /// the caller ends their lives.
  llvm::SmallVector<mlir::Value> allocations;
};

/// Replaces `op`, on memrefs of one row dimension, whose outputs are one row
/// block and row scalars, by two programs. `numbers`: values of its region, of
/// float32, that the row block's elements need of its row sums. Neither program
/// has operands that it does not need, but for row blocks.
StatisticsPrograms takeStatisticsApart(RowwiseOp op,
                                       llvm::ArrayRef<mlir::Value> numbers);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWSTATISTICS_H
