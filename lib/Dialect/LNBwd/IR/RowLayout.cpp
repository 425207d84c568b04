//===- RowLayout.cpp - The rows of a buffer -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts rows, and measures how far they lie apart.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

std::optional<int64_t> lnbwd::multiplySizes(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

/// Elements from one row of `length` elements to the next.
static std::optional<int64_t> getStride(MemRefType type, size_t leading,
                                        int64_t length) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return std::nullopt;
  // The row itself is dense.
  ArrayRef<int64_t> shape = type.getShape();
  int64_t dense = 1;
  for (size_t i = strides.size(); i-- > leading; dense *= shape[i])
    if (shape[i] != 1 && strides[i] != dense)
      return std::nullopt;
  if (leading == 0)
    return length;
  // The innermost dimension with more than one row says how far they lie apart;
  // those around it must go on at the same distance; of a dynamic number of
  // rows the stride is dynamic, too. One row has any.
  std::optional<int64_t> stride;
  int64_t expected = 0;
  for (size_t i = leading; i-- > 0;) {
    if (shape[i] == 1)
      continue;
    if (!stride)
      stride = strides[i];
    else if (strides[i] != expected)
      return std::nullopt;
    bool isKnown =
        !ShapedType::isDynamic(shape[i]) && !ShapedType::isDynamic(strides[i]);
    expected = isKnown ? strides[i] * shape[i] : ShapedType::kDynamic;
  }
  if (!stride)
    stride = std::max(length, strides[leading - 1]);
  if (ShapedType::isDynamic(*stride) || *stride < length)
    return std::nullopt;
  return stride;
}

RowLayout lnbwd::getRowLayout(ShapedType type, int64_t rowRank) {
  size_t leading = size_t(type.getRank() - rowRank);
  RowLayout layout;
  layout.length =
      ShapedType::getNumElements(type.getShape().drop_front(leading));
  layout.count = multiplySizes(type.getShape().take_front(leading));
  auto memref = dyn_cast<MemRefType>(type);
  layout.stride = memref && !memref.getLayout().isIdentity()
                      ? getStride(memref, leading, layout.length)
                      : std::optional(layout.length);
  return layout;
}

std::optional<int64_t> lnbwd::getExtent(ShapedType type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!type.hasStaticShape())
    return std::nullopt;
  if (!memref || memref.getLayout().isIdentity())
    return type.getNumElements();
  SmallVector<int64_t> strides;
  int64_t offset = 0, extent = 1;
  if (failed(memref.getStridesAndOffset(strides, offset)) || offset != 0)
    return std::nullopt;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    int64_t distance = 0;
    if (ShapedType::isDynamic(stride) || stride < 1 ||
        llvm::MulOverflow(std::max<int64_t>(size, 1) - 1, stride, distance) ||
        llvm::AddOverflow(extent, distance, extent))
      return std::nullopt;
  }
  return extent;
}

bool lnbwd::hasOverlap(ShapedType type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset = 0, extent = 1;
  if (!memref || failed(memref.getStridesAndOffset(strides, offset)))
    return false;
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [stride, size] : llvm::zip_equal(strides, type.getShape()))
    dims.emplace_back(stride, size);
  llvm::sort(dims);
  for (auto [stride, size] : dims) {
    if (size > 1 && stride < extent)
      return true;
    extent += (size - 1) * stride;
  }
  return false;
}
