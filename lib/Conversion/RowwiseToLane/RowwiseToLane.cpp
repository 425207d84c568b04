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

#include "KernelFrame.h"
#include "ProductToLane.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

namespace lnbwd {
#define GEN_PASS_DEF_DISTRIBUTEROWSPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Whether the kernel after `op` may start before that of `op` has ended: one
/// of the same program that waits. What follows a program is not known, and a
/// library's kernels need not wait.
static bool mayOverlapNext(RowwiseOp op) {
  Operation *next = op->getNextNode();
  while (next && !isa<RowwiseOp, ProductOp>(next))
    next = next->getNextNode();
  auto program = dyn_cast_if_present<RowwiseOp>(next);
  return program && program.getSchedule() &&
         program.getSchedule()->getDependentLaunch();
}

namespace {
/// Writes the body of one kernel.
class RowDistributor {
public:
  RowDistributor(const RowKernel &kernel, const ChipInfo &chip)
      : kernel(kernel), op(this->kernel.op), schedule(*op.getSchedule()),
        chip(chip), phases(op),
        b(op.getLoc(),
          OpBuilder::atBlockEnd(&this->kernel.function.getBody().front())) {}

  void write();

private:
  lane::LayoutType getLayoutType();
  void writeRow(lane::RowOp row, MutableArrayRef<Value> sums, Value iteration);
  void loadRows();
  void convertRows();
  void storeRows(unsigned phase);
  SmallVector<Value> writeIteration(lane::ForRowsOp loop);
  void writeLoop(Value workgroup, MutableArrayRef<Value> sums);
  void writeLeaves(Value workgroup);
  SmallVector<Value> endLeaf(Value tile, Value part, ValueRange sums);
  void storeLeaf(Value leaf, Value part, ValueRange sums);
  SmallVector<Value> makeNeutral();
  void allowNext();
  SmallVector<Value> combineGroups(ValueRange sums);
  void storeSums(ArrayRef<Value> sums, Value row);
  int64_t getLeavesTogether() {
    return countLeavesTogether(op.getRowLength(),
                               schedule.getRowsPerWorkgroup());
  }
  void addAllLeaves(MutableArrayRef<Value> sums, int64_t rows,
                    function_ref<SmallVector<Value>(Value)> write);
  void writeTree(MutableArrayRef<Value> sums);
  void writeAllLeaves(MutableArrayRef<Value> sums);
  void writePhase(unsigned phase, Value row, MutableArrayRef<Value> sums,
                  Value iteration);
  /// Says of `loop` how its rows are brought.
  void setTransfers(lane::ForRowsOp loop) {
    loop.setLastRowApart(needsShift(op, schedule));
    loop.setReload(schedule.getReload());
    if (int64_t stages = schedule.getStages())
      loop.setStages(uint64_t(stages));
    loop.setPrefetch(schedule.getPrefetch());
    loop.setPrefetchBeforeDependency(schedule.getPrefetchBeforeDependency());
    if (int64_t tiles = schedule.getUnroll(); tiles > 1)
      loop.setUnroll(uint64_t(tiles));
  }
  /// Whether an operation of the region widens a vector of columns.
  bool isWidenedColumn(Operation *bodyOp) {
    auto widen = dyn_cast<arith::ExtFOp>(bodyOp);
    auto column =
        widen ? dyn_cast<BlockArgument>(widen.getIn()) : BlockArgument();
    size_t numRows = op.getRows().size();
    return column && column.getArgNumber() >= numRows &&
           column.getArgNumber() < numRows + op.getAllColumns().size();
  }
  /// Whether a scalar is the same for all rows of the workgroup.
  bool isNumber(size_t operand) {
    RowwiseOp::RowDims rows = op.getRowDims(operand);
    return rows == RowwiseOp::RowDims::None ||
           rows == RowwiseOp::RowDims::OfGroup;
  }
  /// Whether row scalars are split, from the kernel before this one.
  bool hasSplitScalars() {
    auto *first =
        kernel.parts.begin() + op.getRows().size() + op.getAllColumns().size();
    return std::any_of(first, first + op.getScalars().size(),
                       [](ArrayRef<Value> parts) { return !parts.empty(); });
  }
  /// The row blocks that nothing reads after this kernel, which are partial
  /// sums: what a cache holds of them would be brought to memory for nothing.
  /// One workgroup has all rows of its columns, and the barriers of the sum
  /// over its groups are after all loads.
  SmallVector<Value> getDeadRows() {
    if (schedule.getRowsPerWorkgroup() || schedule.getRowGroups() == 1 ||
        op.getColumnSums().empty() || op.hasGroups())
      return {};
    SmallVector<Value> dead;
    for (auto [rows, buffer] : llvm::zip(op.getRows(), kernel.buffers))
      if (isLastUse(rows))
        dead.push_back(buffer);
    return dead;
  }
  /// Whether `rows` is memory of the function's own that only its release
  /// follows.
  bool isLastUse(Value rows) {
    return rows.getDefiningOp<memref::AllocOp>() &&
           llvm::all_of(rows.getUsers(), [&](Operation *user) {
             return user == op || isa<memref::DeallocOp>(user) ||
                    (user->getBlock() == op->getBlock() &&
                     user->isBeforeInBlock(op));
           });
  }
  bool isTransposed(unsigned operand) {
    return getRowAccess(op, operand, schedule, chip) == RowAccess::Transposed;
  }
  /// The parts of a row scalar, from the first to the last.
  SmallVector<Value> loadSplits(ArrayRef<Value> parts, Value row) {
    return llvm::map_to_vector(parts, [&](Value part) -> Value {
      return lane::LoadScalarOp::create(b, part, row);
    });
  }
  /// A value of the region as this lane has it: a scalar, or its part of a row.
  Value get(Value value);
  /// The row at work where accesses depend on it; null where they do not.
  Value getAlignedRow() {
    return layout.getType().isAligned() ? currentRow : Value();
  }
  /// The index of the row at work, or of this lane's columns of it.
  Value getIndex(IndexOp index);
  /// This lane's part of a row of a table.
  Value loadGathered(GatherOp gather);
  Value getBuffer(unsigned output) {
    return kernel.buffers[op.getNumDpsInputs() + output];
  }

