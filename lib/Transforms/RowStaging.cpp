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
//===----------------------------------------------------------------------===//

#include "RowKernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

/// Bytes of one row operand of a set.
static int64_t getSetBytes(RowwiseOp op, ScheduleAttr schedule, Value rows) {
  auto type = cast<ShapedType>(rows.getType());
  return schedule.getRowGroups() * op.getRowLength() *
         type.getElementTypeBitWidth() / 8;
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
  for (Value rowsOperand : op.getRows()) {
    auto element = cast<ShapedType>(rowsOperand.getType()).getElementType();
    auto type = MemRefType::get(
        {schedule.getStages(), schedule.getRowGroups(), op.getRowLength()},
        element, MemRefLayoutAttrInterface(), space);
    staging->buffers.push_back(memref::ViewOp::create(
        b, type, memory, index(offset), /*sizes=*/ValueRange()));
    offset += schedule.getStages() * getSetBytes(op, schedule, rowsOperand);
  }
  staging->barriers = addWorkgroupMemory(schedule.getStages(), b.getI64Type());
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
  ifTrue(isFirst, [&] { target.initCopyBarriers(b, staging->barriers); });
  gpu::BarrierOp::create(b);
}

/// Starts the copies of the set whose first row is `firstRow` into `stage`, if
/// there is such a set.
void RowKernelEmitter::startCopies(Value firstRow, Value stage) {
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
  ifTrue(both(isFirst, lessThan(firstRow, staging->end)), [&] {
    int64_t total = 0;
    for (Value rowsOperand : op.getRows())
      total += getSetBytes(op, schedule, rowsOperand);
    target.expectBytes(b, staging->barriers, stage,
                       arith::ConstantIntOp::create(b, total, 32));
    for (auto [i, rowsOperand] : llvm::enumerate(op.getRows())) {
      int64_t bytes = getSetBytes(op, schedule, rowsOperand);
      target.bulkCopy(b, staging->buffers[i], {stage, index(0), index(0)},
                      buffers[i], {firstRow, index(0)},
                      arith::ConstantIntOp::create(b, bytes, 32),
                      staging->barriers, stage);
    }
  });
}

/// Waits for the current stage and takes the lane's vectors out of it.
SmallVector<Value> RowKernelEmitter::receiveStaged() {
  target.waitForBytes(b, staging->barriers, staging->stage, staging->phase);
  SmallVector<Value> vectors;
  for (const Chunk &chunk : chunks)
    for (Value buffer : staging->buffers) {
      auto type = cast<MemRefType>(buffer.getType());
      int64_t bytes =
          schedule.getVectorWidth() * type.getElementTypeBitWidth() / 8;
      vectors.push_back(vector::LoadOp::create(
          b, laneVector(type.getElementType()), buffer,
          ValueRange{staging->stage, group, chunk.loadColumn},
          /*nontemporal=*/false, llvm::MaybeAlign(bytes)));
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
