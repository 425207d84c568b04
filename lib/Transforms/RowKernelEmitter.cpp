//===- RowKernelEmitter.cpp - The body of a row program's kernel ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is: geometry; column operands; the walk over the rows; the column
// sums' way out. Here is that frame, and what is done with one row. The loops
// that walk over the rows are in RowKernelLoops.cpp, sums in RowKernelSums.cpp,
// rows that come through workgroup memory in RowStaging.cpp.
//
//===----------------------------------------------------------------------===//

#include "RowKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

RowKernelEmitter::RowKernelEmitter(RowwiseOp op, const ChipInfo &chip,
                                   gpu::GPUFuncOp func, ValueRange buffers,
                                   Value rows, Value workgroups)
    : op(op), schedule(*op.getSchedule()), chip(chip),
      target(TargetOps::get(chip.backend)), func(func),
      b(op.getLoc(), OpBuilder::atBlockEnd(&func.getBody().front())),
      buffers(buffers), rows(rows), workgroups(workgroups),
      numInputs(op.getNumDpsInputs()), phases(op) {}

/// Columns beyond the row's end are read at the row's last vector and never
/// written; what they add to a row sum is replaced by zero.
RowKernelEmitter::Chunk RowKernelEmitter::makeChunk(Value column,
                                                    bool mayExceed) {
  Value loadColumn = column, valid;
  if (mayExceed) {
    Value end = index(op.getRowLength());
    if (slice)
      end = addIndex(sliceBegin, index(getWorkgroupColumns(op, schedule)));
    valid = lessThan(column, end);
    Value last =
        arith::SubIOp::create(b, end, index(schedule.getVectorWidth()));
    loadColumn = arith::MinUIOp::create(b, column, last);
  }
  Value sliceColumn = loadColumn;
  if (slice)
    sliceColumn = arith::SubIOp::create(b, loadColumn, sliceBegin);
  return {column, loadColumn, sliceColumn, valid};
}

void RowKernelEmitter::emitGeometry() {
  workgroup = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  if (schedule.getRowGroups() == 1) {
    lane = thread;
    group = index(0);
  } else {
    Value perRow = index(schedule.getThreadsPerRow());
    lane = arith::RemUIOp::create(b, thread, perRow);
    group = arith::DivUIOp::create(b, thread, perRow);
    if (hasUniformRows()) {
      Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), group);
      group = arith::IndexCastOp::create(b, b.getIndexType(),
                                         target.makeUniform(b, narrow));
    }
  }

  if (schedule.getReload())
    return;
  int64_t length = op.getRowLength();
  int64_t tile = schedule.getColumnTile();
  Value column = mulIndex(lane, schedule.getVectorWidth());
  if (tile) {
    Value tileId = gpu::BlockIdOp::create(b, gpu::Dimension::y);
    column = addIndex(mulIndex(tileId, tile), column);
  }
  if (sharesRows()) {
    slice = gpu::BlockIdOp::create(b, gpu::Dimension::y);
    sliceBegin = mulIndex(slice, getWorkgroupColumns(op, schedule));
    column = addIndex(sliceBegin, column);
  }
  int64_t numChunks = getChunks(op, schedule);
  for (int64_t i = 0; i < numChunks; ++i) {
    int64_t end = (i + 1) * schedule.getChunkColumns();
    bool mayExceed =
        tile ? length % tile != 0 : end > getWorkgroupColumns(op, schedule);
    chunks.push_back(makeChunk(
        addIndex(column, index(i * schedule.getChunkColumns())), mayExceed));
  }
}

/// Column operands that stay in registers are read once, before the row loop.
/// Groups side by side need the same columns: the first reads them and hands
/// them on through workgroup memory.
void RowKernelEmitter::loadColumnOperands() {
  size_t first = op.getRows().size();
  columnOperands.resize(chunks.size());
  int64_t groups = schedule.getRowGroups();
  if (groups == 1 || !target.avoidsRepeatedReads()) {
    for (auto [c, chunk] : llvm::enumerate(chunks))
      for (size_t i = 0; i < op.getAllColumns().size(); ++i)
        columnOperands[c].push_back(load(first + i, chunk.loadColumn));
    return;
  }

  Value isFirstGroup =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, index(0));
  int64_t width = schedule.getChunkColumns();
  Value lanePlace = mulIndex(lane, schedule.getVectorWidth());
  auto place = [&](size_t c) {
    return addIndex(lanePlace, index(int64_t(c) * width));
  };
  SmallVector<Value> memories;
  for (Value column : op.getAllColumns())
    memories.push_back(
        addWorkgroupMemory(int64_t(chunks.size()) * width,
                           getElementTypeOrSelf(column.getType())));
  if (memories.empty())
    return;
  ifTrue(isFirstGroup, [&] {
    PartScope part(*this, {KernelPart::Setup, /*groups=*/1});
    for (auto [i, memory] : llvm::enumerate(memories))
      for (auto [c, chunk] : llvm::enumerate(chunks))
        vector::StoreOp::create(b, load(first + i, chunk.loadColumn), memory,
                                ValueRange{place(c)}, /*nontemporal=*/false,
                                laneAlignment(memory));
  });
  target.barrier(b);
  for (size_t c = 0; c < chunks.size(); ++c)
    for (Value memory : memories)
      columnOperands[c].push_back(vector::LoadOp::create(
          b, laneVector(cast<MemRefType>(memory.getType()).getElementType()),
          memory, ValueRange{place(c)}, /*nontemporal=*/false,
          laneAlignment(memory)));
}

