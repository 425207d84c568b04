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
// says about latency is for passes behind this one.
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"
#include "RowPhases.h"

#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace lnbwd {
#define GEN_PASS_DEF_DISTRIBUTEROWSPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Phases of a program none of whose row sums waits for another: the sums, and
/// what needs them.
static constexpr unsigned phasesOfOneSum = 2;

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
  lane::PlaceType getPlaceType();
  void writeRow(Value row, MutableArrayRef<Value> sums, Value turn);
  void writePhase(unsigned phase, Value row, MutableArrayRef<Value> sums,
                  Value turn);
  /// Whether vectors are widened once, ahead of the loop, for the rows of the
  /// loop and for those behind it that do not fill a set. The code generator
  /// widens them ahead of the loop in any case, and kept what the rows behind
  /// it widen for themselves in registers as well. Measured on an H200, fewer
  /// registers are of use where a sum waits for another, and vectors for both;
  /// with one sum, or with column sums, kernels took up to a fourth longer so.
  /// AMD's are as they were counted and predicted.
  bool widensAhead() {
    return chip.backend == Backend::NVPTX && op.getAllSums().empty() &&
           phases.getCount() > phasesOfOneSum &&
           (schedule.getRowGroups() > 1 || needsShift(op, schedule));
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
  /// Whether row scalars come in parts, from the kernel before this one.
  bool hasScalarsInParts() {
    auto *first =
        kernel.parts.begin() + op.getRows().size() + op.getAllColumns().size();
    return std::any_of(first, first + op.getScalars().size(),
                       [](ArrayRef<Value> parts) { return !parts.empty(); });
  }
  /// The row blocks that nothing reads behind this kernel, which are partial
  /// sums: what a cache holds of them would be brought to memory for nothing.
  /// One workgroup has all rows of its columns, and the barriers of the sum
  /// over its groups are behind all loads.
  SmallVector<Value> getDeadRows() {
    if (schedule.getRowsPerWorkgroup() || schedule.getRowGroups() == 1 ||
        op.getColumnSums().empty() || op.getGroupOperand())
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
  /// The parts of a row scalar, from the first to the last.
  SmallVector<Value> loadParts(ArrayRef<Value> parts, Value row) {
    return llvm::map_to_vector(parts, [&](Value part) -> Value {
      return lane::LoadScalarOp::create(b, part, row);
    });
  }
  /// A value of the region as this lane has it: a scalar, or its part of a row.
  Value get(Value value);
  Value getBuffer(unsigned output) {
    return kernel.buffers[op.getNumDpsInputs() + output];
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value multiply(Value lhs, int64_t rhs) {
    return rhs == 1 ? lhs : arith::MulIOp::create(b, lhs, index(rhs));
  }

  RowKernel kernel;
  RowwiseOp op;
  ScheduleAttr schedule;
  const ChipInfo &chip;
  RowPhases phases;
  ImplicitLocOpBuilder b;
  Value place;
  /// Values of the region, as the row at work has them.
  DenseMap<Value, Value> known;
};
} // namespace

lane::PlaceType RowDistributor::getPlaceType() {
  int64_t length = op.getRowLength();
  int64_t columns = getWorkgroupColumns(op, schedule);
  return lane::PlaceType::get(
      op.getContext(), length, schedule.getThreadsPerRow(),
      schedule.getRowGroups(), schedule.getVectorWidth(),
      columns < length ? columns : 0);
}

void RowDistributor::write() {
  Value workgroup = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  lane::PlaceType placeType = getPlaceType();
  Value first;
  if (placeType.getColumns())
    first = multiply(gpu::BlockIdOp::create(b, gpu::Dimension::y),
                     placeType.getColumns());
  place = lane::PlaceOp::create(b, placeType, first);
  // Whoever starts now waits for the end of this kernel, and so, since this one
  // waits as well, for the end of all before.
  if (schedule.getEarlyNext())
    lane::AllowNextKernelOp::create(b);
  // What is above needs nothing that another kernel writes. Of the kernel that
  // leaves row sums in parts only these are needed, and it has awaited the one
  // before it: rows may be on their way meanwhile.
  if (schedule.getEarlyStart() && !hasScalarsInParts())
    lane::AwaitPreviousKernelOp::create(b);
  // Who waits for row sums in parts may as well wait where it runs: the
  // workgroups that leave them have but one row each.
  bool allowsFirst = op.hasScalarOutsInParts();
  bool isToAllow = chip.workgroups.hasEarlyStart && !schedule.getEarlyNext();
  if (isToAllow && allowsFirst)
    lane::AllowNextKernelOp::create(b);

  Block &body = op.getBody().front();
  size_t numRows = op.getRows().size(), numColumns = op.getAllColumns().size();
  if (numColumns) {
    SmallVector<Type> types;
    for (Value column : op.getAllColumns())
      types.push_back(
          placeType.getPartType(getElementTypeOrSelf(column.getType())));
    auto columns = lane::LoadColumnsOp::create(
        b, types, ArrayRef(kernel.buffers).slice(numRows, numColumns), place,
        /*each=*/false);
    for (auto [i, part] : llvm::enumerate(columns.getParts()))
      known[body.getArgument(numRows + i)] = part;
  }
  bool isOneSet = schedule.takesOneSet(int64_t(op.getFixedWorkgroups()));
  if (!isOneSet && widensAhead())
    for (Operation &bodyOp : body)
      if (isWidenedColumn(&bodyOp))
        get(bodyOp.getResult(0));
  Type sumType = placeType.getPartType(b.getF32Type());
  SmallVector<Value> sums;
  for (size_t i = 0; i < op.getAllSums().size(); ++i)
    sums.push_back(arith::ConstantOp::create(b, b.getZeroAttr(sumType)));
  SmallVector<Value> carried;
  if (op.hasRowSums())
    carried.push_back(
        lane::FirstTurnOp::create(b, lane::TurnType::get(op.getContext())));

  Value begin = multiply(workgroup, schedule.getRowGroups());
  Value step = multiply(kernel.workgroups, schedule.getRowGroups());
  auto loop =
      lane::ForRowsOp::create(b, begin, kernel.rows, step, place, workgroup,
                              kernel.workgroups, sums, carried);
  loop.setOnce(isOneSet);
  if (hasSumTotals(op, schedule, chip) && !loop.getOnce())
    loop.setSumBlock(getSumBlockTurns(schedule));
  loop.setLastRowApart(needsShift(op, schedule));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&loop.getBody().front());
    SmallVector<Value> state(loop.getStateArguments());
    Value row = lane::RowOp::create(b, loop.getSet(), place);
    Value turn = carried.empty() ? Value() : state.back();
    writeRow(row, MutableArrayRef(state).take_front(sums.size()), turn);
    if (turn)
      state.back() = lane::NextTurnOp::create(b, turn);
    lane::YieldOp::create(b, state);
  }
  sums.assign(loop.result_begin(), loop.result_begin() + sums.size());

  // Whatever follows, the kernel that adds up partial sums or one of another
  // launch, may be brought to the compute units meanwhile.
  if (isToAllow && !allowsFirst)
    lane::AllowNextKernelOp::create(b);
  if (!sums.empty() && schedule.getRowGroups() > 1) {
    auto combined =
        lane::CombineGroupsOp::create(b, TypeRange(ValueRange(sums)), sums,
                                      place, getCombineRadix(op, schedule));
    sums.assign(combined.result_begin(), combined.result_end());
  }
  size_t firstSum = op.getRowOuts().size() + op.getScalarOuts().size();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value memory = getBuffer(firstSum + i);
    bool isPartial = cast<MemRefType>(memory.getType()).getRank() == 2;
    lane::StoreSumOp::create(b, sum, memory, isPartial ? workgroup : Value(),
                             place, /*access=*/IntegerAttr(),
                             op.getAccumulate());
  }
  if (SmallVector<Value> dead = getDeadRows(); !dead.empty())
    lane::DiscardOp::create(b, dead, kernel.rows, place);
  gpu::ReturnOp::create(b);
}

