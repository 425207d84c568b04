//===- StageMemory.cpp - Where stages lie ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace lnbwd;

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

/// The operands of the cast are the layout of the stages' rows, the memories
/// and the barriers.
std::optional<Stages> lnbwd::lookupStages(Value value) {
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  auto type = mlir::cast<lane::StagesType>(value.getType());
  size_t count = type.getElements().size();
  if (!cast || cast.getNumOperands() != count + 2)
    return std::nullopt;
  ValueRange parts(cast.getInputs());
  auto layout = mlir::cast<lane::LayoutType>(parts.front().getType());
  return Stages{lane::getStageLayout(layout, type.getElements()),
                SmallVector<Value>(parts.slice(1, count)), parts.back()};
}

void lnbwd::layOutStages(gpu::GPUFuncOp kernel) {
  SmallVector<lane::StagesOp> ops;
  kernel.walk([&](lane::StagesOp op) { ops.push_back(op); });
  for (lane::StagesOp op : ops) {
    Stages stages = makeStages(op, kernel);
    SmallVector<Value> parts{op.getLayout()};
    llvm::append_range(parts, stages.memories);
    parts.push_back(stages.barriers);
    IndexBuilder b(op.getLoc(), op);
    op.getStages().replaceAllUsesWith(
        UnrealizedConversionCastOp::create(b, op.getStages().getType(), parts)
            .getResult(0));
    op.erase();
  }
}
