//===- FewRowsKernel.cpp - A row program in one workgroup -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel around the elements: parameters, iterations, what goes through
// workgroup memory, and what is stored. FewRowsValues.cpp computes the values
// of the region.
//
//===----------------------------------------------------------------------===//

#include "FewRowsKernel.h"

#include "../RowwiseToLane/KernelFrame.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Elements of the first row of operand `index`, or of all there is.
static int64_t getParameterElements(RowwiseOp op, unsigned index) {
  auto region = dyn_cast<VectorType>(op.getRegionType(index));
  return region ? region.getNumElements() : 1;
}

/// Elements from one row of operand `index` to the next; 0 where it has none.
static int64_t getDistance(RowwiseOp op, unsigned index) {
  auto region = dyn_cast<VectorType>(op.getRegionType(index));
  if (!region)
    return 1;
  unsigned firstOutput = unsigned(op.getNumDpsInputs());
  bool isRow =
      index < op.getRows().size() ||
      (index >= firstOutput && index < firstOutput + op.getRowOuts().size());
  return isRow ? op.getRowStride(index) : 0;
}

void FewRowsKernel::makeKernel() {
  SmallVector<Type> parameters;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    parameters.push_back(
        getParameterType(op->getOperand(i), getParameterElements(op, i)));
  // The numbers of rows and of workgroups, as other kernels have them.
  parameters.append(2, b.getI64Type());
  kernel = gpu::GPUFuncOp::create(b, op.getEntry(),
                                  b.getFunctionType(parameters, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // As far as there is one: the rows of an iteration, side by side.
  auto schedule = ScheduleAttr::get(
      b.getContext(), form.threads / form.rows, /*row_groups=*/form.rows,
      /*vector_width=*/1, /*rows_per_workgroup=*/0,
      /*workgroups_per_compute_unit=*/0, /*workgroups_per_row=*/1,
      /*column_tile=*/0, /*prefetch=*/0, /*unroll=*/1, /*stages=*/0,
      /*dependent_launch=*/startsEarly, /*reload=*/false, /*row_splits=*/0,
      /*prefetch_before_dependency=*/false, /*early_trigger=*/false);
  kernel->setAttr(
      kernelInfoAttr,
      KernelInfoAttr::get(b.getContext(), op.getEntryAttr(), op.getRowLength(),
                          schedule,
                          ProductLoopAttr::get(b.getContext(), /*sum=*/0,
                                               /*step=*/form.rows, /*parts=*/1,
                                               /*multiplied=*/Type())));
  kernel.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(form.threads), 1, 1}));
  SymbolTable(module).insert(kernel);
}

void FewRowsKernel::addSharedMemory() {
  for (Value row : getSharedRows(op)) {
    int64_t stride =
        getFewRowsStride(cast<VectorType>(row.getType()).getDimSize(0));
    shared[row] = {
        lane::addWorkgroupMemory(kernel, form.rows * stride, b.getF32Type()),
        stride};
  }
  Block &body = op.getBody().front();
  size_t first =
      op->getNumOperands() - op.getNumDpsInits() - op.getMatrices().size();
  for (size_t i = 0; i < op.getMatrices().size(); ++i) {
    BlockArgument matrix = body.getArgument(unsigned(first + i));
    ArrayRef<int64_t> shape = cast<VectorType>(matrix.getType()).getShape();
    int64_t stride = getFewRowsStride(shape[1]);
    shared[matrix] = {
        lane::addWorkgroupMemory(kernel, shape[0] * stride, b.getF32Type()),
        stride};
  }
}

FewRowsKernel::Space FewRowsKernel::makeSpace(int64_t count) {
  Space space;
  for (int64_t first = 0; first < count; first += form.threads) {
    Value element = first ? b.add(thread, first) : thread;
    Value exists;
    if (first + form.threads > count) {
      exists = b.less(element, b.index(count));
      element = b.smaller(element, b.index(count - 1));
    }
    space.elements.push_back(element);
    space.exist.push_back(exists);
  }
  return space;
}

