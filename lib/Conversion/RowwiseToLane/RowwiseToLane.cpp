//===- RowwiseToLane.cpp - Scheduled row programs to the lane level -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plainest kernel of a row program: one loop over the rows, which loads a
// row, works through the region phase by phase, and stores. What the schedule
// says about latency is for passes after this one.
//
//===----------------------------------------------------------------------===//

#include "KernelWriters.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lnbwd {
#define GEN_PASS_DEF_DISTRIBUTEROWSPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Whether `rows` is memory of the function's own that only its release
/// follows.
static bool isLastUse(RowwiseOp op, Value rows) {
  return rows.getDefiningOp<memref::AllocOp>() &&
         llvm::all_of(rows.getUsers(), [&](Operation *user) {
           return user == op || isa<memref::DeallocOp>(user) ||
                  (user->getBlock() == op->getBlock() &&
                   user->isBeforeInBlock(op));
         });
}

/// The row blocks that nothing reads after this kernel, which are partial
/// sums: what a cache holds of them would be brought to memory for nothing.
/// One workgroup has all rows of its columns, and the barriers of the sum
/// over its groups are after all loads.
static SmallVector<Value> getDeadRows(const RowKernel &kernel) {
  RowwiseOp op = kernel.op;
  const Schedule &schedule = *op.getSchedule();
  if (schedule.rowsPerWorkgroup || schedule.rowGroups == 1 ||
      op.getColumnSums().empty() || op.hasGroups())
    return {};
  SmallVector<Value> dead;
  for (auto [rows, buffer] : llvm::zip(op.getRows(), kernel.buffers))
    if (isLastUse(op, rows))
      dead.push_back(buffer);
  return dead;
}

lane::LayoutType KernelContext::getLayoutType(int64_t groups, bool isAcross) {
  int64_t length = op.getRowLength();
  int64_t columns = getWorkgroupColumns(op, schedule);
  int64_t covered = getCoveredColumns(length, schedule.vectorWidth);
  return lane::LayoutType::get(op.getContext(), length, schedule.threadsPerRow,
                               groups, schedule.vectorWidth,
                               columns < covered ? columns : 0,
                               covered > length ? covered : 0, isAcross);
}

bool KernelContext::hasSplitScalars() {
  auto *first =
      kernel.parts.begin() + op.getRows().size() + op.getAllColumns().size();
  return std::any_of(first, first + op.getScalars().size(),
                     [](ArrayRef<Value> parts) { return !parts.empty(); });
}

Attribute KernelContext::getKind(bool isMaximum) {
  return vector::CombiningKindAttr::get(
      b.getContext(),
      isMaximum ? vector::CombiningKind::MAXIMUMF : vector::CombiningKind::ADD);
}

/// The layout in which the lanes of all groups of `type` share columns.
static lane::LayoutType getTotalLayout(lane::LayoutType type) {
  int64_t groups = type.getGroups();
  auto [parts, accesses] =
      shareAccesses(groups, type.getWidth(), type.getAccesses());
  return lane::LayoutType::get(
      type.getContext(), type.getRowLength(),
      type.getLanes() * parts * accesses, groups / (parts * accesses),
      type.getWidth() / parts, type.getColumns(), type.getSpan(),
      /*across=*/false);
}

void KernelContext::addLayouts() {
  int64_t groups = schedule.rowGroups;
  lane::LayoutType type = getLayoutType(groups, schedule.lanesAcross);
  Value first;
  if (type.getColumns())
    first = b(gpu::BlockIdOp::create(b, gpu::Dimension::y)) * type.getColumns();
  layout = lane::LayoutOp::create(b, type, first);
  if (llvm::any_of(llvm::seq(op->getNumOperands()),
                   [&](unsigned operand) { return isTransposed(operand); }))
    acrossLayout = lane::LayoutOp::create(
        b, getLayoutType(groups, /*isAcross=*/true), first);
  totalLayout = layout;
  if (!op.getCanonical())
    return;
  totalLayout = lane::LayoutOp::create(b, getTotalLayout(type), first);
  slices = b.getI64IntegerAttr(
      countSlices(op.getRowLength(), type.getWorkgroupColumns()));
}

