//===- RowWriter.cpp - What a lane does with a row ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads a row, copies the region phase by phase with fragments in place of
// rows, and stores.
//
//===----------------------------------------------------------------------===//

#include "KernelWriters.h"

#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace lnbwd;

/// Whether an operation of the region widens a vector of columns.
static bool isWidenedColumn(RowwiseOp op, Operation *bodyOp) {
  auto widen = dyn_cast<arith::ExtFOp>(bodyOp);
  auto column =
      widen ? dyn_cast<BlockArgument>(widen.getIn()) : BlockArgument();
  size_t numRows = op.getRows().size();
  return column && column.getArgNumber() >= numRows &&
         column.getArgNumber() < numRows + op.getAllColumns().size();
}

/// Whether a scalar is the same for all rows of the workgroup.
static bool isNumber(RowwiseOp op, size_t operand) {
  RowDims rows = op.getForm(operand).getRows();
  return rows == RowDims::None || rows == RowDims::OfGroup;
}

/// A workgroup with one tile of rows uses a column once. Loaded ahead, it would
/// stay in registers while the row's sums are formed, and the compute unit
/// would have room for fewer workgroups, which keep its memory busy.
bool RegionWriter::isLate(BlockArgument column) {
  return schedule.lateColumns && !schedule.widenColumns && !schedule.reload &&
         op.hasRowSums() && !hasLeaves(op) && !column.use_empty() &&
         !phases.isNeededAtFirst(column);
}

void RowWriter::loadShared() {
  Block &body = op.getBody().front();
  lane::LayoutType layoutType = layout.getType();
  size_t numRows = op.getRows().size(), numColumns = op.getAllColumns().size();
  SmallVector<BlockArgument> early;
  SmallVector<Type> types;
  SmallVector<Value> memories;
  for (BlockArgument column : body.getArguments().slice(numRows, numColumns))
    if (!isLate(column)) {
      early.push_back(column);
      types.push_back(
          layoutType.getFragmentType(getElementTypeOrSelf(column.getType())));
      memories.push_back(kernel.buffers[column.getArgNumber()]);
    }
  if (!early.empty()) {
    auto columns = lane::LoadColumnsOp::create(b, types, memories, layout,
                                               /*each=*/false);
    for (auto [column, part] : llvm::zip_equal(early, columns.getFragments()))
      known[column] = part;
  }
  for (size_t i = 0; i < op.getScalars().size(); ++i)
    if (size_t operand = numRows + numColumns + i; isNumber(op, operand))
      known[body.getArgument(operand)] =
          memref::LoadOp::create(b, kernel.buffers[operand], b.index(0));
  if (schedule.widenColumns)
    for (Operation &bodyOp : body)
      if (isWidenedColumn(op, &bodyOp))
        get(bodyOp.getResult(0));
}

void RowWriter::setTransfers(lane::ForRowsOp loop) {
  loop.setLastRowApart(needsShift(op, schedule));
  loop.setReload(schedule.reload);
  if (int64_t stages = schedule.stages)
    loop.setStages(uint64_t(stages));
  loop.setPrefetch(schedule.prefetch);
  if (int64_t tiles = schedule.unroll; tiles > 1)
    loop.setUnroll(uint64_t(tiles));
}

SmallVector<Value> RowWriter::writeIteration(lane::ForRowsOp loop) {
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

/// Loads the row at work of the row blocks.
void RowWriter::loadRows() {
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
      Kind own = context.isTransposed(unsigned(i))      ? Kind::Transposed
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
        isAcross ? context.acrossLayout : layout, /*access=*/IntegerAttr());
    for (auto [i, part] : llvm::zip_equal(loaded, load.getFragments()))
      known[body.getArgument(unsigned(i))] = part;
  }
}

/// Gives the rows that lanes across them have loaded to the lanes of each row.
void RowWriter::convertRows() {
  SmallVector<Value> arguments, loaded;
  for (size_t i = 0; i < op.getRows().size(); ++i)
    if (context.isTransposed(unsigned(i))) {
      arguments.push_back(op.getBody().getArgument(unsigned(i)));
      loaded.push_back(known[arguments.back()]);
    }
  if (arguments.empty())
    return;
  auto converted = lane::ConvertLayoutOp::create(
      b, ValueRange(loaded).getTypes(), loaded, context.acrossLayout, layout);
  for (auto [argument, part] :
       llvm::zip_equal(arguments, converted.getResults()))
    known[argument] = part;
}

