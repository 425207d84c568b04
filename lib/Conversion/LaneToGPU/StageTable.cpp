//===- StageTable.cpp - Where stages lie, in numbers ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageTable.h"

#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace lnbwd;

/// In the memory that the launch asks for, operand after operand. All lanes see
/// the barriers prepared.
static Stages makeStages(lane::StagesOp op, gpu::GPUFuncOp kernel) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  lane::StagesType type = op.getStages().getType();
  Stages stages{
      lane::getStageLayout(op.getPlace().getType(), type.getElements()),
      {},
      {}};
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                               MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, bytes);
  int64_t offset = 0;
  for (auto [element, elementBytes] :
       llvm::zip_equal(type.getElements(), stages.layout.elementBytes)) {
    int64_t size =
        stages.layout.getBlocks() * stages.layout.getCopyBytes(elementBytes);
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

StageTable::StageTable(gpu::GPUFuncOp kernel) {
  kernel.walk([&](lane::StagesOp op) {
    table.try_emplace(op.getStages(), makeStages(op, kernel));
  });
}

const Stages &StageTable::lookup(Value stages) const {
  auto found = table.find(stages);
  assert(found != table.end() && "stages are made by lane.stages alone");
  return found->second;
}

void StageTable::eraseStages() {
  for (auto &[stages, memory] : table)
    if (stages.use_empty())
      stages.getDefiningOp()->erase();
  table.clear();
}