RowwiseOp KernelContext::findNext() {
  Operation *next = op->getNextNode();
  while (next && !isa<RowwiseOp>(next))
    next = next->getNextNode();
  auto program = dyn_cast_if_present<RowwiseOp>(next);
  return program && program.getSchedule() &&
                 program.getScheduleAttr()->dependentLaunch
             ? program
             : RowwiseOp();
}

void KernelContext::await() {
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
}

void KernelContext::allowNext() {
  if (next)
    NVVM::GriddepcontrolOp::create(b,
                                   NVVM::GridDepActionKind::launch_dependents);
}

//===----------------------------------------------------------------------===//
// Column sums
//===----------------------------------------------------------------------===//

SmallVector<Value> SumWriter::makeNeutral(TypedValue<lane::LayoutType> layout) {
  VectorType type = layout.getType().getFragmentType(b.getF32Type());
  SmallVector<Value> sums;
  for (size_t i = 0; i < op.getAllSums().size(); ++i)
    sums.push_back(lane::makeNeutralPartial(b, context.isMaximum(i), type));
  return sums;
}

ArrayAttr SumWriter::getKinds() {
  SmallVector<Attribute> kinds;
  for (size_t i = 0; i < op.getAllSums().size(); ++i)
    kinds.push_back(context.getKind(context.isMaximum(i)));
  return b.getArrayAttr(kinds);
}

SmallVector<Value> SumWriter::combineGroups(ValueRange sums) {
  if (sums.empty() || schedule.rowGroups == 1)
    return SmallVector<Value>(sums);
  if (slices) {
    Type type = context.totalLayout.getType().getFragmentType(b.getF32Type());
    return llvm::to_vector_of<Value>(
        lane::ShareSumsOp::create(b, SmallVector<Type>(sums.size(), type),
                                  getKinds(), sums, layout, context.totalLayout)
            .getTotals());
  }
  return llvm::to_vector_of<Value>(
      lane::CombineGroupsOp::create(b, sums.getTypes(), getKinds(), sums,
                                    layout, schedule.combineRadix)
          .getTotals());
}

void SumWriter::store(ArrayRef<Value> totals, Value row) {
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (auto [i, value] : llvm::enumerate(totals)) {
    Value sum = value, memory = context.getBuffer(firstSum + i);
    bool isPartial = cast<MemRefType>(memory.getType()).getRank() == 2;
    // Rows that do not exist are 0, and so a sum of -0 may be 0.
    if (slices && !context.isMaximum(i))
      sum = arith::AddFOp::create(
          b, sum, arith::ConstantOp::create(b, b.getZeroAttr(sum.getType())));
    lane::StoreSumOp::create(b, sum, memory, isPartial ? row : Value(),
                             context.totalLayout, /*access=*/IntegerAttr(),
                             op.getAccumulate());
  }
}

//===----------------------------------------------------------------------===//
// A kernel
//===----------------------------------------------------------------------===//

/// Writes the loop over the workgroup's rows, which adds their terms to `sums`.
static void writeLoop(KernelContext &context, RowWriter &rows, Value workgroup,
                      MutableArrayRef<Value> sums) {
  RowwiseOp op = context.op;
  const Schedule &schedule = context.schedule;
  IndexBuilder &b = context.b;
  const RowKernel &kernel = context.kernel;
  SmallVector<Value> carried;
  if (op.hasRowSums())
    carried.push_back(lane::FirstIterationOp::create(
        b, lane::IterationType::get(op.getContext())));

  Value begin = b(workgroup) * schedule.rowGroups;
  Value step = b(kernel.workgroups) * schedule.rowGroups;
  auto loop =
      lane::ForRowsOp::create(b, begin, kernel.rows, step, context.layout,
                              workgroup, kernel.workgroups, sums, carried);
  loop.setOnce(schedule.takesOneTile(int64_t(op.getFixedWorkgroups())));
  rows.setTransfers(loop);
  if (int64_t iterations = schedule.sumBlock)
    loop.setSumBlock(uint64_t(iterations));
  {
    OpBuilder::InsertionGuard guard(b);
    lane::YieldOp::create(b, rows.writeIteration(loop));
  }
  llvm::copy(loop.getResults().take_front(sums.size()), sums.begin());
}