/// Stores what `phase` yields of the row at work.
void RowWriter::storeRows(unsigned phase) {
  auto store = [&](Value part, unsigned output, Value row,
                   TypedValue<lane::LayoutType> by) {
    lane::StoreOp::create(b, part, context.getBuffer(output), row, by,
                          /*inBounds=*/Value(), /*access=*/IntegerAttr(),
                          /*element=*/IntegerAttr());
  };
  OperandRange outs = op.getRowOuts();
  SmallVector<unsigned> transposed;
  SmallVector<Value> parts;
  for (unsigned i = 0; i < outs.size(); ++i) {
    if (phases.getPhase(op.getYielded(i)) != phase)
      continue;
    if (!context.isTransposed(outs.getBeginOperandIndex() + i)) {
      store(get(op.getYielded(i)), i, currentRow, layout);
      continue;
    }
    transposed.push_back(i);
    parts.push_back(get(op.getYielded(i)));
  }
  if (transposed.empty())
    return;
  auto converted = lane::ConvertLayoutOp::create(
      b, ValueRange(parts).getTypes(), parts, layout, context.acrossLayout);
  for (auto [i, part] : llvm::zip_equal(transposed, converted.getResults()))
    store(part, i, acrossRow, context.acrossLayout);
}

/// Loads the scalars of the row at work.
RowWriter::ScalarParts RowWriter::loadScalars() {
  Block &body = op.getBody().front();
  size_t first = op.getRows().size() + op.getAllColumns().size();
  ScalarParts inParts;
  auto load = [&](function_ref<bool(bool)> wants) {
    for (size_t i = 0; i < op.getScalars().size(); ++i) {
      size_t operand = first + i;
      ArrayRef<Value> parts = kernel.parts[operand];
      if (isNumber(op, operand) || !wants(!parts.empty()))
        continue;
      if (parts.empty())
        known[body.getArgument(operand)] =
            lane::LoadScalarOp::create(b, kernel.buffers[operand], currentRow);
      else
        inParts.emplace_back(
            body.getArgument(operand),
            llvm::map_to_vector(parts, [&](Value part) -> Value {
              return lane::LoadScalarOp::create(b, part, currentRow);
            }));
    }
  };
  if (schedule.dependentLaunch && context.hasSplitScalars()) {
    load([](bool isSplit) { return !isSplit; });
    context.await();
    load([](bool isSplit) { return isSplit; });
  } else {
    load([](bool) { return true; });
  }
  return inParts;
}

void RowWriter::writeRow(lane::RowOp row, MutableArrayRef<Value> sums,
                         Value iteration) {
  currentRow = row;
  if (context.acrossLayout)
    acrossRow = lane::RowOp::create(b, row.getTile(), context.acrossLayout);
  Block &body = op.getBody().front();
  loadRows();
  ScalarParts inParts = loadScalars();
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
  // What is written may lie over what the kernel before this one reads.
  unsigned firstStored = phases.getCount();
  if (context.awaitsLate)
    for (Value stored : body.getTerminator()->getOperands())
      firstStored = std::min(firstStored, phases.getPhase(stored));
  for (unsigned phase = 0; phase < phases.getCount(); ++phase) {
    if (phase == firstStored)
      context.await();
    writePhase(phase, row, sums, iteration);
  }
}

/// The terms of a phase's row sums come first, which all lanes will wait for;
/// the sums themselves last: meanwhile there is what else the phase has to do.
void RowWriter::writePhase(unsigned phase, Value row,
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
      each.push_back(context.getKind(isRowMaximum(sum)));
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
                                       context.isMaximum(i),
                                       /*fused=*/bool(slices));
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
      lane::StoreScalarOp::create(
          b, get(scalar), context.getBuffer(numRowOuts + i), row, layout,
          /*inBounds=*/Value(), op.hasSplitScalarOuts());
  }
}

Value RegionWriter::getIndex(IndexOp index) {
  using Number = IndexOp::Number;
  IndexOp::Formula formula = index.getFormula();
  Type type = index.getType();
  Value number;
  if (formula.number == Number::Column) {
    auto optional = [&](int64_t number, bool isThere) {
      return isThere ? b.getI64IntegerAttr(number) : IntegerAttr();
    };
    return lane::ColumnIndexOp::create(
        b, layout.getType().getFragmentType(b.getI32Type()), layout,
        getAlignedRow(), /*access=*/IntegerAttr(),
        optional(formula.divisor, formula.divisor != 1),
        optional(formula.modulus, formula.modulus != 0));
  }
  if (formula.number == Number::Group)
    number = gpu::BlockIdOp::create(b, gpu::Dimension::z);
  else
    number = currentRow;
  number = arith::IndexCastOp::create(b, type, number);
  if (formula.divisor != 1)
    number = b(number) / formula.divisor;
  return formula.modulus ? Value(b(number) % formula.modulus) : number;
}