void RowDistributor::writeRow(Value row, MutableArrayRef<Value> sums,
                              Value turn) {
  Block &body = op.getBody().front();
  auto placeType = cast<lane::PlaceType>(place.getType());
  size_t numRows = op.getRows().size(), numColumns = op.getAllColumns().size();
  if (numRows) {
    SmallVector<Type> types;
    for (Value rows : op.getRows())
      types.push_back(
          placeType.getPartType(getElementTypeOrSelf(rows.getType())));
    auto load = lane::LoadOp::create(
        b, types, ArrayRef(kernel.buffers).take_front(numRows), row, place,
        /*access=*/IntegerAttr());
    for (auto [i, part] : llvm::enumerate(load.getParts()))
      known[body.getArgument(i)] = part;
  }
  SmallVector<std::pair<BlockArgument, SmallVector<Value>>> inParts;
  auto loadScalars = [&](function_ref<bool(bool)> wants) {
    for (size_t i = 0; i < op.getScalars().size(); ++i) {
      size_t operand = numRows + numColumns + i;
      ArrayRef<Value> parts = kernel.parts[operand];
      if (!wants(!parts.empty()))
        continue;
      if (parts.empty())
        known[body.getArgument(operand)] =
            lane::LoadScalarOp::create(b, kernel.buffers[operand], row);
      else
        inParts.emplace_back(body.getArgument(operand), loadParts(parts, row));
    }
  };
  if (schedule.getEarlyStart() && hasScalarsInParts()) {
    loadScalars([](bool isInParts) { return !isInParts; });
    lane::AwaitPreviousKernelOp::create(b);
    loadScalars([](bool isInParts) { return isInParts; });
  } else {
    loadScalars([](bool) { return true; });
  }
  // Behind all loads, which may be done ahead.
  for (auto &[argument, parts] : inParts)
    known[argument] =
        llvm::accumulate(ArrayRef(parts).drop_front(), parts.front(),
                         [&](Value sum, Value part) {
                           return arith::AddFOp::create(b, sum, part);
                         });
  for (unsigned phase = 0; phase < phases.getCount(); ++phase)
    writePhase(phase, row, sums, turn);
}