/// Writes the rows of a workgroup, and what becomes of their column sums.
static void writeRowsAndSums(KernelContext &context, RowWriter &rows,
                             Value workgroup, bool hasAllowedNext) {
  const Schedule &schedule = context.schedule;
  SumWriter columnSums(context);
  LeafWriter leaves(context, rows, columnSums);
  SmallVector<Value> sums = columnSums.makeNeutral();
  bool isTree = context.op.getLeaves().has_value();
  bool isOrdered = context.slices && !sums.empty();
  bool hasAllLeaves = isOrdered && !schedule.rowsPerWorkgroup;
  bool hasLeaves = isOrdered && !hasAllLeaves;
  if (isTree)
    leaves.writeTree(sums);
  else if (hasAllLeaves)
    leaves.writeAllLeaves(sums);
  else if (hasLeaves)
    leaves.writeLeaves(workgroup);
  else
    writeLoop(context, rows, workgroup, sums);

  // The kernel that adds up partial sums may be brought to the compute units
  // meanwhile.
  if (!hasAllowedNext && !hasLeaves)
    context.allowNext();
  if (hasAllLeaves)
    columnSums.store(sums, workgroup);
  else if (!hasLeaves)
    columnSums.store(columnSums.combineGroups(sums), workgroup);
}

/// Writes the body of one kernel.
static void writeKernel(const RowKernel &frame, const ChipInfo &chip) {
  KernelContext context(frame, chip);
  RowwiseOp op = context.op;
  RowKernel &kernel = context.kernel;
  IndexBuilder &b = context.b;
  Value workgroup = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  context.addLayouts();
  if (std::optional<uint64_t> parts = op.getLeaves())
    kernel.rows = b(kernel.rows) * int64_t(*parts);
  // What is above needs nothing that another kernel writes. Of the kernel that
  // writes split row sums only these are needed, and it has awaited the one
  // before it: rows may be in flight meanwhile.
  if (context.schedule.dependentLaunch && !context.hasSplitScalars() &&
      !context.awaitsLate)
    context.await();
  // Start the dependent kernel early if it waits for split row sums, whose
  // workgroups have one row each, or needs nothing of this one.
  bool allowsFirst = op.hasSplitScalarOuts() ||
                     (context.next && context.next.getIndependent());
  if (allowsFirst)
    context.allowNext();
  RowWriter rows(context);
  rows.loadShared();
  writeRowsAndSums(context, rows, workgroup, allowsFirst);
  if (SmallVector<Value> dead = getDeadRows(kernel); !dead.empty())
    lane::DiscardOp::create(b, dead, kernel.rows, context.layout);
  // Wait even without rows; later kernels wait for this one alone.
  if (context.awaitsLate)
    context.await();
  gpu::ReturnOp::create(b);
  if (context.schedule.prefetchBeforeDependency)
    kernel.function.walk(prefetchFirstRows);
}

namespace {
struct DistributeRows : lnbwd::impl::DistributeRowsPassBase<DistributeRows> {
  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChip(getOperation());
    if (failed(found))
      return signalPassFailure();
    const ChipInfo &chip = **found;
    FailureOr<unsigned> kernels = distributePrograms(
        getOperation(), chip,
        [&](const RowKernel &kernel) { writeKernel(kernel, chip); },
        [&](RowwiseOp op, SymbolTable &symbols) {
          distributeProduct(op, symbols, chip);
        });
    if (failed(kernels))
      return signalPassFailure();
    numKernels += *kernels;
  }
};
} // namespace
