//===- Utils.cpp - What passes over lanes share ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Lane/Utils.h"

#include "lnbwd/Analysis/RowAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

Value lane::makeNeutralPartial(ImplicitLocOpBuilder &b, bool isMaximum,
                               VectorType type) {
  if (!isMaximum)
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  float lowest = -std::numeric_limits<float>::infinity();
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, lowest));
}

/// Whether each element of an access to an aligned row is in it.
static Value makeInRow(ImplicitLocOpBuilder &b,
                       TypedValue<lane::LayoutType> layout, Value row,
                       int64_t access) {
  lane::LayoutType type = layout.getType();
  VectorType indices = type.getAccessType(b.getI32Type());
  Value columns = lane::ColumnIndexOp::create(b, indices, layout, row,
                                              b.getI64IntegerAttr(access));
  auto length = DenseElementsAttr::get(indices, int32_t(type.getRowLength()));
  // Columns before the row are negative, and so no less than its length.
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, columns,
                               arith::ConstantOp::create(b, length));
}

Value lane::makeTerm(ImplicitLocOpBuilder &b, TypedValue<LayoutType> layout,
                     Value row, int64_t access, bool isMaximum, Value value) {
  LayoutType type = layout.getType();
  if (!type.mayExceed(access) && !type.mayBePartial(access))
    return value;
  Value inBounds = type.isAligned()
                       ? makeInRow(b, layout, row, access)
                       : InBoundsOp::create(b, layout, access).getResult();
  return arith::SelectOp::create(
      b, inBounds, value,
      makeNeutralPartial(b, isMaximum, cast<VectorType>(value.getType())));
}

Value lane::combinePartials(ImplicitLocOpBuilder &b, bool isMaximum, Value lhs,
                            Value rhs) {
  if (isMaximum)
    return arith::MaximumFOp::create(b, lhs, rhs);
  return arith::AddFOp::create(b, lhs, rhs, arith::FastMathFlags::contract);
}

Value lane::takePart(ImplicitLocOpBuilder &b, Value vector, int64_t begin,
                     int64_t elements) {
  return vector::ExtractStridedSliceOp::create(b, vector, begin, elements,
                                               /*strides=*/1);
}

Value lane::combineElements(ImplicitLocOpBuilder &b, bool isMaximum,
                            Value vector) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  while (width > 1) {
    width /= 2;
    Value low = takePart(b, vector, 0, width);
    Value high = takePart(b, vector, width, width);
    vector = combinePartials(b, isMaximum, low, high);
  }
  return vector::ExtractOp::create(b, vector, 0);
}

Value lane::combineProducts(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  int64_t width = cast<VectorType>(lhs.getType()).getNumElements();
  int64_t step = std::min<int64_t>(width, 2);
  auto get = [&](Value vector, int64_t first) {
    return takePart(b, vector, first, step);
  };
  Value sum = arith::MulFOp::create(b, get(lhs, 0), get(rhs, 0));
  for (int64_t first = step; first < width; first += step)
    sum = math::FmaOp::create(b, get(lhs, first), get(rhs, first), sum);
  return sum;
}

Value lane::combineByHalves(ImplicitLocOpBuilder &b, bool isMaximum,
                            SmallVector<Value> values) {
  while (values.size() > 1) {
    size_t half = llvm::PowerOf2Ceil(values.size()) / 2;
    for (size_t i = half; i < values.size(); ++i)
      values[i - half] =
          combinePartials(b, isMaximum, values[i - half], values[i]);
    values.truncate(half);
  }
  return values.front();
}

Value lane::combineByPairs(ImplicitLocOpBuilder &b, bool isMaximum,
                           SmallVector<Value> values) {
  while (values.size() > 1) {
    size_t pairs = values.size() / 2;
    for (size_t i = 0; i < pairs; ++i)
      values[i] =
          combinePartials(b, isMaximum, values[2 * i], values[2 * i + 1]);
    if (values.size() % 2)
      values[pairs++] = values.back();
    values.truncate(pairs);
  }
  return values.front();
}

//===----------------------------------------------------------------------===//
// Workgroup memory
//===----------------------------------------------------------------------===//

MemRefType lane::getWorkgroupType(ArrayRef<int64_t> shape, Type element) {
  auto space = gpu::AddressSpaceAttr::get(
      element.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
}

Value lane::addWorkgroupMemory(gpu::GPUFuncOp kernel, int64_t elements,
                               Type element) {
  unsigned number = kernel.getNumWorkgroupAttributions();
  Value memory = kernel.addWorkgroupAttribution(
      getWorkgroupType(elements, element), kernel.getLoc());
  kernel.setWorkgroupAttributionAttr(
      number, LLVM::LLVMDialect::getAlignAttrName(),
      Builder(kernel.getContext()).getI64IntegerAttr(accessBytes));
  return memory;
}

llvm::MaybeAlign lane::getAccessAlignment(VectorType type) {
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return llvm::MaybeAlign(std::min(bytes, accessBytes));
}

StageLayout lane::getStageLayout(LayoutType layout, ArrayRef<Type> elements) {
  return {layout.getRowLength(), layout.getWorkgroupColumns(),
          layout.getGroups(), elements};
}
