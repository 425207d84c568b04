//===- LaneTransferOps.cpp - Verifiers of bytes in flight -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace lnbwd::lane;

/// Barriers that count bytes: so many `i64` of workgroup memory.
static LogicalResult verifyByteBarriers(Operation *op, Type barriers) {
  auto type = cast<MemRefType>(barriers);
  auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
  bool isShared = space && space.getValue() == gpu::AddressSpace::Workgroup;
  if (isShared && type.getRank() == 1 && type.hasStaticShape() &&
      type.getElementType().isInteger(64))
    return success();
  return op->emitOpError("expected barriers to be a memref of i64 in workgroup "
                         "memory, of rank 1 and a known size, got ")
         << type;
}

LogicalResult InitByteBarriersOp::verify() {
  return verifyByteBarriers(*this, getBarriers().getType());
}

LogicalResult ExpectBytesOp::verify() {
  if (int32_t(getBytes()) < 1)
    return emitOpError("expected bytes to be at least 1, got ")
           << int32_t(getBytes());
  return verifyByteBarriers(*this, getBarriers().getType());
}

LogicalResult AwaitBytesOp::verify() {
  return verifyByteBarriers(*this, getBarriers().getType());
}

LogicalResult SendToPeersOp::verify() {
  LayoutType layout = getLayout().getType();
  if (!layout.sharesRows())
    return emitOpError(
               "expected a layout whose workgroup has a fragment of the "
               "row's columns, got ")
           << layout;
  return verifyByteBarriers(*this, getBarriers().getType());
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

LogicalResult StartCopiesOp::verify() {
  LayoutType layout = getLayout().getType();
  ArrayRef<Type> elements = getStages().getType().getElements();
  if (getMemories().size() != elements.size())
    return emitOpError("expected a memory for each of the stages' ")
           << elements.size() << " elements, got " << getMemories().size();
  for (auto [memory, element] : llvm::zip_equal(getMemories(), elements)) {
    auto type = cast<MemRefType>(memory.getType());
    if (type.getRank() != 2 || type.getElementType() != element ||
        type.getDimSize(1) != layout.getRowLength())
      return emitOpError("expected a memref of rank 2 of ")
             << element << " whose last dimension is the layout's row_length, "
             << layout.getRowLength() << ", got " << type;
    if (type.getStridesAndOffset().first !=
        SmallVector<int64_t>{layout.getRowLength(), 1})
      return emitOpError("expected rows that lie side by side, got ") << type;
  }
  return success();
}

LogicalResult ReceiveOp::verify() {
  LayoutType layout = getLayout().getType();
  ArrayRef<Type> elements = getStages().getType().getElements();
  if (getFragments().size() != elements.size())
    return emitOpError("expected a result for each of the stages' ")
           << elements.size() << " elements, got " << getFragments().size();
  for (auto [fragment, element] : llvm::zip_equal(getFragments(), elements))
    if (failed(verifyFragment(*this, fragment.getType(), layout, element,
                              getAccess())))
      return failure();
  return success();
}
