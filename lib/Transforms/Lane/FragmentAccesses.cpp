//===- FragmentAccesses.cpp - What accesses of fragments become -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements FragmentAccesses.h.
//
//===----------------------------------------------------------------------===//

#include "FragmentAccesses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

Value lnbwd::takeBlockMax(OpBuilder &b, BlockMaxOp op, ValueRange accesses,
                          int64_t accessColumns) {
  Location loc = op.getLoc();
  auto type = cast<VectorType>(accesses.front().getType());
  Value largest = accesses.front();
  for (Value access : accesses.drop_front())
    largest = arith::MaximumFOp::create(b, loc, largest, access);
  int64_t width = type.getNumElements(), size = int64_t(op.getSize());
  auto reduce = [&](Value own) -> Value {
    return vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXIMUMF,
                                       own);
  };
  SmallVector<Value> each;
  if (op.getStride() == 1 && size < width) {
    for (int64_t first = 0; first < width; first += size)
      each.append(size, reduce(vector::ExtractStridedSliceOp::create(
                            b, loc, largest, first, size, /*strides=*/1)));
    return vector::FromElementsOp::create(b, loc, type, each);
  }
  int64_t stride = std::max<int64_t>(1, int64_t(op.getStride()) / width);
  int64_t lanes = std::min(op.getSpan(), accessColumns) / width / stride;
  if (op.getStride() == 1)
    each.push_back(reduce(largest));
  else
    llvm::append_range(
        each, vector::ToElementsOp::create(b, loc, largest).getResults());
  for (Value &element : each)
    if (lanes > 1)
      element = gpu::SubgroupReduceOp::create(
          b, loc, element, gpu::AllReduceOperation::MAXIMUMF,
          /*uniform=*/true, uint32_t(lanes), uint32_t(stride));
  if (op.getStride() == 1)
    return vector::BroadcastOp::create(b, loc, type, each.front());
  return vector::FromElementsOp::create(b, loc, type, each);
}

SmallVector<int64_t> lnbwd::getAccessesAside(lane::StoreOp op) {
  SmallVector<int64_t> aside{0};
  auto memory = cast<MemRefType>(op.getMemory().getType());
  int64_t columns = op.getLayout().getType().getAccessColumns();
  for (int64_t count = op.countAccessesAside();
       int64_t(aside.size()) < count;) {
    int64_t bit = 1;
    while (lane::getStep(memory.getLayout().getAffineMap(), columns * bit) !=
           int64_t(aside.size()))
      bit *= 2;
    for (size_t i = 0, end = aside.size(); i < end; ++i)
      aside.push_back(aside[i] + bit);
  }
  return aside;
}

std::pair<SmallVector<int64_t>, SmallVector<int64_t>>
lnbwd::getSharedBits(lane::StoreOp op) {
  lane::LayoutType layout = op.getLayout().getType();
  int64_t columns = layout.getAccessColumns(), length = layout.getRowLength();
  AffineMap map =
      cast<MemRefType>(op.getMemory().getType()).getLayout().getAffineMap();
  if (!op.getMemory().getDefiningOp<lane::ViewOp>() || layout.isAligned() ||
      map.getNumResults() > 1 || !llvm::isPowerOf2_64(uint64_t(columns)) ||
      !llvm::isPowerOf2_64(uint64_t(length)) ||
      length != columns * layout.getAccesses())
    return {};
  SmallVector<int64_t> lanes, own;
  for (int64_t bit = 1; bit < length; bit *= 2) {
    std::optional<int64_t> step = lane::getStep(map, bit);
    if (!step)
      return {};
    bool isOfLanes = bit >= layout.getWidth() && bit < columns;
    if (isOfLanes == (*step == 0))
      (isOfLanes ? lanes : own).push_back(bit);
  }
  if (lanes.size() > own.size())
    return {};
  return {lanes, own};
}

std::pair<Value, SmallVector<Value>> lnbwd::shareView(lane::StoreOp op,
                                                      ArrayRef<int64_t> lanes,
                                                      ArrayRef<int64_t> own) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto indices = lane::ColumnIndexOp::create(
      b, VectorType::get({op.getLayout().getType().getWidth()}, b.getI32Type()),
      op.getLayout(), /*row=*/Value(), b.getI64IntegerAttr(0));
  Value index = vector::ExtractOp::create(b, indices, 0);
  auto view = op.getMemory().getDefiningOp<lane::ViewOp>();
  auto type = cast<MemRefType>(view.getView().getType());
  AffineMap map = type.getLayout().getAffineMap();
  AffineExpr column = b.getAffineDimExpr(map.getNumDims() - 1), moved = column;
  SmallVector<Value> hasBit;
  for (auto [bit, taken] : llvm::zip(lanes, own)) {
    moved = moved + column.floorDiv(bit) % 2 * taken;
    Value masked = arith::AndIOp::create(
        b, index, arith::ConstantIntOp::create(b, bit, /*width=*/32));
    hasBit.push_back(arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne, masked,
        arith::ConstantIntOp::create(b, 0, /*width=*/32)));
  }
  map = map.replace(column, moved, map.getNumDims(), /*numResultSyms=*/0);
  Value shared = lane::ViewOp::create(
      b,
      MemRefType(MemRefType::Builder(type).setLayout(AffineMapAttr::get(map))),
      view.getMemory(), view.getFirst());
  return {shared, hasBit};
}
