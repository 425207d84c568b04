//===- LaneLayout.cpp - Where lanes stand and stages lie, in numbers ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace lnbwd;

/// The numbers of an access whose first column is `column`. Columns beyond the
/// end are read at the last vector before it, and never written.
static Values locateColumns(IndexBuilder &b, lane::LayoutOp op, int64_t access,
                            Value column) {
  lane::LayoutType type = op.getLayout().getType();
  if (!type.mayExceed(access))
    return {column, column, arith::ConstantIntOp::create(b, 1, /*width=*/1)};
  Value end = b.index(type.getCoveredColumns());
  if (type.mayExceedWorkgroup()) {
    Value behind = b(op.getFirst()) + type.getColumns();
    end = type.mayExceedRow() ? b.atMost(end, behind) : behind;
  }
  Value inBounds = b(column) < end;
  Value last = b(end) - type.getWidth();
  return {column, b.atMost(column, last), inBounds};
}

/// `group`, which all lanes of a wave share, as the code generator can know it.
static Value makeUniform(IndexBuilder &b, Value group, const ChipInfo &chip) {
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), group);
  if (chip.hasScalarUnit)
    narrow = ROCDL::ReadfirstlaneOp::create(b, narrow.getType(), narrow);
  return arith::IndexCastOp::create(b, b.getIndexType(), narrow);
}

/// The numbers of lane and group. A workgroup of `threads` may have several
/// times the layout's groups.
static Values makeGroup(IndexBuilder &b, lane::LayoutType type, int64_t threads,
                        const ChipInfo &chip) {
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  bool isRepeated = threads >= 2 * type.getLanes() * type.getGroups();
  if (type.getGroups() == 1 && !isRepeated)
    return {thread, b.index(0)};
  Value inner = b.index(type.getAcross() ? type.getGroups() : type.getLanes());
  Value lane = b(thread) % inner, group = b(thread) / inner;
  if (type.getAcross())
    std::swap(lane, group);
  if (type.hasWavesOfOneRow(chip.waveSize))
    group = makeUniform(b, group, chip);
  if (isRepeated)
    group = b(group) % type.getGroups();
  return {lane, group};
}

/// Lane and group are the same in all of the kernel: of a layout within a loop
/// they are computed before it.
static Lowered lowerLayout(IndexBuilder &b, lane::LayoutOp op,
                           const LaneOperands &operands) {
  lane::LayoutType type = op.getLayout().getType();
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  auto blockSize = kernel.getKnownBlockSize();
  if (op->getParentOp() != kernel)
    b.setInsertionPointToStart(&kernel.getBody().front());
  Values numbers = makeGroup(b, type, blockSize ? blockSize->front() : 0,
                             operands.converter.chip);
  b.setInsertionPoint(op);
  Value column = b(numbers.front()) * type.getWidth();
  numbers.push_back(op.getFirst() ? Value(op.getFirst()) : b.index(0));
  if (op.getFirst())
    column = b(op.getFirst()) + column;
  for (int64_t i = 0; i < type.getAccesses(); ++i)
    llvm::append_range(
        numbers,
        locateColumns(b, op, i, b(column) + i * type.getAccessColumns()));
  return numbers;
}

LaneLayout::LaneLayout(lane::LayoutType type, ValueRange numbers)
    : type(type), lane(numbers[0]), group(numbers[1]),
      first(type.sharesRows() ? numbers[2] : Value()) {
  for (int64_t i = 0; i < type.getAccesses(); ++i) {
    ValueRange access = numbers.slice(size_t(3 * i + 3), 3);
    accesses.push_back(
        {access[0], access[1], type.mayExceed(i) ? access[2] : Value()});
  }
}

AccessColumns lnbwd::locateAccess(IndexBuilder &b, const LaneLayout &layout,
                                  int64_t access, Value row) {
  AccessColumns columns = layout.accesses[size_t(access)];
  lane::LayoutType type = layout.type;
  if (!type.isAligned())
    return columns;
  int64_t width = type.getWidth();
  Value shift = b(row) * type.getRowLength() % width;
  if (type.mayExceed(access)) {
    Value last = (b(shift) + (type.getRowLength() - 1)) / width;
    columns.loadColumn = b.atMost(columns.loadColumn, b(last) * width);
  }
  columns.column = b(columns.column) - shift;
  columns.loadColumn = b(columns.loadColumn) - shift;
  return columns;
}

/// In the memory that the launch asks for. All lanes see the barriers prepared.
static Lowered lowerStages(IndexBuilder &b, lane::StagesOp op,
                           const LaneOperands &) {
  Value memory = gpu::DynamicSharedMemoryOp::create(
      b, lane::getWorkgroupType(ShapedType::kDynamic, b.getI8Type()));
  Value barriers = lane::addWorkgroupMemory(
      op->getParentOfType<gpu::GPUFuncOp>(),
      op.getStages().getType().getCount(), b.getI64Type());
  lane::InitByteBarriersOp::create(b, barriers);
  lane::BarrierOp::create(b);
  return Values{memory, barriers};
}

static Lowered lowerView(IndexBuilder &, lane::ViewOp op,
                         const LaneOperands &) {
  return Values(op->getOperands());
}

LaneTypeConverter::LaneTypeConverter(gpu::GPUFuncOp kernel,
                                     const ChipInfo &chip)
    : chip(chip) {
  addConversion([](Type type) { return type; });
  addConversion([](lane::LayoutType type, SmallVectorImpl<Type> &types) {
    Builder b(type.getContext());
    types.append(3, b.getIndexType());
    for (int64_t i = 0; i < type.getAccesses(); ++i)
      types.append({b.getIndexType(), b.getIndexType(), b.getI1Type()});
    return success();
  });
  addConversion([](lane::StagesType type, SmallVectorImpl<Type> &types) {
    Builder b(type.getContext());
    types.append({lane::getWorkgroupType(ShapedType::kDynamic, b.getI8Type()),
                  lane::getWorkgroupType(type.getCount(), b.getI64Type())});
    return success();
  });
  // The type of a view does not say of what it is: what has replaced it does.
  addConversion(
      [](Value value,
         SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
        auto replaced = value.getDefiningOp<UnrealizedConversionCastOp>();
        if (!replaced || !isa<MemRefType>(value.getType()))
          return std::nullopt;
        llvm::append_range(types, replaced.getInputs().getTypes());
        return success();
      });
  kernel.walk([&](lane::StagesOp op) {
    lane::StagesType type = op.getStages().getType();
    stageBytes +=
        type.getCount() *
        lane::getStageLayout(op.getLayout().getType(), type.getElements())
            .getStageBytes();
  });
}

void lnbwd::populateLanePlacesToGPUPatterns(
    RewritePatternSet &patterns, const LaneTypeConverter &converter) {
  addLanePatterns<lowerLayout, lowerStages, lowerView>(patterns, converter);
}