/// The terms of a phase's row sums come first, which all lanes will wait for;
/// the sums themselves last: meanwhile there is what else the phase has to do.
void RowDistributor::writePhase(unsigned phase, Value row,
                                MutableArrayRef<Value> sums, Value turn) {
  for (Operation *scalar : phases.getScalars(phase))
    get(scalar->getResult(0));

  ArrayRef<Operation *> rowSums = phases.getSums(phase);
  auto placeType = cast<lane::PlaceType>(place.getType());
  SmallVector<Value> shares;
  ArrayAttr kinds;
  if (!rowSums.empty()) {
    SmallVector<Attribute> each;
    for (Operation *sum : rowSums) {
      shares.push_back(get(getSummedRow(sum)));
      each.push_back(vector::CombiningKindAttr::get(
          b.getContext(), isRowMaximum(sum) ? vector::CombiningKind::MAXIMUMF
                                            : vector::CombiningKind::ADD));
    }
    kinds = b.getArrayAttr(each);
    SmallVector<Type> types(shares.size(),
                            placeType.getAccessType(b.getF32Type()));
    auto fold = lane::FoldOp::create(b, types, kinds, shares, place);
    shares.assign(fold.result_begin(), fold.result_end());
  }

  size_t numRowOuts = op.getRowOuts().size();
  size_t numScalarOuts = op.getScalarOuts().size();
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value term = op.getYielded(numRowOuts + numScalarOuts + i);
    if (phases.getPhase(term) == phase)
      sum = lane::AccumulateOp::create(b, sum, get(term), /*exists=*/Value());
  }
  for (size_t i = 0; i < numRowOuts; ++i)
    if (phases.getPhase(op.getYielded(i)) == phase)
      lane::StoreOp::create(b, get(op.getYielded(i)), getBuffer(i), row, place,
                            /*exists=*/Value(), /*access=*/IntegerAttr());
  if (!rowSums.empty()) {
    SmallVector<Type> types(shares.size(), b.getF32Type());
    auto reduce = lane::ReduceOp::create(b, types, kinds, shares, place, turn,
                                         phase, op.hasScalarOutsInParts());
    for (auto [sum, result] : llvm::zip_equal(rowSums, reduce.getSums()))
      known[sum->getResult(0)] = result;
  }
  for (size_t i = 0; i < numScalarOuts; ++i) {
    Value scalar = op.getYielded(numRowOuts + i);
    if (phases.getPhase(scalar) == phase)
      lane::StoreScalarOp::create(b, get(scalar), getBuffer(numRowOuts + i),
                                  row, place, /*exists=*/Value(),
                                  op.hasScalarOutsInParts());
  }
}

Value RowDistributor::get(Value value) {
  if (Value there = known.lookup(value))
    return there;
  Operation *producer = value.getDefiningOp();
  assert(producer && !getSummedRow(producer) &&
         "inputs are loaded, and sums exchanged, before they are used");
  auto placeType = cast<lane::PlaceType>(place.getType());
  auto getType = [&](Type type) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? placeType.getPartType(vector.getElementType()) : type;
  };
  auto constant = dyn_cast<arith::ConstantOp>(producer);
  if (auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                            : SplatElementsAttr())
    return known[value] = arith::ConstantOp::create(
               b,
               splat.resizeSplat(cast<ShapedType>(getType(splat.getType()))));
  IRMapping mapping;
  for (Value operand : producer->getOperands())
    mapping.map(operand, get(operand));
  Operation *copy = b.clone(*producer, mapping);
  for (auto [from, to] :
       llvm::zip_equal(producer->getResults(), copy->getResults())) {
    to.setType(getType(to.getType()));
    known[from] = to;
  }
  return known.lookup(value);
}

namespace {
class DistributeRows
    : public lnbwd::impl::DistributeRowsPassBase<DistributeRows> {
public:
  using DistributeRowsPassBase::DistributeRowsPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found))
      return signalPassFailure();
    FailureOr<unsigned> kernels = distributePrograms(
        getOperation(), **found, [&](const RowKernel &kernel) {
          RowDistributor(kernel, **found).write();
        });
    if (failed(kernels))
      return signalPassFailure();
    numKernels += *kernels;
  }
};
} // namespace