void RowKernelEmitter::allocateExchange() {
  int64_t perRow = schedule.getThreadsPerRow();
  if ((perRow <= chip.waveSize && !sharesRows()) || !op.hasRowSums())
    return;
  exchangeSlots =
      llvm::divideCeil(perRow, chip.waveSize) * schedule.getWorkgroupsPerRow();
  for (unsigned phase = 0; phase < phases.getCount(); ++phase)
    exchangeHalf += int64_t(phases.getSums(phase).size()) *
                    schedule.getRowGroups() * exchangeSlots;
  exchangeBuffer = addWorkgroupMemory(2 * exchangeHalf, b.getF32Type());
  if (!sharesRows())
    return;
  exchangeBarriers = addWorkgroupMemory(2 * phases.getCount(), b.getI64Type());
  ifTrue(isFirstThread(),
         [&] { target.initByteBarriers(b, exchangeBarriers); });
}

void RowKernelEmitter::emit() {
  PartScope part(*this, {KernelPart::Setup});
  emitGeometry();
  allocateExchange();
  // Nobody may send to a workgroup that has not started.
  if (exchangeBarriers)
    target.arriveAtCluster(b);
  // What is above needs nothing that another kernel writes.
  if (schedule.getEarlyStart())
    target.waitForPreviousKernel(b);
  loadColumnOperands();
  Type accumulator = laneVector(b.getF32Type());
  for (size_t i = 0; i < op.getAllSums().size() * chunks.size(); ++i)
    sums.push_back(arith::ConstantOp::create(b, b.getZeroAttr(accumulator)));
  parity = index(0);

  if (schedule.getUnroll() > 1 && !schedule.getPrefetch()) {
    emitIndependentRowLoop();
  } else {
    emitRowLoop();
    if (schedule.getRowGroups() > 1 || needsShift(op, schedule))
      emitTailRow();
  }
  // Whatever follows, the kernel that adds up partial sums or one of another
  // launch, may be brought to the compute units meanwhile.
  if (chip.workgroups.hasEarlyStart)
    target.allowNextKernel(b);
  if (!op.getAllSums().empty()) {
    if (schedule.getRowGroups() > 1)
      combineGroups();
    storeColumnSums();
  }
  gpu::ReturnOp::create(b);
}

//===----------------------------------------------------------------------===//
// A row
//===----------------------------------------------------------------------===//

void RowKernelEmitter::emitRow(Row &row) {
  for (unsigned phase = 0; phase < phases.getCount(); ++phase) {
    emitScalars(row, phase);
    if (schedule.getReload())
      emitReloadPhase(row, phase);
    else
      emitPhase(row, phase);
  }
  if (sharesRows())
    parity = addIndex(parity, index(1));
  else if (exchangeBuffer)
    parity = arith::SubIOp::create(b, index(exchangeHalf), parity);
}

/// Computes the scalars of a phase, ahead of loops that need them: what is
/// computed inside one would not be known behind it.
void RowKernelEmitter::emitScalars(Row &row, unsigned phase) {
  for (Operation *scalar : phases.getScalars(phase))
    getScalar(row, scalar->getResult(0));
}

/// A phase of a row that stays in registers.
void RowKernelEmitter::emitPhase(Row &row, unsigned phase) {
  SmallVector<Value> partials(phases.getSums(phase).size());
  for (auto [c, chunk] : llvm::enumerate(chunks))
    for (auto [partial, sum] :
         llvm::zip_equal(partials, phases.getSums(phase))) {
      Value term = maskedTerm(row, sum, chunk, row.vectors[c]);
      partial = partial ? combine(isRowMaximum(sum), partial, term) : term;
    }
  accumulate(row, phase);
  for (size_t i = 0; i < op.getRowOuts().size(); ++i)
    if (phases.getPhase(op.getYielded(i)) == phase)
      for (auto [c, chunk] : llvm::enumerate(chunks))
        storeRow(row, i, chunk,
                 getVector(row, op.getYielded(i), chunk, row.vectors[c]));
  for (auto [partial, sum] : llvm::zip_equal(partials, phases.getSums(phase)))
    partial = reduceLane(sum, partial);
  exchange(row, phase, partials);
  storeScalars(row, phase);
}