  RowKernel kernel;
  RowwiseOp op;
  ScheduleAttr schedule;
  const ChipInfo &chip;
  RowPhases phases;
  IndexBuilder b;
  TypedValue<lane::LayoutType> layout;
  /// The same lanes across the rows, where row blocks are transposed; and by it
  /// the row at work.
  TypedValue<lane::LayoutType> acrossLayout;
  Value acrossRow;
  /// Whether the sums are the largest instead.
  bool isMaximum = op.takesMaxima();
  bool overlapsNext = mayOverlapNext(op);
  /// Slices of the workgroup's columns, where the order of sums is canonical.
  IntegerAttr slices;
  /// The row at work; null ahead of the loop.
  Value currentRow;
  /// Values of the region, as the row at work has them.
  DenseMap<Value, Value> known;
};
} // namespace

lane::LayoutType RowDistributor::getLayoutType() {
  int64_t length = op.getRowLength();
  int64_t columns = getWorkgroupColumns(op, schedule);
  int64_t covered = getCoveredColumns(length, schedule.getVectorWidth());
  return lane::LayoutType::get(
      op.getContext(), length, schedule.getThreadsPerRow(),
      schedule.getRowGroups(), schedule.getVectorWidth(),
      columns < covered ? columns : 0, covered > length ? covered : 0,
      schedule.getLanesAcross());
}

void RowDistributor::write() {
  Value workgroup = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  lane::LayoutType layoutType = getLayoutType();
  Value first;
  if (layoutType.getColumns())
    first = b.multiply(gpu::BlockIdOp::create(b, gpu::Dimension::y),
                       layoutType.getColumns());
  layout = lane::LayoutOp::create(b, layoutType, first);
  if (llvm::any_of(llvm::seq(op->getNumOperands()),
                   [&](unsigned operand) { return isTransposed(operand); }))
    acrossLayout = lane::LayoutOp::create(
        b,
        lane::LayoutType::get(op.getContext(), layoutType.getRowLength(),
                              layoutType.getLanes(), layoutType.getGroups(),
                              layoutType.getWidth(), layoutType.getColumns(),
                              layoutType.getSpan(), /*across=*/true),
        first);
  if (isCanonical(op))
    slices = b.getI64IntegerAttr(
        countSlices(op.getRowLength(), layoutType.getWorkgroupColumns()));
  if (auto parts = op->getAttrOfType<IntegerAttr>(leavesAttr))
    kernel.rows = b.multiply(kernel.rows, parts.getInt());
  // What is above needs nothing that another kernel writes. Of the kernel that
  // writes split row sums only these are needed, and it has awaited the one
  // before it: rows may be in flight meanwhile.
  if (schedule.getDependentLaunch() && !hasSplitScalars())
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  // Who waits for split row sums may as well wait where it runs: the
  // workgroups that leave them have but one row each.
  bool allowsFirst = op.hasSplitScalarOuts();
  if (allowsFirst)
    allowNext();

  Block &body = op.getBody().front();
  size_t numRows = op.getRows().size(), numColumns = op.getAllColumns().size();
  if (numColumns) {
    SmallVector<Type> types;
    for (Value column : op.getAllColumns())
      types.push_back(
          layoutType.getFragmentType(getElementTypeOrSelf(column.getType())));
    auto columns = lane::LoadColumnsOp::create(
        b, types, ArrayRef(kernel.buffers).slice(numRows, numColumns), layout,
        /*each=*/false);
    for (auto [i, part] : llvm::enumerate(columns.getFragments()))
      known[body.getArgument(numRows + i)] = part;
  }
  for (size_t i = 0; i < op.getScalars().size(); ++i)
    if (size_t operand = numRows + numColumns + i; isNumber(operand))
      known[body.getArgument(operand)] =
          memref::LoadOp::create(b, kernel.buffers[operand], b.index(0));
  if (schedule.getWidenColumns())
    for (Operation &bodyOp : body)
      if (isWidenedColumn(&bodyOp))
        get(bodyOp.getResult(0));
  SmallVector<Value> sums = makeNeutral();
  bool isTree = op->hasAttr(leavesAttr), isOrdered = slices && !sums.empty();
  bool hasAllLeaves = isOrdered && !schedule.getRowsPerWorkgroup();
  bool hasLeaves = isOrdered && !hasAllLeaves;
  if (isTree)
    writeTree(sums);
  else if (hasAllLeaves)
    writeAllLeaves(sums);
  else if (hasLeaves)
    writeLeaves(workgroup);
  else
    writeLoop(workgroup, sums);

  // The kernel that adds up partial sums may be brought to the compute units
  // meanwhile.
  if (!allowsFirst && !hasLeaves)
    allowNext();
  if (hasAllLeaves)
    storeSums(sums, workgroup);
  else if (!hasLeaves)
    storeSums(combineGroups(sums), workgroup);
  if (SmallVector<Value> dead = getDeadRows(); !dead.empty())
    lane::DiscardOp::create(b, dead, kernel.rows, layout);
  gpu::ReturnOp::create(b);
}

/// What the sums of no rows are.
SmallVector<Value> RowDistributor::makeNeutral() {
  VectorType type = layout.getType().getFragmentType(b.getF32Type());
  SmallVector<Value> sums;
  for (size_t i = 0; i < op.getAllSums().size(); ++i)
    sums.push_back(lane::makeNeutralPartial(b, isMaximum, type));
  return sums;
}

/// Lets the kernel after this one start.
void RowDistributor::allowNext() {
  if (overlapsNext)
    NVVM::GriddepcontrolOp::create(b,
                                   NVVM::GridDepActionKind::launch_dependents);
}

/// The sums of all groups, which the first of them has.
SmallVector<Value> RowDistributor::combineGroups(ValueRange sums) {
  if (sums.empty() || schedule.getRowGroups() == 1)
    return SmallVector<Value>(sums);
  auto combined =
      lane::CombineGroupsOp::create(b, sums.getTypes(), sums, layout,
                                    getCombineRadix(op, schedule), isMaximum);
  return SmallVector<Value>(combined.getTotals());
}

/// Stores the sums that the first group has, as row `row` of partial ones.
void RowDistributor::storeSums(ArrayRef<Value> sums, Value row) {
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (auto [i, value] : llvm::enumerate(sums)) {
    Value sum = value, memory = getBuffer(firstSum + i);
    bool isPartial = cast<MemRefType>(memory.getType()).getRank() == 2;
    // Rows that do not exist are 0, and so a sum of -0 may be 0.
    if (slices && !isMaximum)
      sum = arith::AddFOp::create(
          b, sum, arith::ConstantOp::create(b, b.getZeroAttr(sum.getType())));
    lane::StoreSumOp::create(b, sum, memory, isPartial ? row : Value(), layout,
                             /*access=*/IntegerAttr(), op.getAccumulate());
  }
}

/// Writes the body of `loop`, but for its end. Returns its state: the sums and
/// the iteration, where there are row sums.
SmallVector<Value> RowDistributor::writeIteration(lane::ForRowsOp loop) {
  b.setInsertionPointToStart(&loop.getBody().front());
  SmallVector<Value> state(loop.getRegionIterArgs());
  auto row = lane::RowOp::create(b, loop.getTile(), layout);
  Value iteration = op.hasRowSums() ? state.back() : Value();
  writeRow(row, MutableArrayRef(state).take_front(op.getAllSums().size()),
           iteration);
  if (iteration)
    state.back() = lane::NextIterationOp::create(b, iteration);
  return state;
}

/// Adds the terms of the workgroup's rows to `sums`, and writes what else a row
/// has.
void RowDistributor::writeLoop(Value workgroup, MutableArrayRef<Value> sums) {
  SmallVector<Value> carried;
  if (op.hasRowSums())
    carried.push_back(lane::FirstIterationOp::create(
        b, lane::IterationType::get(op.getContext())));

  Value begin = b.multiply(workgroup, schedule.getRowGroups());
  Value step = b.multiply(kernel.workgroups, schedule.getRowGroups());
  auto loop =
      lane::ForRowsOp::create(b, begin, kernel.rows, step, layout, workgroup,
                              kernel.workgroups, sums, carried);
  loop.setOnce(schedule.takesOneTile(int64_t(op.getFixedWorkgroups())));
  loop.setLateColumns(schedule.getLateColumns());
  setTransfers(loop);
  if (int64_t iterations = schedule.getSumBlock())
    loop.setSumBlock(uint64_t(iterations));
  {
    OpBuilder::InsertionGuard guard(b);
    lane::YieldOp::create(b, writeIteration(loop));
  }
  llvm::copy(loop.getResults().take_front(sums.size()), sums.begin());
}

/// The same where the order of sums is canonical: a workgroup has the same
/// chains of neighbouring leaves, and stores the sums of each leaf when it has
/// all of its rows. The workgroups that have the others are its neighbours.
void RowDistributor::writeLeaves(Value workgroup) {
  int64_t length = op.getRowLength(), groups = schedule.getRowGroups();
  int64_t leafRows = getLeafRows(length), chains = getLeafChains(length);
  int64_t parts = getLeafParts(length, groups);
  Value zero = b.index(0), one = b.index(1);
  Value leaves = arith::MaxUIOp::create(
      b, arith::CeilDivUIOp::create(b, kernel.rows, b.index(leafRows)), one);
  Value sets =
      arith::MaxUIOp::create(b, b.divide(kernel.workgroups, parts), one);
  // As few sets as take no longer: on an H100, clusters that begin when others
  // end took up to a fifth longer.
  Value each = arith::CeilDivUIOp::create(b, leaves, sets);
  int64_t together = getLeavesTogether();
  auto roundUp = [&](Value leaf) {
    Value first = b.add(leaf, together - 1);
    return b.multiply(b.divide(first, together), together);
  };
  each = roundUp(each);
  Value part = b.remainder(workgroup, parts);
  Value firstRow = b.multiply(part, groups);
  Value first = arith::MinUIOp::create(
      b, b.multiply(b.divide(workgroup, parts), each), leaves);
  Value behind = arith::MinUIOp::create(b, b.add(first, each), leaves);
  Value allRows = b.multiply(behind, leafRows);
  Value end = arith::MinUIOp::create(b, allRows, kernel.rows);
  Value begin = arith::MinUIOp::create(
      b, b.add(b.multiply(first, leafRows), firstRow), end);
  // The last of a workgroup's rows are its own affair.
  Value lastTile =
      b.divide(b.subtract(arith::MaxUIOp::create(b, end, one), one), groups);
  Value hasLast =
      b.both(b.below(begin, end),
             b.isZero(b.subtract(b.remainder(lastTile, parts), part)));
  Value number = b.select(hasLast, zero, one);
  SmallVector<Value> state = makeNeutral();
  size_t count = state.size();
  if (op.hasRowSums())
    state.push_back(lane::FirstIterationOp::create(
        b, lane::IterationType::get(op.getContext())));
  auto loop = lane::ForRowsOp::create(b, begin, end, b.index(chains), layout,
                                      number, one,
                                      /*sums=*/ValueRange(), state);
  setTransfers(loop);
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Value> next = writeIteration(loop);
    SmallVector<Value> kept =
        endLeaf(loop.getTile(), part, ArrayRef(next).take_front(count));
    llvm::copy(kept, next.begin());
    lane::YieldOp::create(b, next);
  }
  // The kernel that adds up leaves would wait beside this one: on an H200 that
  // took a twentieth of the time of both.
  allowNext();
  // The last leaf, if the last tile of these chains does not exist, and those
  // that are not there of the leaves together.
  Value last = b.add(b.subtract(allRows, b.index(chains)), firstRow);
  Value isOpen =
      b.both(b.below(first, behind), b.below(kernel.rows, b.add(last, one)));
  auto open = scf::IfOp::create(b, isOpen, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(open.thenBlock());
  storeLeaf(b.subtract(behind, one), part, loop.getResults().take_front(count));
  b.setInsertionPointAfter(open);
  if (together > 1) {
    Value all = b.select(b.below(first, behind), roundUp(behind), behind);
    auto rest = scf::ForOp::create(b, behind, all, one);
    b.setInsertionPointToStart(rest.getBody());
    storeLeaf(rest.getInductionVar(), part, makeNeutral());
    b.setInsertionPointAfter(rest);
  }
  if (parts == 1)
    return;
  // Chains without rows, of a batch of less than one row for each, have no
  // workgroup.
  Value next = b.add(workgroup, kernel.workgroups);
  auto others = scf::ForOp::create(b, next, b.index(parts), kernel.workgroups);
  b.setInsertionPointToStart(others.getBody());
  storeSums(makeNeutral(), others.getInductionVar());
}

/// Adds `sums` of part `part` of leaf `leaf` to those of the leaves before it
/// and stores what the leaves together have, if it is the last of them.
void RowDistributor::storeLeaf(Value leaf, Value part, ValueRange sums) {
  int64_t together = getLeavesTogether();
  int64_t parts = getLeafParts(op.getRowLength(), schedule.getRowGroups());
  SmallVector<Value> totals = combineGroups(sums);
  Value row = b.add(b.multiply(b.divide(leaf, together), parts), part);
  if (together == 1) {
    storeSums(totals, row);
  } else {
    auto added =
        lane::AddLeavesOp::create(b, sums.getTypes(), totals, leaf, layout,
                                  llvm::Log2_64(uint64_t(together)),
                                  /*last=*/false, isMaximum, /*each=*/false);
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         b.remainder(leaf, together),
                                         b.index(together - 1));
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    storeSums(SmallVector<Value>(added.getTotals()), row);
  }
  // What groups have exchanged is overwritten by the next leaf's sums.
  if (schedule.getRowGroups() > 1)
    lane::BarrierOp::create(b);
}

