//===- RowPhases.h - What of a row program waits for which sums -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits the region of a row program into phases: the operations between two
// exchanges of row sums. Also says which regions can be distributed over lanes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_ROWPHASES_H
#define LNBWD_ANALYSIS_ROWPHASES_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace lnbwd {

/// Whether every operation of the region can be distributed. Names the first
/// that cannot in an error.
mlir::LogicalResult checkDistributable(RowwiseOp op);

/// The phases of a region: a value belongs to the one in which it can first be
/// computed, after the last row sum that it needs.
class RowPhases {
public:
  explicit RowPhases(RowwiseOp op);

  unsigned getCount() const { return unsigned(sums.size()); }
  unsigned getPhase(mlir::Value value) const { return phaseOf.lookup(value); }
  /// The row sums whose terms are complete in a phase.
  llvm::ArrayRef<mlir::Operation *> getSums(unsigned phase) const {
    return sums[phase];
  }
  /// Whether a row needs `column` before it waits for its first sum.
  bool isNeededAtFirst(mlir::BlockArgument column) const;
  /// The operations on scalars that can first be computed in a phase.
  llvm::SmallVector<mlir::Operation *> getScalars(unsigned phase) const;

private:
  RowwiseOp op;
  llvm::DenseMap<mlir::Value, unsigned> phaseOf;
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> sums;
};

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_ROWPHASES_H