/// Row scalars are the same in all lanes of a group; the first lane writes.
void RowKernelEmitter::storeScalars(Row &row, unsigned phase) {
  for (size_t i = 0; i < op.getScalarOuts().size(); ++i) {
    size_t output = op.getRowOuts().size() + i;
    Value yielded = op.getYielded(output);
    bool ready = phases.getPhase(yielded) == phase;
    if (!ready)
      continue;
    Value value = getScalar(row, yielded);
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
    if (slice)
      isFirst = both(isFirst, arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    slice, index(0)));
    ifTrue(both(isFirst, row.valid), [&] {
      memref::StoreOp::create(b, value, buffers[outputOperand(output)],
                              row.index);
    });
  }
}

/// A phase of a row that is read again: a loop over its chunks.
void RowKernelEmitter::emitReloadPhase(Row &row, unsigned phase) {
  ArrayRef<Operation *> phaseSums = phases.getSums(phase);
  // An output may lie over an input, which every phase reads: nothing is
  // written before the last one.
  bool stores = phase + 1 == phases.getCount() && !op.getRowOuts().empty();

  SmallVector<Value> partials;
  Type accumulator = laneVector(b.getF32Type());
  for (Operation *sum : phaseSums)
    partials.push_back(neutral(isRowMaximum(sum), accumulator));
  if (stores || !phaseSums.empty()) {
    int64_t length = op.getRowLength();
    Value offset = mulIndex(lane, schedule.getVectorWidth());
    auto loop = scf::ForOp::create(b, index(0), index(length),
                                   index(schedule.getChunkColumns()), partials);
    OpBuilder::InsertionGuard guard(b);
    PartScope part(*this, [](KernelPart &around) { around.reload = true; });
    b.setInsertionPointToStart(loop.getBody());
    Chunk chunk = makeChunk(addIndex(loop.getInductionVar(), offset),
                            length % schedule.getChunkColumns() != 0);
    DenseMap<Value, Value> known;
    SmallVector<Value> next;
    for (auto [i, sum] : llvm::enumerate(phaseSums))
      next.push_back(combine(isRowMaximum(sum), loop.getRegionIterArg(i),
                             maskedTerm(row, sum, chunk, known)));
    // All are computed before the first is stored.
    SmallVector<Value> stored;
    for (size_t i = 0; stores && i < op.getRowOuts().size(); ++i)
      stored.push_back(getVector(row, op.getYielded(i), chunk, known));
    for (auto [i, value] : llvm::enumerate(stored))
      storeRow(row, i, chunk, value);
    if (!next.empty())
      scf::YieldOp::create(b, next);
    partials.assign(loop.result_begin(), loop.result_end());
  }
  for (auto [partial, sum] : llvm::zip_equal(partials, phaseSums))
    partial = reduceLane(sum, partial);
  exchange(row, phase, partials);
  storeScalars(row, phase);
}

//===----------------------------------------------------------------------===//
// Values of the region
//===----------------------------------------------------------------------===//

Value RowKernelEmitter::load(unsigned operand, ValueRange indices) {
  Value buffer = buffers[operand];
  auto type = cast<MemRefType>(buffer.getType());
  bool isScalar = operand >= op.getRows().size() + op.getAllColumns().size();
  if (isScalar)
    return memref::LoadOp::create(b, buffer, indices);
  int64_t bytes = schedule.getVectorWidth() * type.getElementTypeBitWidth() / 8;
  return vector::LoadOp::create(
      b, laneVector(type.getElementType()), buffer, indices,
      /*nontemporal=*/false, llvm::MaybeAlign(std::min<int64_t>(bytes, 16)));
}

Value RowKernelEmitter::getScalar(Row &row, Value value) {
  if (Value known = row.scalars.lookup(value))
    return known;
  Operation *producer = value.getDefiningOp();
  assert(producer && !getSummedRow(producer) &&
         "a row sum is used before its exchange");
  IRMapping mapping;
  for (Value operand : producer->getOperands())
    mapping.map(operand, getScalar(row, operand));
  Operation *copy = b.clone(*producer, mapping);
  copy->setLoc(b.getLoc());
  for (auto [from, to] :
       llvm::zip_equal(producer->getResults(), copy->getResults()))
    row.scalars[from] = to;
  return row.scalars.lookup(value);
}