/// Stores `sums` of part `part` of a leaf and begins new ones if the tile that
/// begins with row `tile` is the last of its leaf.
SmallVector<Value> RowDistributor::endLeaf(Value tile, Value part,
                                           ValueRange sums) {
  int64_t length = op.getRowLength(), leafRows = getLeafRows(length);
  Value behind = b.index(leafRows - getLeafChains(length));
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                       b.remainder(tile, leafRows), behind);
  // Of several tiles in an iteration the last may not exist.
  if (schedule.getUnroll() > 1)
    isLast = b.both(isLast, b.below(tile, kernel.rows));
  auto branch = scf::IfOp::create(b, sums.getTypes(), isLast,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  storeLeaf(b.divide(tile, leafRows), part, sums);
  // Zeros that come of the branch: constants would be selected in every
  // iteration. There are never so many workgroups. The largest so far may stay:
  // of all leaves it is the same.
  Value none = arith::ShRUIOp::create(b, kernel.workgroups, b.index(30));
  Value bits = arith::IndexCastOp::create(b, b.getI32Type(), none);
  SmallVector<Value> zeros;
  for (Value sum : sums) {
    auto type = cast<VectorType>(sum.getType()).clone(b.getI32Type());
    Value mask = vector::BroadcastOp::create(b, type, bits);
    Value word =
        arith::AndIOp::create(b, arith::BitcastOp::create(b, type, sum), mask);
    zeros.push_back(arith::BitcastOp::create(b, sum.getType(), word));
  }
  scf::YieldOp::create(b, isMaximum ? sums : ValueRange(zeros));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, sums);
  return SmallVector<Value>(branch.getResults());
}

