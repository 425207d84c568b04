//===- RowLoops.h - Copies of a row loop's body -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes share that write the body of a lane.for_rows anew for some rows.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_LANE_ROWLOOPS_H
#define LNBWD_LIB_TRANSFORMS_LANE_ROWLOOPS_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/IR/IRMapping.h"

#include <functional>

namespace lnbwd::lane {

/// The row loops of `kernel` for which `isWanted`.
template <typename Predicate>
llvm::SmallVector<ForRowsOp> collectLoops(mlir::Operation *kernel,
                                          Predicate isWanted) {
  llvm::SmallVector<ForRowsOp> loops;
  kernel->walk([&](ForRowsOp loop) {
    if (std::invoke(isWanted, loop))
      loops.push_back(loop);
  });
  return loops;
}

/// The row of this lane by a layout.
using RowOfLayout =
    llvm::function_ref<mlir::Value(mlir::TypedValue<LayoutType>)>;

/// The loads in the body of a row loop, and copies of them for other rows. What
/// a copy gives is in one list: the fragments of rows, then the row scalars.
class RowLoads {
public:
  /// With `withRows`, those of fragments of rows, else of row scalars alone.
  explicit RowLoads(ForRowsOp loop, bool withRows = true);

  bool isEmpty() const { return rows.empty() && scalars.empty(); }

  /// What the body loads.
  llvm::SmallVector<mlir::Value> getLoaded();
  /// Loads the row that `getRow` gives for a layout, which is in bounds.
  llvm::SmallVector<mlir::Value> load(IndexBuilder &b, RowOfLayout getRow);
  /// Loads the tile whose first row is `tile`, of which the first `count` rows
  /// exist: loads of the others are dropped. The row scalars are for share().
  llvm::SmallVector<mlir::Value>
  loadPredicated(IndexBuilder &b, mlir::Value tile, mlir::Value count);
  /// Gives the row scalars that loadPredicated() loaded to all lanes of a
  /// group.
  void share(IndexBuilder &b, llvm::MutableArrayRef<mlir::Value> loaded);

private:
  ForRowsOp loop;
  llvm::SmallVector<LoadOp> rows;
  llvm::SmallVector<LoadScalarOp> scalars;
};

/// Maps the row that the body of `loop` works on, by each layout that it asks
/// for, to the one that `getRow` gives.
void mapRow(ForRowsOp loop, mlir::IRMapping &mapping, RowOfLayout getRow);

/// Writes a copy of the body of `loop`, but for the operations whose results
/// are mapped already; the region's arguments have to be. Stores and column
/// sums keep nothing where `in_bounds`, if given, is false: this lane's row is
/// not below `end`. Returns what the copy yields.
llvm::SmallVector<mlir::Value> writeBody(IndexBuilder &b, ForRowsOp loop,
                                         mlir::IRMapping &mapping,
                                         mlir::Value inBounds = {},
                                         mlir::Value end = {});

/// A loop without a body over the whole tiles of the rows of `loop`, by `step`,
/// with its attributes.
ForRowsOp makeLoopLike(mlir::OpBuilder &b, ForRowsOp loop, mlir::Value step,
                       mlir::ValueRange sums, mlir::ValueRange carried);

/// Puts a loop in the place of `loop` that has `sums` and, in its state from
/// `at` on, also `inserted`; it has the body of `loop`, which is yet to yield
/// values for these. `at` is among what it carries.
ForRowsOp insertCarried(mlir::OpBuilder &b, ForRowsOp loop,
                        mlir::ValueRange sums, size_t at,
                        mlir::ValueRange inserted);

/// Takes the rows of the last tile, where it is not whole, out of `loop`, into
/// a copy of its body after it, which drops the loads of those out of bounds
/// where `chip` can, and loads the last row in bounds once more elsewhere; with
/// last_row_apart, the last row in any case. The loop has full tiles then.
/// Returns whether there is such a copy: a loop of one group without that, or
/// one with full tiles, needs none.
bool peelLastRows(ForRowsOp loop, const ChipInfo &chip);

} // namespace lnbwd::lane

#endif // LNBWD_LIB_TRANSFORMS_LANE_ROWLOOPS_H