/// Those rows of the iteration that do not exist are the last one again.
FewRowsKernel::RowSpace &FewRowsKernel::getRowSpace(int64_t length) {
  auto [place, isNew] = rowSpaces.try_emplace(length);
  RowSpace &space = place->second;
  if (!isNew)
    return space;
  static_cast<Space &>(space) = makeSpace(form.rows * length);
  Value last = b.subtract(rowCount, b.index(1));
  for (auto [element, exists] : llvm::zip_equal(space.elements, space.exist)) {
    Value row = b.divide(element, length);
    Value bufferRow = b.add(iterationRow, row);
    Value rowExists = b.less(bufferRow, rowCount);
    space.rows.push_back(row);
    space.columns.push_back(b.remainder(element, length));
    space.bufferRows.push_back(b.smaller(bufferRow, last));
    space.rowsExist.push_back(exists ? b.both(exists, rowExists) : rowExists);
  }
  return space;
}

Value FewRowsKernel::toFloat(Value value) {
  return value.getType().isF32()
             ? value
             : arith::ExtFOp::create(b, b.getF32Type(), value);
}

Value FewRowsKernel::loadShared(const Shared &from, Value row, Value column) {
  return memref::LoadOp::create(b, from.memory,
                                b.add(b.multiply(row, from.stride), column));
}

void FewRowsKernel::storeWhere(Value condition, Value value, Value memory,
                               Value position) {
  OpBuilder::InsertionGuard guard(b);
  if (condition)
    b.setInsertionPointToStart(
        scf::IfOp::create(b, condition, /*withElseRegion=*/false).thenBlock());
  memref::StoreOp::create(b, value, memory, position);
}

/// Columns and matrices are the same in all iterations: they are in flight
/// before the first row is.
void FewRowsKernel::findColumnsAndMatrices() {
  size_t first =
      op->getNumOperands() - op.getNumDpsInits() - op.getMatrices().size();
  for (size_t i = 0; i < op.getMatrices().size(); ++i) {
    size_t operand = first + i;
    auto type = cast<MemRefType>(op->getOperand(unsigned(operand)).getType());
    Space space = makeSpace(type.getNumElements());
    Values elements;
    for (Value element : space.elements)
      elements.push_back(
          toFloat(memref::LoadOp::create(b, buffers[operand], element)));
    matrices.emplace_back(std::move(space), std::move(elements));
  }
  for (size_t i = 0; i < op.getColumns().size(); ++i) {
    size_t operand = op.getRows().size() + i;
    BlockArgument column = op.getBody().getArgument(unsigned(operand));
    int64_t length = cast<VectorType>(column.getType()).getDimSize(0);
    Values &elements = known[length][column];
    for (Value element : makeSpace(form.rows * length).elements)
      elements.push_back(memref::LoadOp::create(b, buffers[operand],
                                                b.remainder(element, length)));
  }
}

void FewRowsKernel::findSums() {
  auto first = unsigned(op.getRowOuts().size() + op.getScalarOuts().size());
  auto numColumnSums = unsigned(op.getColumnSums().size());
  for (unsigned i = 0; i < numColumnSums; ++i) {
    auto type = cast<VectorType>(op.getYielded(first + i).getType());
    rowsSums.push_back({first + i, makeSpace(type.getNumElements()), 0, {}});
  }
  for (unsigned i = 0; i < op.getOuterSums().size(); ++i) {
    unsigned output = first + numColumnSums + i;
    auto type = cast<VectorType>(op.getYielded(output).getType());
    rowsSums.push_back({output, makeSpace(type.getNumElements()),
                        type.getDimSize(1), *getOuterTerms(op, i)});
  }
}

void FewRowsKernel::shareMatrices() {
  size_t first =
      op->getNumOperands() - op.getNumDpsInits() - op.getMatrices().size();
  for (auto [i, matrix] : llvm::enumerate(matrices)) {
    BlockArgument argument = op.getBody().getArgument(unsigned(first + i));
    int64_t columns = cast<VectorType>(argument.getType()).getDimSize(1);
    const Shared &to = shared[argument];
    auto &[space, elements] = matrix;
    for (auto [value, element, exists] :
         llvm::zip_equal(elements, space.elements, space.exist)) {
      Value column = b.remainder(element, columns);
      Value row = b.multiply(b.divide(element, columns), to.stride);
      storeWhere(exists, value, to.memory, b.add(row, column));
    }
  }
}

