//===- FewRowsValues.cpp - What a work-item computes ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a row program's region, as one work-item has them. Operations
// become those on single elements, one for each that it has.
//
//===----------------------------------------------------------------------===//

#include "FewRowsKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

/// Steps of all elements that are written out: each has two words in flight
/// to registers; of each element at least, and a power of two.
static constexpr int64_t writtenSteps = 32, leastSteps = 4;
/// Chains that long sums go by, whose additions need not wait for each other,
/// and how long they are.
static constexpr int64_t mostChains = 4, chainSteps = 8;

Value FewRowsKernel::multiplyAdd(Value x, Value y, Value added) {
  return math::FmaOp::create(b, x, y, added);
}

FewRowsKernel::Values FewRowsKernel::fold(int64_t depth, const Values &start,
                                          Step step, Combine combine) {
  int64_t chains = 1;
  while (combine && chains < mostChains && 2 * chains * chainSteps <= depth)
    chains *= 2;
  size_t count = start.size();
  Values values;
  for (int64_t chain = 0; chain < chains; ++chain)
    values.append(start);
  auto write = [&](Value first, int64_t steps, Values before) {
    for (int64_t l = 0; l < steps; ++l) {
      Value at = first ? b.add(first, l) : b.index(l);
      size_t chain = size_t(l % chains) * count;
      for (size_t i = 0; i < count; ++i)
        before[chain + i] = step(at, i, before[chain + i]);
    }
    return before;
  };
  int64_t iterationSteps = std::max(
      leastSteps, int64_t(llvm::bit_floor(uint64_t(writtenSteps) /
                                          std::max<size_t>(count, 1))));
  int64_t looped = depth <= iterationSteps ? 0 : depth / iterationSteps;
  if (looped) {
    Value step = b.index(iterationSteps),
          end = b.index(looped * iterationSteps);
    auto loop = scf::ForOp::create(b, b.index(0), end, step, values);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Values next = write(loop.getInductionVar(), iterationSteps,
                        llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
    scf::YieldOp::create(b, next);
    values.assign(loop.result_begin(), loop.result_end());
  }
  int64_t rest = depth - looped * iterationSteps;
  values = write(looped ? b.index(looped * iterationSteps) : Value(), rest,
                 std::move(values));
  Values results(values.begin(), values.begin() + int64_t(count));
  for (size_t chain = 1; chain < size_t(chains); ++chain)
    for (size_t i = 0; i < count; ++i)
      results[i] = combine(results[i], values[chain * count + i]);
  return results;
}

FewRowsKernel::Values FewRowsKernel::get(Value value, int64_t length) {
  auto &ofLength = known[length];
  auto place = ofLength.find(value);
  if (place != ofLength.end())
    return place->second;
  Values computed = compute(value, length);
  known[length][value] = computed;
  return computed;
}

FewRowsKernel::Values FewRowsKernel::loadInput(BlockArgument argument,
                                               int64_t length) {
  unsigned operand = argument.getArgNumber();
  RowSpace &space = getRowSpace(length);
  bool isRow = isa<VectorType>(argument.getType());
  int64_t distance = isRow ? op.getRowStride(operand) : 1;
  Values elements;
  for (auto [row, column] : llvm::zip_equal(space.bufferRows, space.columns)) {
    Value position = b.multiply(row, distance);
    if (isRow)
      position = b.add(position, column);
    elements.push_back(memref::LoadOp::create(b, buffers[operand], position));
  }
  return elements;
}

FewRowsKernel::Values FewRowsKernel::multiply(LinearOp product) {
  RowSpace &space = getRowSpace(product.getType().getDimSize(0));
  const Shared &row = shared[product.getRow()];
  const Shared &matrix = shared[product.getMatrix()];
  bool isTransposed = product.getTransposed();
  Values start(space.elements.size(), b.zero(b.getF32Type()));
  return fold(
      product.getRow().getType().getDimSize(0), start,
      [&](Value l, size_t i, Value before) {
        Value at = space.columns[i];
        Value element =
            loadShared(matrix, isTransposed ? l : at, isTransposed ? at : l);
        return multiplyAdd(loadShared(row, space.rows[i], l), element, before);
      },
      [&](Value x, Value y) {
        return arith::AddFOp::create(b, x, y).getResult();
      });
}

FewRowsKernel::Values FewRowsKernel::sumRow(Operation *sum, int64_t length) {
  Value row = getSummedRow(sum);
  RowSpace &space = getRowSpace(length);
  const Shared &from = shared[row];
  bool isMaximum = isRowMaximum(sum);
  auto combine = [&](Value x, Value y) -> Value {
    if (isMaximum)
      return arith::MaximumFOp::create(b, x, y);
    return arith::AddFOp::create(b, x, y);
  };
  float first = isMaximum ? -std::numeric_limits<float>::infinity() : 0;
  Value none = arith::ConstantOp::create(b, b.getF32FloatAttr(first));
  Values start(space.elements.size(), none);
  return fold(
      cast<VectorType>(row.getType()).getDimSize(0), start,
      [&](Value l, size_t i, Value before) {
        return combine(before, loadShared(from, space.rows[i], l));
      },
      combine);
}

FewRowsKernel::Values FewRowsKernel::compute(Value value, int64_t length) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return loadInput(argument, length);
  Operation *producer = value.getDefiningOp();
  size_t count = getRowSpace(length).elements.size();
  if (auto product = dyn_cast<LinearOp>(producer))
    return multiply(product);
  if (getSummedRow(producer))
    return sumRow(producer, length);
  if (auto spread = dyn_cast<vector::BroadcastOp>(producer))
    return get(spread.getSource(), length);
  if (auto constant = dyn_cast<arith::ConstantOp>(producer)) {
    TypedAttr attribute = constant.getValue();
    if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
      attribute = cast<TypedAttr>(splat.getSplatValue<Attribute>());
    return Values(count, arith::ConstantOp::create(b, attribute));
  }
  SmallVector<Values> operands;
  for (Value operand : producer->getOperands())
    operands.push_back(get(operand, length));
  Values results;
  for (size_t i = 0; i < count; ++i) {
    if (isa<vector::FMAOp>(producer)) {
      results.push_back(
          multiplyAdd(operands[0][i], operands[1][i], operands[2][i]));
      continue;
    }
    IRMapping mapping;
    for (auto [operand, elements] :
         llvm::zip_equal(producer->getOperands(), operands))
      mapping.map(operand, elements[i]);
    Operation *copy = b.clone(*producer, mapping);
    copy->getResult(0).setType(
        getElementTypeOrSelf(producer->getResult(0).getType()));
    results.push_back(copy->getResult(0));
  }
  return results;
}