/// Gives `sums` those of a binary tree over the leaves, pairs of neighbours
/// first, where a workgroup has all of them: so many rows at once, whose leaves
/// are a power of two that groups have side by side. `write` gives the sums of
/// each group.
void RowDistributor::addAllLeaves(
    MutableArrayRef<Value> sums, int64_t rows,
    function_ref<SmallVector<Value>(Value)> write) {
  Value one = b.index(1);
  int64_t levels =
      countWaitingLevels(op.getRowLength(), /*rowsPerWorkgroup=*/0);
  Value count = arith::MaxUIOp::create(
      b, arith::CeilDivUIOp::create(b, kernel.rows, b.index(rows)), one);
  auto loop = scf::ForOp::create(b, b.index(0), count, one);
  TypeRange types{ValueRange(sums)};
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    SmallVector<Value> totals = combineGroups(write(number));
    lane::AddLeavesOp::create(b, types, totals, number, layout, levels,
                              /*last=*/false, isMaximum, /*each=*/false);
    // What groups have exchanged is overwritten by the next leaves' sums.
    if (schedule.getRowGroups() > 1)
      lane::BarrierOp::create(b);
  }
  auto all =
      lane::AddLeavesOp::create(b, types, sums, count, layout, levels,
                                /*last=*/true, isMaximum, /*each=*/false);
  llvm::copy(all.getTotals(), sums.begin());
}

