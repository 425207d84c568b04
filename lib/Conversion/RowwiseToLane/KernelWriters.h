//===- KernelWriters.h - The kernel of a row program ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_ROWWISETOLANE_KERNELWRITERS_H
#define LNBWD_LIB_CONVERSION_ROWWISETOLANE_KERNELWRITERS_H

#include "KernelFrame.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace lnbwd {
/// The kernel of a program while its body is written.
struct KernelContext {
  KernelContext(const RowKernel &kernel, const ChipInfo &chip)
      : kernel(kernel), op(this->kernel.op), schedule(*op.getSchedule()),
        chip(chip),
        b(op.getLoc(), mlir::OpBuilder::atBlockEnd(
                           &this->kernel.function.getBody().front())) {}

  lane::LayoutType getLayoutType(int64_t groups, bool isAcross);
  /// Adds `layout`, and `acrossLayout` where a row block is transposed.
  void addLayouts();
  /// Waits for the end of the kernel before this one.
  void await();
  /// Lets the kernel after this one start.
  void allowNext();
  /// Whether row scalars are split, from the kernel before this one.
  bool hasSplitScalars();
  /// How a reduction, or a sum, combines its terms.
  mlir::Attribute getKind(bool isMaximum);
  bool isTransposed(unsigned operand) {
    return getRowAccess(op, operand, schedule, chip) == RowAccess::Transposed;
  }
  /// Whether number `sum` of the sums is the largest instead.
  bool isMaximum(size_t sum) {
    return op.getReduction(op.getAllSums().getBeginOperandIndex() +
                           unsigned(sum)) == Reduction::Maximum;
  }
  mlir::Value getBuffer(unsigned output) {
    return kernel.buffers[op.getNumDpsInputs() + output];
  }
  /// The kernel after this one, if it may start before this has ended: one of
  /// the same program that waits. What follows a program is not known, and a
  /// library's kernels need not wait.
  RowwiseOp findNext();

  RowKernel kernel;
  RowwiseOp op;
  const Schedule &schedule;
  const ChipInfo &chip;
  IndexBuilder b;
  RowwiseOp next = findNext();
  /// Whether it needs nothing of the kernel before it, which has awaited what
  /// is before that: then it waits only where it first writes.
  bool awaitsLate = op.getIndependent() && schedule.dependentLaunch &&
                    !schedule.reload && op.getAllSums().empty();
  mlir::TypedValue<lane::LayoutType> layout;
  /// The same lanes across the rows, where row blocks are transposed.
  mlir::TypedValue<lane::LayoutType> acrossLayout;
  /// The lanes that have the sums of all groups: those of the first, or in the
  /// canonical order all.
  mlir::TypedValue<lane::LayoutType> totalLayout;
  /// Slices of the workgroup's columns, where the order of sums is canonical.
  mlir::IntegerAttr slices;
};

/// A writer of a part of the body of a kernel.
class KernelWriter {
protected:
  explicit KernelWriter(KernelContext &context)
      : context(context), kernel(context.kernel), op(context.op),
        schedule(context.schedule), b(context.b), layout(context.layout),
        slices(context.slices) {}

  KernelContext &context;
  RowKernel &kernel;
  RowwiseOp op;
  const Schedule &schedule;
  IndexBuilder &b;
  mlir::TypedValue<lane::LayoutType> &layout;
  mlir::IntegerAttr &slices;
};

/// Copies the region for one lane on demand, with its parts of rows in place of
/// rows.
class RegionWriter : protected KernelWriter {
protected:
  explicit RegionWriter(KernelContext &context)
      : KernelWriter(context), phases(op) {}

  /// A value of the region as this lane has it: a scalar, or its part of a row.
  mlir::Value get(mlir::Value value);
  /// Whether a column is loaded where a row first needs it, after a sum.
  bool isLate(mlir::BlockArgument column);
  /// The row at work where accesses depend on it; null where they do not.
  mlir::Value getAlignedRow() {
    return layout.getType().isAligned() ? currentRow : mlir::Value();
  }

  RowPhases phases;
  /// The row at work; null ahead of the loop.
  mlir::Value currentRow;
  /// Values of the region, as the row at work has them.
  llvm::DenseMap<mlir::Value, mlir::Value> known;

private:
  /// The index of the row at work, or of this lane's columns of it.
  mlir::Value getIndex(IndexOp index);
  /// This lane's part of a row of a table.
  mlir::Value loadGathered(GatherOp gather);
  /// This lane's part of a sum of rows of a table.
  mlir::Value sumGathered(GatherSumOp sum);
};

