//===- WorkgroupMemory.cpp - Memory that the lanes share ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lnbwd;

/// Bytes of the widest access of a lane.
static constexpr int64_t accessBytes = 16;

Value lane::addWorkgroupMemory(gpu::GPUFuncOp kernel, int64_t elements,
                               Type element) {
  Builder b(kernel.getContext());
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto type =
      MemRefType::get({elements}, element, MemRefLayoutAttrInterface(), space);
  unsigned number = kernel.getNumWorkgroupAttributions();
  Value memory = kernel.addWorkgroupAttribution(type, kernel.getLoc());
  kernel.setWorkgroupAttributionAttr(number,
                                     LLVM::LLVMDialect::getAlignAttrName(),
                                     b.getI64IntegerAttr(accessBytes));
  return memory;
}

llvm::MaybeAlign lane::getAccessAlignment(VectorType type) {
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return llvm::MaybeAlign(std::min(bytes, accessBytes));
}

StageLayout lane::getStageLayout(LayoutType layout, ArrayRef<Type> elements) {
  StageLayout stageLayout{
      layout.getRowLength(),
      std::min(layout.getRowLength(), layout.getWorkgroupColumns()),
      layout.getGroups(),
      {}};
  for (Type element : elements)
    stageLayout.elementBytes.push_back(element.getIntOrFloatBitWidth() / 8);
  return stageLayout;
}