/// Rows that do not exist are 0, so that they add nothing to a sum.
void FewRowsKernel::shareRow(Value row) {
  int64_t length = cast<VectorType>(row.getType()).getDimSize(0);
  Values elements = get(row, length);
  RowSpace &space = getRowSpace(length);
  const Shared &to = shared[row];
  Value zero = b.zero(b.getF32Type());
  for (size_t i = 0; i < elements.size(); ++i) {
    Value exists = b.less(b.add(iterationRow, space.rows[i]), rowCount);
    Value value =
        arith::SelectOp::create(b, exists, toFloat(elements[i]), zero);
    storeWhere(space.exist[i], value, to.memory,
               b.add(b.multiply(space.rows[i], to.stride), space.columns[i]));
  }
}

void FewRowsKernel::storeRows() {
  auto firstOutput = unsigned(op.getNumDpsInputs());
  auto count = unsigned(op.getRowOuts().size() + op.getScalarOuts().size());
  for (unsigned i = 0; i < count; ++i) {
    Value value = op.getYielded(i);
    auto type = dyn_cast<VectorType>(value.getType());
    int64_t length = type ? type.getDimSize(0) : 1;
    Values elements = get(value, length);
    RowSpace &space = getRowSpace(length);
    int64_t distance = getDistance(op, firstOutput + i);
    for (size_t e = 0; e < elements.size(); ++e)
      storeWhere(
          space.rowsExist[e], elements[e], buffers[firstOutput + i],
          b.add(b.multiply(space.bufferRows[e], distance), space.columns[e]));
  }
}

void FewRowsKernel::addRows(const RowsSum &sum, Values &totals) {
  Value yielded = op.getYielded(sum.output);
  if (!sum.columns) {
    const Shared &rows = shared[yielded];
    totals = fold(form.rows, totals, [&](Value row, size_t i, Value before) {
      Value term = loadShared(rows, row, sum.space.elements[i]);
      return arith::AddFOp::create(b, before, term).getResult();
    });
    return;
  }
  Values lefts, rights;
  for (Value element : sum.space.elements) {
    lefts.push_back(b.divide(element, sum.columns));
    rights.push_back(b.remainder(element, sum.columns));
  }
  for (const OuterTerm &term : sum.terms)
    totals = fold(form.rows, totals, [&](Value row, size_t i, Value before) {
      Value right = loadShared(shared[term.right], row, rights[i]);
      return multiplyAdd(loadShared(shared[term.left], row, lefts[i]), right,
                         before);
    });
}

void FewRowsKernel::storeSum(const RowsSum &sum, ValueRange totals) {
  Value buffer = buffers[size_t(op.getNumDpsInputs()) + sum.output];
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  for (auto [i, total] : llvm::enumerate(totals)) {
    Value rounded = total;
    if (!element.isF32())
      rounded = arith::TruncFOp::create(b, element, total);
    storeWhere(sum.space.exist[i], rounded, buffer, sum.space.elements[i]);
  }
}

void FewRowsKernel::writeIteration(Value firstRow,
                                   MutableArrayRef<Values> sums) {
  iterationRow = firstRow;
  // All that comes from device memory is asked for before anything waits.
  for (BlockArgument argument : op.getBody().getArguments()) {
    auto type = dyn_cast<VectorType>(argument.getType());
    if (type && argument.getArgNumber() < op.getRows().size())
      (void)get(argument, type.getDimSize(0));
  }
  shareMatrices();
  llvm::SetVector<Value> rows = getSharedRows(op);
  unsigned last = 0;
  DenseMap<Value, unsigned> levels;
  for (Operation &bodyOp : op.getBody().front().without_terminator()) {
    unsigned level = 0;
    for (Value operand : bodyOp.getOperands())
      level = std::max(level, levels.lookup(operand));
    // It reads what others have written.
    if (getSummedRow(&bodyOp) || isa<LinearOp>(bodyOp))
      ++level;
    for (Value result : bodyOp.getResults())
      levels[result] = level;
  }
  for (Value row : rows)
    last = std::max(last, levels.lookup(row));
  for (unsigned level = 0; level <= last && !rows.empty(); ++level) {
    for (Value row : rows)
      if (levels.lookup(row) == level)
        shareRow(row);
    gpu::BarrierOp::create(b);
  }
  storeRows();
  for (auto [sum, totals] : llvm::zip_equal(rowsSums, sums))
    addRows(sum, totals);
  // The next iteration writes where this one reads.
  if (!shared.empty())
    gpu::BarrierOp::create(b);
}