/// The same where rows are leaves. Each group has neighbouring ones, a power of
/// two. Rows that do not exist are 0.
void RowDistributor::writeTree(MutableArrayRef<Value> sums) {
  int64_t groups = schedule.getRowGroups(), leavesAtOnce = schedule.getUnroll();
  Value last = b.subtract(arith::MaxUIOp::create(b, kernel.rows, b.index(1)),
                          b.index(1));
  Value group = lane::GroupOp::create(b, b.getIndexType(), layout);
  auto count = scf::WhileOp::create(
      b, b.getIndexType(), b.index(1),
      [&](OpBuilder &, Location, ValueRange state) {
        Value rows = b.multiply(state[0], groups * leavesAtOnce);
        scf::ConditionOp::create(b, b.below(rows, kernel.rows), state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        scf::YieldOp::create(b, b.multiply(state[0], 2));
      });
  Value ofGroup = count.getResult(0), first = b.multiply(group, ofGroup);
  SmallVector<Value> zeros(sums);
  auto loop =
      scf::ForOp::create(b, b.index(0), ofGroup, b.index(1), ValueRange(zeros));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value firstRow = b.multiply(b.add(first, number), leavesAtOnce);
    SmallVector<SmallVector<Value>> leaves(zeros.size());
    SmallVector<Type> types(zeros.size(), zeros.front().getType());
    for (int64_t i = 0; i < leavesAtOnce; ++i) {
      Value row = b.add(firstRow, i);
      Value isRow =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, row, last);
      auto load = lane::LoadOp::create(
          b, types, ArrayRef(kernel.buffers).take_front(zeros.size()),
          arith::MinUIOp::create(b, row, last), layout,
          /*access=*/IntegerAttr());
      for (auto [leaf, value, zero] :
           llvm::zip_equal(leaves, load.getFragments(), zeros))
        leaf.push_back(b.select(isRow, value, zero));
    }
    auto added = lane::AddLeavesOp::create(
        b, types,
        llvm::map_to_vector(leaves,
                            [&](const SmallVector<Value> &leaf) {
                              return lane::combineByPairs(b, isMaximum, leaf);
                            }),
        number, layout, groupLevels, /*last=*/false, isMaximum, /*each=*/true);
    scf::YieldOp::create(b, added.getTotals());
  }
  llvm::copy(combineGroups(loop.getResults()), sums.begin());
}

