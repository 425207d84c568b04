//===- RowDistributor.h - The kernel of a row program -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_ROWWISETOLANE_ROWDISTRIBUTOR_H
#define LNBWD_LIB_CONVERSION_ROWWISETOLANE_ROWDISTRIBUTOR_H

#include "KernelFrame.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace lnbwd {
/// Writes the body of one kernel.
class RowDistributor {
public:
  RowDistributor(const RowKernel &kernel, const ChipInfo &chip)
      : kernel(kernel), op(this->kernel.op), schedule(*op.getSchedule()),
        chip(chip), phases(op),
        b(op.getLoc(), mlir::OpBuilder::atBlockEnd(
                           &this->kernel.function.getBody().front())) {}

  void write();

private:
  lane::LayoutType getLayoutType(int64_t groups, bool isAcross);
  void writeRow(lane::RowOp row, llvm::MutableArrayRef<mlir::Value> sums,
                mlir::Value iteration);
  void loadRows();
  void convertRows();
  void storeRows(unsigned phase);
  llvm::SmallVector<mlir::Value> writeIteration(lane::ForRowsOp loop);
  void writeLoop(mlir::Value workgroup,
                 llvm::MutableArrayRef<mlir::Value> sums);
  void writeLeaves(mlir::Value workgroup);
  llvm::SmallVector<mlir::Value> endLeaf(mlir::Value tile, mlir::Value part,
                                         mlir::ValueRange sums);
  void storeLeaf(mlir::Value leaf, mlir::Value part, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> makeNeutral();
  /// The kernel after this one, if it may start before this has ended: one of
  /// the same program that waits. What follows a program is not known, and a
  /// library's kernels need not wait.
  RowwiseOp findNext();
  /// Waits for the end of the kernel before this one.
  void await();
  void allowNext();
  llvm::SmallVector<mlir::Value> combineGroups(mlir::ValueRange sums);
  void storeSums(llvm::ArrayRef<mlir::Value> sums, mlir::Value row);
  int64_t getLeavesTogether() {
    return countLeavesTogether(op.getRowLength(),
                               schedule.getRowsPerWorkgroup());
  }
  void writeTree(llvm::MutableArrayRef<mlir::Value> sums);
  void writeAllLeaves(llvm::MutableArrayRef<mlir::Value> sums);
  void writePhase(unsigned phase, mlir::Value row,
                  llvm::MutableArrayRef<mlir::Value> sums,
                  mlir::Value iteration);
  /// Says of `loop` how its rows are brought.
  void setTransfers(lane::ForRowsOp loop);
  bool isTransposed(unsigned operand) {
    return getRowAccess(op, operand, schedule, chip) == RowAccess::Transposed;
  }
  /// A value of the region as this lane has it: a scalar, or its part of a row.
  mlir::Value get(mlir::Value value);
  /// The row at work where accesses depend on it; null where they do not.
  mlir::Value getAlignedRow() {
    return layout.getType().isAligned() ? currentRow : mlir::Value();
  }
  /// The index of the row at work, or of this lane's columns of it.
  mlir::Value getIndex(IndexOp index);
  /// This lane's part of a row of a table.
  mlir::Value loadGathered(GatherOp gather);
  /// Whether number `sum` of the sums is the largest instead.
  bool isMaximum(size_t sum) {
    return op.getReduction(op.getAllSums().getBeginOperandIndex() +
                           unsigned(sum)) == Reduction::Maximum;
  }
  /// What `isMaximum` says of all sums.
  mlir::ArrayAttr getSumKinds();
  mlir::Value getBuffer(unsigned output) {
    return kernel.buffers[op.getNumDpsInputs() + output];
  }

  RowKernel kernel;
  RowwiseOp op;
  ScheduleAttr schedule;
  const ChipInfo &chip;
  RowPhases phases;
  IndexBuilder b;
  mlir::TypedValue<lane::LayoutType> layout;
  /// The same lanes across the rows, where row blocks are transposed; and by it
  /// the row at work.
  mlir::TypedValue<lane::LayoutType> acrossLayout;
  mlir::Value acrossRow;
  RowwiseOp next = findNext();
  /// Whether it needs nothing of the kernel before it, which has awaited what
  /// is before that: then it waits only where it first writes.
  bool awaitsLate = op.getIndependent() && schedule.getDependentLaunch() &&
                    !schedule.getReload() && op.getAllSums().empty();
  /// Slices of the workgroup's columns, where the order of sums is canonical.
  mlir::IntegerAttr slices;
  /// The row at work; null ahead of the loop.
  mlir::Value currentRow;
  /// Values of the region, as the row at work has them.
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};
} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_ROWWISETOLANE_ROWDISTRIBUTOR_H