/// The lane's part of a row, computed on demand from what is `known` of the
/// chunk already.
Value RowKernelEmitter::getVector(Row &row, Value value, const Chunk &chunk,
                                  DenseMap<Value, Value> &known) {
  if (Value vector = known.lookup(value))
    return vector;
  auto laneType =
      laneVector(cast<VectorType>(value.getType()).getElementType());
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // Only a program that reloads gets here: other inputs are known.
    unsigned operand = argument.getArgNumber();
    if (operand < op.getRows().size())
      result = load(operand, {row.index, chunk.loadColumn});
    else
      result = load(operand, chunk.loadColumn);
  } else if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    result = arith::ConstantOp::create(b, splat.resizeSplat(laneType));
  } else {
    Operation *producer = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : producer->getOperands())
      mapping.map(operand, isa<VectorType>(operand.getType())
                               ? getVector(row, operand, chunk, known)
                               : getScalar(row, operand));
    Operation *copy = b.clone(*producer, mapping);
    copy->setLoc(b.getLoc());
    copy->getResult(0).setType(laneType);
    result = copy->getResult(0);
  }
  known[value] = result;
  return result;
}

Value RowKernelEmitter::maskedTerm(Row &row, Operation *sum, const Chunk &chunk,
                                   DenseMap<Value, Value> &known) {
  Value term = getVector(row, getSummedRow(sum), chunk, known);
  if (!chunk.valid)
    return term;
  return arith::SelectOp::create(b, chunk.valid, term,
                                 neutral(isRowMaximum(sum), term.getType()));
}

void RowKernelEmitter::storeRow(Row &row, unsigned output, const Chunk &chunk,
                                Value value) {
  Value buffer = buffers[outputOperand(output)];
  auto type = cast<MemRefType>(buffer.getType());
  int64_t bytes = schedule.getVectorWidth() * type.getElementTypeBitWidth() / 8;
  ifTrue(both(chunk.valid, row.valid), [&] {
    vector::StoreOp::create(
        b, value, buffer, ValueRange{row.index, chunk.column},
        /*nontemporal=*/false, llvm::MaybeAlign(std::min<int64_t>(bytes, 16)));
  });
}

//===----------------------------------------------------------------------===//
// Small things
//===----------------------------------------------------------------------===//

Value RowKernelEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// Additions may be contracted with the multiplication that feeds them.
Value RowKernelEmitter::add(Value lhs, Value rhs) {
  return arith::AddFOp::create(b, lhs, rhs, arith::FastMathFlags::contract);
}

Value RowKernelEmitter::addIndex(Value lhs, Value rhs) {
  return arith::AddIOp::create(b, lhs, rhs);
}

Value RowKernelEmitter::mulIndex(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : Value(arith::MulIOp::create(b, lhs, index(rhs)));
}

Value RowKernelEmitter::lessThan(Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lhs, rhs);
}

/// The conjunction of two conditions, each of which may be null for true.
Value RowKernelEmitter::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(b, lhs, rhs);
}

/// Emits `body` under `condition`, or plainly where that is null for true.
Value RowKernelEmitter::isFirstThread() {
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
}

void RowKernelEmitter::ifTrue(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto guarded = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  body();
}

VectorType RowKernelEmitter::laneVector(Type element) {
  return VectorType::get({schedule.getVectorWidth()}, element);
}

/// Bytes go from turn to turn as whole registers, where they fill such: the
/// code generators would give each a register of its own.
Type RowKernelEmitter::getPackedType(VectorType type) {
  if (!type.getElementType().isInteger(8) || type.getNumElements() % 4 != 0)
    return type;
  return VectorType::get({type.getNumElements() / 4}, b.getI32Type());
}

Value RowKernelEmitter::pack(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type packed = getPackedType(type);
  if (packed == type)
    return vector;
  return vector::BitCastOp::create(b, cast<VectorType>(packed), vector);
}

Value RowKernelEmitter::unpack(Value vector, Type element) {
  VectorType type = laneVector(element);
  if (vector.getType() == type)
    return vector;
  return vector::BitCastOp::create(b, type, vector);
}

/// The alignment of a lane's vectors in `memory`, which begins aligned.
llvm::MaybeAlign RowKernelEmitter::laneAlignment(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  int64_t bytes = schedule.getVectorWidth() * type.getElementTypeBitWidth() / 8;
  return llvm::MaybeAlign(std::min<int64_t>(bytes, 16));
}

/// Workgroup memory, aligned for the widest access.
Value RowKernelEmitter::addWorkgroupMemory(int64_t elements, Type element) {
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto type =
      MemRefType::get({elements}, element, MemRefLayoutAttrInterface(), space);
  unsigned number = func.getNumWorkgroupAttributions();
  Value memory = func.addWorkgroupAttribution(type, b.getLoc());
  func.setWorkgroupAttributionAttr(
      number, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
  return memory;
}

unsigned RowKernelEmitter::outputOperand(unsigned output) const {
  return numInputs + output;
}