/// The same where each group has a chain of a leaf.
void RowDistributor::writeAllLeaves(MutableArrayRef<Value> sums) {
  int64_t leafRows = getLeafRows(op.getRowLength());
  int64_t chains = getLeafChains(op.getRowLength());
  int64_t together = schedule.getRowGroups() / chains;
  TypedValue<lane::LayoutType> all = layout, ofLeaf = layout;
  lane::LayoutType type = all.getType();
  Value leafOfGroup =
      b.divide(lane::GroupOp::create(b, b.getIndexType(), all), chains);
  if (together > 1)
    ofLeaf = lane::LayoutOp::create(
        b,
        lane::LayoutType::get(op.getContext(), type.getRowLength(),
                              type.getLanes(), chains, type.getWidth(),
                              type.getColumns(), type.getSpan(),
                              /*across=*/false),
        all.getDefiningOp<lane::LayoutOp>().getFirst());
  SmallVector<Value> zeros(sums);
  addAllLeaves(sums, leafRows * together, [&](Value number) {
    Value leaf = b.add(b.multiply(number, together), leafOfGroup);
    Value begin =
        arith::MinUIOp::create(b, b.multiply(leaf, leafRows), kernel.rows);
    Value end = arith::MinUIOp::create(b, b.add(begin, leafRows), kernel.rows);
    Value one = b.index(1);
    Value noRows = b.select(b.below(begin, end), b.index(0), one);
    layout = ofLeaf;
    auto loop =
        lane::ForRowsOp::create(b, begin, end, b.index(chains), layout, noRows,
                                one, zeros, /*carried=*/ValueRange());
    setTransfers(loop);
    OpBuilder::InsertionGuard guard(b);
    lane::YieldOp::create(b, writeIteration(loop));
    layout = all;
    return SmallVector<Value>(loop.getResults());
  });
}

/// Loads the row at work of the row blocks.
void RowDistributor::loadRows() {
  // Views apart from rows in memory, which may come through workgroup memory,
  // and from what lanes across the rows load.
  enum class Kind { Plain, View, Transposed };
  Block &body = op.getBody().front();
  for (Kind kind : {Kind::Plain, Kind::View, Kind::Transposed}) {
    SmallVector<size_t> loaded;
    SmallVector<Type> types;
    SmallVector<Value> memories;
    for (size_t i = 0; i < op.getRows().size(); ++i) {
      Value memory = kernel.buffers[i];
      Kind own = isTransposed(unsigned(i))              ? Kind::Transposed
                 : memory.getDefiningOp<lane::ViewOp>() ? Kind::View
                                                        : Kind::Plain;
      if (own != kind)
        continue;
      loaded.push_back(i);
      types.push_back(
          layout.getType().getFragmentType(getElementTypeOrSelf(memory)));
      memories.push_back(memory);
    }
    if (loaded.empty())
      continue;
    bool isAcross = kind == Kind::Transposed;
    auto load = lane::LoadOp::create(
        b, types, memories, isAcross ? acrossRow : currentRow,
        isAcross ? acrossLayout : layout, /*access=*/IntegerAttr());
    for (auto [i, part] : llvm::zip_equal(loaded, load.getFragments()))
      known[body.getArgument(unsigned(i))] = part;
  }
}

