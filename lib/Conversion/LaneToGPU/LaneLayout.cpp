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

/// Columns beyond the end are read at the last vector before it, and never
/// written.
static AccessColumns makeAccess(IndexBuilder &b, lane::LayoutOp op,
                                int64_t access, Value firstOfLane) {
  lane::LayoutType type = op.getLayout().getType();
  Value column = b.add(firstOfLane, access * type.getAccessColumns());
  auto getOwn = [&](Value column) -> Value {
    return op.getFirst() ? b.subtract(column, op.getFirst()) : column;
  };
  if (!type.mayExceed(access))
    return {column, column, getOwn(column), Value()};
  Value end = b.index(type.getCoveredColumns());
  if (type.mayExceedWorkgroup()) {
    Value behind = b.add(op.getFirst(), type.getColumns());
    end = type.mayExceedRow() ? arith::MinUIOp::create(b, end, behind) : behind;
  }
  Value inBounds = b.below(column, end);
  Value last = b.subtract(end, b.index(type.getWidth()));
  Value loadColumn = arith::MinUIOp::create(b, column, last);
  return {column, loadColumn, getOwn(loadColumn), inBounds};
}

/// `group`, which all lanes of a wave share, as the code generator can know it.
static Value makeUniform(IndexBuilder &b, Value group, const ChipInfo &chip) {
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), group);
  if (chip.hasScalarUnit)
    narrow = ROCDL::ReadfirstlaneOp::create(b, narrow.getType(), narrow);
  return arith::IndexCastOp::create(b, b.getIndexType(), narrow);
}

/// Which lane of which group this is, as numbers. A workgroup of `threads` may
/// have several times the layout's groups.
static LaneLayout makeGroup(IndexBuilder &b, lane::LayoutType type,
                            int64_t threads, const ChipInfo &chip) {
  LaneLayout layout{type, {}, {}, {}, {}};
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  bool isRepeated = threads >= 2 * type.getLanes() * type.getGroups();
  if (type.getGroups() == 1 && !isRepeated) {
    layout.lane = thread;
    layout.group = b.index(0);
    return layout;
  }
  Value inner = b.index(type.getAcross() ? type.getGroups() : type.getLanes());
  layout.lane = arith::RemUIOp::create(b, thread, inner);
  layout.group = arith::DivUIOp::create(b, thread, inner);
  if (type.getAcross())
    std::swap(layout.lane, layout.group);
  if (type.hasWavesOfOneRow(chip.waveSize))
    layout.group = makeUniform(b, layout.group, chip);
  if (isRepeated)
    layout.group = b.remainder(layout.group, type.getGroups());
  return layout;
}

/// A layout whose lanes are those of `around`, if that is given.
static LaneLayout makeLayout(lane::LayoutOp op, const LaneLayout *around,
                             int64_t threads, const ChipInfo &chip) {
  IndexBuilder b(op.getLoc(), op);
  lane::LayoutType type = op.getLayout().getType();
  LaneLayout layout{type, {}, {}, {}, {}};
  if (around)
    layout = {type, around->lane, around->group, {}, {}};
  else
    layout = makeGroup(b, type, threads, chip);
  layout.first = op.getFirst();
  Value column = layout.lane;
  if (type.getWidth() != 1)
    column = b.multiply(column, type.getWidth());
  if (op.getFirst())
    column = b.add(op.getFirst(), column);
  for (int64_t i = 0; i < type.getAccesses(); ++i)
    layout.accesses.push_back(makeAccess(b, op, i, column));
  return layout;
}

AccessColumns lnbwd::locateAccess(IndexBuilder &b, const LaneLayout &layout,
                                  int64_t access, Value row) {
  AccessColumns columns = layout.accesses[size_t(access)];
  lane::LayoutType type = layout.type;
  if (!type.isAligned())
    return columns;
  int64_t width = type.getWidth();
  Value shift = b.remainder(b.multiply(row, type.getRowLength()), width);
  if (type.mayExceed(access)) {
    Value last = b.divide(b.add(shift, type.getRowLength() - 1), width);
    columns.loadColumn =
        arith::MinUIOp::create(b, columns.loadColumn, b.multiply(last, width));
  }
  columns.column = b.subtract(columns.column, shift);
  columns.loadColumn = b.subtract(columns.loadColumn, shift);
  columns.ownColumn = columns.loadColumn;
  if (layout.first)
    columns.ownColumn = b.subtract(columns.ownColumn, layout.first);
  return columns;
}

/// In the memory that the launch asks for, operand after operand. All lanes see
/// the barriers prepared.
static Stages makeStages(lane::StagesOp op, gpu::GPUFuncOp kernel) {
  IndexBuilder b(op.getLoc(), op);
  lane::StagesType type = op.getStages().getType();
  Stages stages{
      lane::getStageLayout(op.getLayout().getType(), type.getElements()),
      {},
      {}};
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                               MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, bytes);
  int64_t offset = 0;
  for (auto [element, elementBytes] :
       llvm::zip_equal(type.getElements(), stages.stageLayout.elementBytes)) {
    int64_t size = stages.stageLayout.getBlocks() *
                   stages.stageLayout.getRoomBytes(elementBytes);
    auto ofStages =
        MemRefType::get({type.getCount(), size / elementBytes}, element,
                        MemRefLayoutAttrInterface(), space);
    stages.memories.push_back(memref::ViewOp::create(
        b, ofStages, memory, arith::ConstantIndexOp::create(b, offset),
        /*sizes=*/ValueRange()));
    offset += type.getCount() * size;
  }
  stages.barriers =
      lane::addWorkgroupMemory(kernel, type.getCount(), b.getI64Type());
  lane::InitByteBarriersOp::create(b, stages.barriers);
  lane::BarrierOp::create(b);
  return stages;
}

Places::Places(gpu::GPUFuncOp kernel, const ChipInfo &chip) : chip(chip) {
  // Places within loops have the lanes and groups of the kernel's own.
  SmallVector<LaneLayout> outer;
  auto blockSize = kernel.getKnownBlockSize();
  int64_t threads = blockSize ? blockSize->front() : 0;
  kernel.walk<WalkOrder::PreOrder>([&](lane::LayoutOp op) {
    lane::LayoutType type = op.getLayout().getType();
    const LaneLayout *around =
        llvm::find_if(outer, [&](const LaneLayout &layout) {
          return layout.type.getLanes() == type.getLanes() &&
                 layout.type.getGroups() == type.getGroups() &&
                 layout.type.getAcross() == type.getAcross();
        });
    LaneLayout layout =
        makeLayout(op, around != outer.end() ? around : nullptr, threads, chip);
    if (op->getParentOp() == kernel)
      outer.push_back(layout);
    layouts[op.getLayout()] = std::move(layout);
  });
  kernel.walk([&](lane::StagesOp op) {
    stages[op.getStages()] = makeStages(op, kernel);
  });
}
