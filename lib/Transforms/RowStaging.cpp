//===- RowStaging.cpp - Rows that come through workgroup memory -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of RowKernelEmitter that keeps several sets of rows on their way
// into workgroup memory. One thread starts a bulk copy for each row operand of
// a set, whose rows lie side by side; all lanes wait for the bytes, take their
// vectors, and after the next barrier of the workgroup the stage is free for
// the set that comes `stages` sets later.
//
// A copy begins where 16 bytes begin. Rows of other lengths are copied from the
// last such place before the set to the first behind it, and the lanes look for
// their columns as many elements further on.
//
//===----------------------------------------------------------------------===//

#include "RowKernelEmitter.h"

#include "lnbwd/Transforms/ScheduleLimits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

static int64_t getElementBytes(Value buffer) {
  return cast<ShapedType>(buffer.getType()).getElementTypeBitWidth() / 8;
}

/// Lays the stages out in the memory that the launch asks for, and prepares
/// their barriers.
void RowKernelEmitter::startStaging() {
  staging.emplace();
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                               MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, bytes);
  int64_t offset = 0;
  int64_t blocks = getStageBlocks(schedule);
  for (Value rowsOperand : op.getRows()) {
    auto element = cast<ShapedType>(rowsOperand.getType()).getElementType();
    int64_t size = blocks * getCopyBytes(op, schedule, rowsOperand);
    auto type = MemRefType::get(
        {schedule.getStages(), size / getElementBytes(rowsOperand)}, element,
        MemRefLayoutAttrInterface(), space);
    staging->buffers.push_back(memref::ViewOp::create(
        b, type, memory, index(offset), /*sizes=*/ValueRange()));
    offset += schedule.getStages() * size;
  }
  staging->barriers = addWorkgroupMemory(schedule.getStages(), b.getI64Type());
  ifTrue(isFirstThread(),
         [&] { target.initByteBarriers(b, staging->barriers); });
  target.barrier(b);
}

/// How many elements the set's first lies behind the copy's first, which is the
/// last before it that begins a unit. Null if there is no such distance.
Value RowKernelEmitter::getShift(unsigned operand, Value firstRow) {
  if (!needsShift(op, schedule))
    return {};
  Value first = mulIndex(firstRow, op.getRowLength());
  int64_t unit = bulkCopyUnit / getElementBytes(op.getRows()[operand]);
  return arith::RemUIOp::create(b, first, index(unit));
}

/// Starts the copies of the set whose first row is `firstRow` into `stage`, if
/// there is such a set.
void RowKernelEmitter::startCopies(Value firstRow, Value stage) {
  ifTrue(both(isFirstThread(), lessThan(firstRow, staging->end)), [&] {
    target.expectBytes(
        b, staging->barriers, stage,
        arith::ConstantIntOp::create(b, getStageBytes(op, schedule), 32));
    int64_t blocks = getStageBlocks(schedule);
    for (auto [i, rowsOperand] : llvm::enumerate(op.getRows())) {
      int64_t bytes = getCopyBytes(op, schedule, rowsOperand);
      Value column = slice ? sliceBegin : index(0);
      if (Value shift = getShift(i, firstRow))
        column = arith::SubIOp::create(b, column, shift);
      for (int64_t block = 0; block < blocks; ++block) {
        Value place = index(block * bytes / getElementBytes(rowsOperand));
        Value row = block ? addIndex(firstRow, index(block)) : firstRow;
        target.bulkCopy(b, staging->buffers[i], {stage, place}, buffers[i],
                        {row, column},
                        arith::ConstantIntOp::create(b, bytes, 32),
                        staging->barriers, stage);
      }
    }
  });
}

/// Waits for the current stage and takes the lane's vectors out of it.
SmallVector<Value> RowKernelEmitter::receiveStaged() {
  target.waitForBytes(b, staging->barriers, staging->stage, staging->phase);
  SmallVector<Value> begins;
  for (size_t i = 0; i < staging->buffers.size(); ++i) {
    Value begin = mulIndex(group, getWorkgroupColumns(op, schedule));
    if (Value shift = getShift(i, staging->firstRow))
      begin = addIndex(begin, shift);
    begins.push_back(begin);
  }
  SmallVector<Value> vectors;
  for (const Chunk &chunk : chunks)
    for (auto [buffer, begin] : llvm::zip_equal(staging->buffers, begins)) {
      auto type = cast<MemRefType>(buffer.getType());
      int64_t bytes =
          schedule.getVectorWidth() * type.getElementTypeBitWidth() / 8;
      vectors.push_back(pack(vector::LoadOp::create(
          b, laneVector(type.getElementType()), buffer,
          ValueRange{staging->stage, addIndex(begin, chunk.sliceColumn)},
          /*nontemporal=*/false, llvm::MaybeAlign(bytes))));
    }
  return vectors;
}

/// Starts the copies of the set that comes `stages` sets later. Only behind a
/// barrier of the workgroup.
void RowKernelEmitter::refillStage() {
  Value ahead = mulIndex(staging->step, schedule.getStages());
  startCopies(addIndex(staging->firstRow, ahead), staging->stage);
  staging->refilled = true;
}