/// Gives the rows that lanes across them have loaded to the lanes of each row.
void RowDistributor::convertRows() {
  SmallVector<Value> arguments, loaded;
  for (size_t i = 0; i < op.getRows().size(); ++i)
    if (isTransposed(unsigned(i))) {
      arguments.push_back(op.getBody().getArgument(unsigned(i)));
      loaded.push_back(known[arguments.back()]);
    }
  if (arguments.empty())
    return;
  auto converted = lane::ConvertLayoutOp::create(
      b, ValueRange(loaded).getTypes(), loaded, acrossLayout, layout);
  for (auto [argument, part] :
       llvm::zip_equal(arguments, converted.getResults()))
    known[argument] = part;
}

/// Stores what `phase` yields of the row at work.
void RowDistributor::storeRows(unsigned phase) {
  auto store = [&](Value part, unsigned output, Value row,
                   TypedValue<lane::LayoutType> by) {
    lane::StoreOp::create(b, part, getBuffer(output), row, by,
                          /*inBounds=*/Value(), /*access=*/IntegerAttr(),
                          /*element=*/IntegerAttr());
  };
  OperandRange outs = op.getRowOuts();
  SmallVector<unsigned> transposed;
  SmallVector<Value> parts;
  for (unsigned i = 0; i < outs.size(); ++i) {
    if (phases.getPhase(op.getYielded(i)) != phase)
      continue;
    if (!isTransposed(outs.getBeginOperandIndex() + i)) {
      store(get(op.getYielded(i)), i, currentRow, layout);
      continue;
    }
    transposed.push_back(i);
    parts.push_back(get(op.getYielded(i)));
  }
  if (transposed.empty())
    return;
  auto converted = lane::ConvertLayoutOp::create(
      b, ValueRange(parts).getTypes(), parts, layout, acrossLayout);
  for (auto [i, part] : llvm::zip_equal(transposed, converted.getResults()))
    store(part, i, acrossRow, acrossLayout);
}

void RowDistributor::writeRow(lane::RowOp row, MutableArrayRef<Value> sums,
                              Value iteration) {
  currentRow = row;
  if (acrossLayout)
    acrossRow = lane::RowOp::create(b, row.getTile(), acrossLayout);
  Block &body = op.getBody().front();
  size_t numRows = op.getRows().size(), numColumns = op.getAllColumns().size();
  loadRows();
  SmallVector<std::pair<BlockArgument, SmallVector<Value>>> inParts;
  auto loadScalars = [&](function_ref<bool(bool)> wants) {
    for (size_t i = 0; i < op.getScalars().size(); ++i) {
      size_t operand = numRows + numColumns + i;
      ArrayRef<Value> parts = kernel.parts[operand];
      if (isNumber(operand) || !wants(!parts.empty()))
        continue;
      if (parts.empty())
        known[body.getArgument(operand)] =
            lane::LoadScalarOp::create(b, kernel.buffers[operand], row);
      else
        inParts.emplace_back(body.getArgument(operand), loadSplits(parts, row));
    }
  };
  if (schedule.getDependentLaunch() && hasSplitScalars()) {
    loadScalars([](bool isSplit) { return !isSplit; });
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
    loadScalars([](bool isSplit) { return isSplit; });
  } else {
    loadScalars([](bool) { return true; });
  }
  // After all loads, which may be done ahead.
  convertRows();
  for (auto &[argument, parts] : inParts)
    known[argument] =
        slices ? lane::combineByPairs(b, /*isMaximum=*/false, parts)
               : llvm::accumulate(ArrayRef(parts).drop_front(), parts.front(),
                                  [&](Value sum, Value part) {
                                    return arith::AddFOp::create(b, sum, part);
                                  });
  for (GatherOp gather : body.getOps<GatherOp>())
    if (phases.getPhase(gather) == 0)
      get(gather);
  for (unsigned phase = 0; phase < phases.getCount(); ++phase)
    writePhase(phase, row, sums, iteration);
}