void FewRowsKernel::writeBody() {
  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  if (startsEarly) {
    lane::GridDependencyWaitOp::create(b);
    lane::LaunchDependentsOp::create(b);
  }
  findColumnsAndMatrices();
  findSums();
  Values start;
  for (const RowsSum &sum : rowsSums)
    start.append(sum.space.elements.size(), b.zero(b.getF32Type()));
  Value rowsPerIteration = b.index(form.rows);
  auto loop =
      scf::ForOp::create(b, b.index(0), rowCount, rowsPerIteration, start);
  auto splitUp = [&](ValueRange values) {
    SmallVector<Values> parts;
    for (const RowsSum &sum : rowsSums) {
      size_t count = sum.space.elements.size();
      parts.emplace_back(values.take_front(count));
      values = values.drop_front(count);
    }
    return parts;
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Values> sums = splitUp(loop.getRegionIterArgs());
    writeIteration(loop.getInductionVar(), sums);
    Values next;
    for (const Values &sum : sums)
      next.append(sum);
    // Without sums the loop has its end already.
    if (!next.empty())
      scf::YieldOp::create(b, next);
  }
  markLoop(loop);
  for (auto [sum, totals] :
       llvm::zip_equal(rowsSums, splitUp(loop.getResults())))
    storeSum(sum, totals);
}

void FewRowsKernel::convert() {
  makeKernel();
  addSharedMemory();
  OpBuilder at(op);
  Location loc = op.getLoc();
  b.setInsertionPointToEnd(&kernel.getBody().front());
  unsigned numOperands = op->getNumOperands();
  rowCount = arith::IndexCastOp::create(b, b.getIndexType(),
                                        kernel.getArgument(numOperands));
  for (unsigned i = 0; i < numOperands; ++i) {
    Value parameter = kernel.getArgument(i);
    if (int64_t distance = getDistance(op, i)) {
      auto type = cast<MemRefType>(parameter.getType());
      Value size = b.multiply(rowCount, distance);
      parameter = memref::ReinterpretCastOp::create(
          b,
          MemRefType::get({ShapedType::kDynamic}, type.getElementType(),
                          MemRefLayoutAttrInterface(), type.getMemorySpace()),
          parameter, b.getIndexAttr(0), ArrayRef<OpFoldResult>{size},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    }
    buffers.push_back(parameter);
  }
  writeBody();
  gpu::ReturnOp::create(b);

  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numOperands; ++i)
    arguments.push_back(
        toParameter(at, loc, op->getOperand(i),
                    cast<MemRefType>(kernel.getArgument(i).getType())));
  Value rows;
  if (hasOwnRows(op))
    rows = arith::ConstantIndexOp::create(at, loc, *op.getStaticRowCount());
  else
    rows = RowCountOp::create(at, loc, op.getRowBlock(), op.getRowRank());
  Value one = arith::ConstantIndexOp::create(at, loc, 1);
  for (Value count : {rows, one})
    arguments.push_back(
        arith::IndexCastOp::create(at, loc, at.getI64Type(), count));
  Value threads = arith::ConstantIndexOp::create(at, loc, form.threads);
  auto launch = gpu::LaunchFuncOp::create(
      at, loc, kernel, gpu::KernelDim3{one, one, one},
      gpu::KernelDim3{threads, one, one}, Value(), arguments);
  if (startsEarly)
    launch->setAttr(dependentLaunchAttr, at.getUnitAttr());
}