/// Writes what a lane does with a row: loads, the region phase by phase,
/// stores.
class RowWriter : RegionWriter {
public:
  explicit RowWriter(KernelContext &context) : RegionWriter(context) {}

  /// Loads what all rows of the workgroup share, ahead of the loop.
  void loadShared();
  /// Says of `loop` how its rows are brought.
  void setTransfers(lane::ForRowsOp loop);
  /// Writes the body of `loop`, but for its end. Returns its state: the sums
  /// and the iteration, where there are row sums.
  llvm::SmallVector<mlir::Value> writeIteration(lane::ForRowsOp loop);

private:
  void writeRow(lane::RowOp row, llvm::MutableArrayRef<mlir::Value> sums,
                mlir::Value iteration);
  void loadRows();
  /// Row scalars in parts, which are not added yet.
  using ScalarParts = llvm::SmallVector<
      std::pair<mlir::BlockArgument, llvm::SmallVector<mlir::Value>>>;
  ScalarParts loadScalars();
  void convertRows();
  void storeRows(unsigned phase);
  void writePhase(unsigned phase, mlir::Value row,
                  llvm::MutableArrayRef<mlir::Value> sums,
                  mlir::Value iteration);

  /// The row at work by `acrossLayout`.
  mlir::Value acrossRow;
};

/// Writes what becomes of the column sums that a lane has.
class SumWriter : KernelWriter {
public:
  explicit SumWriter(KernelContext &context) : KernelWriter(context) {}

  /// What the sums of no rows are; and their totals over the groups.
  llvm::SmallVector<mlir::Value> makeNeutral() { return makeNeutral(layout); }
  llvm::SmallVector<mlir::Value> makeNeutralTotals() {
    return makeNeutral(context.totalLayout);
  }
  /// How each sum combines its terms.
  mlir::ArrayAttr getKinds();
  /// The sums of all groups, as fragments of the layout of totals.
  llvm::SmallVector<mlir::Value> combineGroups(mlir::ValueRange sums);
  /// Stores such totals, as row `row` of partial ones.
  void store(llvm::ArrayRef<mlir::Value> totals, mlir::Value row);

private:
  llvm::SmallVector<mlir::Value>
  makeNeutral(mlir::TypedValue<lane::LayoutType> layout);
};

/// Writes the loops over rows whose sums are added in the canonical order.
class LeafWriter : KernelWriter {
public:
  LeafWriter(KernelContext &context, RowWriter &rows, SumWriter &columnSums)
      : KernelWriter(context), rows(rows), columnSums(columnSums) {}

  /// Writes the loop over a workgroup's rows. It has the same chains of
  /// neighbouring leaves, and stores the sums of each leaf when it has all of
  /// its rows. The workgroups that have the others are its neighbours.
  void writeLeaves(mlir::Value workgroup);
  /// Gives `sums` those of a binary tree over rows, which are leaves. Each
  /// group has neighbouring ones, a power of two. Rows that do not exist are 0.
  void writeTree(llvm::MutableArrayRef<mlir::Value> sums);
  /// Gives `sums` those of a binary tree over the leaves, pairs of neighbours
  /// first, where a workgroup has all of them and each group a chain of one:
  /// groups have a power of two of leaves side by side.
  void writeAllLeaves(llvm::MutableArrayRef<mlir::Value> sums);

private:
  llvm::SmallVector<mlir::Value> endLeaf(mlir::Value tile, mlir::Value part,
                                         mlir::ValueRange sums);
  void storeLeaf(mlir::Value leaf, mlir::Value part, mlir::ValueRange sums);
  void storeMissing(mlir::Value workgroup, mlir::Value behind, mlir::Value all,
                    mlir::Value part);
  int64_t getLeavesTogether() {
    return countLeavesTogether(op.getRowLength(), schedule.rowsPerWorkgroup);
  }

  RowWriter &rows;
  SumWriter &columnSums;
};

/// Has the first tiles of `loop` prefetched to the L2 cache, where all writes
/// of the chip meet, before the kernel waits for the one before: as many as a
/// workgroup has in flight before its first iteration is done. A loop that
/// waits within an iteration loads its rows before.
void prefetchFirstRows(lane::ForRowsOp loop);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_ROWWISETOLANE_KERNELWRITERS_H