/// The terms of a phase's row sums come first, which all lanes will wait for;
/// the sums themselves last: meanwhile there is what else the phase has to do.
void RowDistributor::writePhase(unsigned phase, Value row,
                                MutableArrayRef<Value> sums, Value iteration) {
  for (Operation *scalar : phases.getScalars(phase))
    get(scalar->getResult(0));

  ArrayRef<Operation *> rowSums = phases.getSums(phase);
  SmallVector<Value> partials;
  ArrayAttr kinds;
  if (!rowSums.empty()) {
    SmallVector<Attribute> each;
    for (Operation *sum : rowSums) {
      partials.push_back(get(getSummedRow(sum)));
      each.push_back(vector::CombiningKindAttr::get(
          b.getContext(), isRowMaximum(sum) ? vector::CombiningKind::MAXIMUMF
                                            : vector::CombiningKind::ADD));
    }
    kinds = b.getArrayAttr(each);
    Type type = layout.getType().getAccessType(b.getF32Type());
    size_t count = partials.size();
    if (slices) {
      type = b.getF32Type();
      count *= size_t(slices.getInt());
    }
    SmallVector<Type> types(count, type);
    auto fold = lane::FoldOp::create(b, types, kinds, partials, layout,
                                     getAlignedRow(), slices);
    partials.assign(fold.result_begin(), fold.result_end());
  }

  size_t numRowOuts = op.getRowOuts().size();
  size_t numScalarOuts = op.getScalarOuts().size();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value term = op.getYielded(numRowOuts + numScalarOuts + i);
    if (phases.getPhase(term) == phase)
      sum = lane::AccumulateOp::create(b, sum, get(term), /*inBounds=*/Value(),
                                       isMaximum);
  }
  storeRows(phase);
  if (!rowSums.empty()) {
    SmallVector<Type> types(rowSums.size(), b.getF32Type());
    auto reduce =
        lane::ReduceOp::create(b, types, kinds, partials, layout, iteration,
                               phase, op.hasSplitScalarOuts(), slices);
    for (auto [sum, result] : llvm::zip_equal(rowSums, reduce.getSums()))
      known[sum->getResult(0)] = result;
  }
  for (size_t i = 0; i < numScalarOuts; ++i) {
    Value scalar = op.getYielded(numRowOuts + i);
    if (phases.getPhase(scalar) == phase)
      lane::StoreScalarOp::create(b, get(scalar), getBuffer(numRowOuts + i),
                                  row, layout, /*inBounds=*/Value(),
                                  op.hasSplitScalarOuts());
  }
}

Value RowDistributor::getIndex(IndexOp index) {
  using Number = IndexOp::Number;
  IndexOp::Formula formula = index.getFormula();
  Type type = index.getType();
  Value number;
  if (formula.number == Number::Column) {
    type = layout.getType().getFragmentType(b.getI32Type());
    number = lane::ColumnIndexOp::create(b, type, layout, getAlignedRow(),
                                         IntegerAttr());
  } else {
    if (formula.number == Number::Group)
      number = gpu::BlockIdOp::create(b, gpu::Dimension::z);
    else
      number = currentRow;
    number = arith::IndexCastOp::create(b, type, number);
  }
  auto splat = [&](int64_t size) -> Value {
    TypedAttr attribute = b.getIntegerAttr(getElementTypeOrSelf(type), size);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(b, attribute);
  };
  if (formula.divisor != 1)
    number = arith::DivUIOp::create(b, number, splat(formula.divisor));
  if (formula.modulus)
    number = arith::RemUIOp::create(b, number, splat(formula.modulus));
  return number;
}

Value RowDistributor::loadGathered(GatherOp gather) {
  Value table = gather.getTable(), index = get(gather.getIndex());
  int64_t rows = cast<VectorType>(table.getType()).getDimSize(0);
  Value last =
      arith::ConstantOp::create(b, b.getIntegerAttr(index.getType(), rows - 1));
  // Whatever the index of a row that does not exist is, it loads one that does.
  Value inTable = arith::MinUIOp::create(b, index, last);
  Value row = arith::IndexCastUIOp::create(b, b.getIndexType(), inTable);
  Type type =
      layout.getType().getFragmentType(gather.getType().getElementType());
  return lane::GatherOp::create(
             b, type, kernel.buffers[cast<BlockArgument>(table).getArgNumber()],
             row, layout, /*access=*/IntegerAttr())
      .getFragments()[0];
}

Value RowDistributor::get(Value value) {
  if (Value there = known.lookup(value))
    return there;
  Operation *producer = value.getDefiningOp();
  assert(producer && !getSummedRow(producer) &&
         "inputs are loaded, and sums exchanged, before they are used");
  if (auto index = dyn_cast<IndexOp>(producer))
    return known[value] = getIndex(index);
  if (auto gather = dyn_cast<GatherOp>(producer))
    return known[value] = loadGathered(gather);
  auto getType = [&](Type type) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? layout.getType().getFragmentType(vector.getElementType())
                  : type;
  };
  IRMapping mapping;
  for (Value operand : producer->getOperands())
    mapping.map(operand, get(operand));
  Operation *copy = lane::cloneForPart(b, producer, mapping, getType);
  for (auto [from, to] :
       llvm::zip_equal(producer->getResults(), copy->getResults()))
    known[from] = to;
  return known.lookup(value);
}

namespace {
class DistributeRows
    : public lnbwd::impl::DistributeRowsPassBase<DistributeRows> {
  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChip(getOperation());
    if (failed(found))
      return signalPassFailure();
    FailureOr<unsigned> kernels = distributePrograms(
        getOperation(), **found,
        [&](const RowKernel &kernel) {
          RowDistributor(kernel, **found).write();
        },
        [&](ProductOp op, RowwiseOp epilogue, gpu::GPUModuleOp module) {
          return distributeProduct(op, epilogue, module, **found);
        });
    if (failed(kernels))
      return signalPassFailure();
    numKernels += *kernels;
  }
};
} // namespace