Value RegionWriter::loadGathered(GatherOp gather) {
  Value table = gather.getTable(), index = get(gather.getIndex());
  Value memory = kernel.buffers[cast<BlockArgument>(table).getArgNumber()];
  auto tableType = cast<VectorType>(table.getType());
  TypedAttr last = b.getIntegerAttr(getElementTypeOrSelf(index),
                                    tableType.getDimSize(0) - 1);
  auto indices = dyn_cast<VectorType>(index.getType());
  if (indices)
    last = DenseElementsAttr::get(indices, Attribute(last));
  // Whatever the index of a row that does not exist is, it loads one that does.
  Value inTable = b.atMost(index, arith::ConstantOp::create(b, last));
  Type element = tableType.getElementType();
  if (indices)
    return lane::LoadElementsOp::create(b, indices.clone(element), memory,
                                        inTable);
  Value row = arith::IndexCastUIOp::create(b, b.getIndexType(), inTable);
  if (tableType.getRank() == 1)
    return memref::LoadOp::create(b, memory, row);
  return lane::GatherOp::create(b, layout.getType().getFragmentType(element),
                                memory, row, layout, /*access=*/IntegerAttr())
      .getFragments()[0];
}

Value RegionWriter::sumGathered(GatherSumOp sum) {
  // Rows whose loads are under way at once.
  constexpr int64_t kRowsAtOnce = 4;
  auto getMemory = [&](Value table) {
    return kernel.buffers[cast<BlockArgument>(table).getArgNumber()];
  };
  auto getSize = [](Value table) {
    return cast<VectorType>(table.getType()).getDimSize(0);
  };
  Value table = getMemory(sum.getTable());
  Value list = sum.getList() ? getMemory(sum.getList()) : Value();
  Value lastRow = b.index(getSize(sum.getTable()) - 1);
  auto asIndex = [&](Value number) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), get(number));
  };
  // Whatever the numbers of a row that does not exist are, they are in bounds.
  Value end = b.atMost(asIndex(sum.getEnd()),
                       b.index(getSize(list ? sum.getList() : sum.getTable())));
  Value begin = b.atMost(asIndex(sum.getBegin()), end);
  Type element = cast<VectorType>(sum.getTable().getType()).getElementType();
  VectorType type = layout.getType().getFragmentType(element);
  Type sumType = layout.getType().getFragmentType(b.getF32Type());
  auto addRows = [&](Value from, Value to, int64_t count, Value before) {
    auto loop = scf::ForOp::create(b, from, to, b.index(count), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> rows;
    for (int64_t i = 0; i < count; ++i) {
      Value row = b(loop.getInductionVar()) + i;
      if (list) {
        row = arith::IndexCastUIOp::create(
            b, b.getIndexType(), memref::LoadOp::create(b, list, row));
        row = b.atMost(row, lastRow);
      }
      rows.push_back(lane::GatherOp::create(b, type, table, row, layout,
                                            /*access=*/IntegerAttr())
                         .getFragments()[0]);
    }
    Value result = loop.getRegionIterArg(0);
    for (Value row : rows) {
      if (element != b.getF32Type())
        row = arith::ExtFOp::create(b, sumType, row);
      result = arith::AddFOp::create(b, result, row);
    }
    scf::YieldOp::create(b, result);
    return loop.getResult(0);
  };
  Value rest = (b(end) - begin) % kRowsAtOnce;
  Value whole = b(end) - rest;
  Value result = addRows(begin, whole, kRowsAtOnce, b.zero(sumType));
  return addRows(whole, end, 1, result);
}

Value RegionWriter::get(Value value) {
  if (Value there = known.lookup(value))
    return there;
  Operation *producer = value.getDefiningOp();
  if (!producer) {
    // A late column: a group whose row does not exist may not come here.
    auto column = cast<BlockArgument>(value);
    assert(isLate(column) && "other inputs are loaded before they are used");
    auto load = lane::LoadColumnsOp::create(
        b,
        layout.getType().getFragmentType(
            getElementTypeOrSelf(column.getType())),
        kernel.buffers[column.getArgNumber()], layout, /*each=*/true);
    return known[value] = load.getFragments().front();
  }
  assert(!getSummedRow(producer) && "sums are exchanged before they are used");
  if (auto index = dyn_cast<IndexOp>(producer))
    return known[value] = getIndex(index);
  if (auto gather = dyn_cast<GatherOp>(producer))
    return known[value] = loadGathered(gather);
  if (auto sum = dyn_cast<GatherSumOp>(producer))
    return known[value] = sumGathered(sum);
  auto getType = [&](Type type) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? layout.getType().getFragmentType(vector.getElementType())
                  : type;
  };
  IRMapping mapping;
  // Late columns last: right before their first use.
  for (bool isInput : {false, true})
    for (Value operand : producer->getOperands())
      if (isa<BlockArgument>(operand) == isInput)
        mapping.map(operand, get(operand));
  Operation *copy = lane::cloneForPart(b, producer, mapping, getType);
  for (auto [from, to] :
       llvm::zip_equal(producer->getResults(), copy->getResults()))
    known[from] = to;
  return known.lookup(value);
}
