//===- LowerLayoutConversions.cpp - Tiles of rows are transposed ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes exchange the fragments of a tile of rows through workgroup memory.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERLAYOUTCONVERSIONSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Bytes of the tile of a fragment with these elements.
static int64_t getTileBytes(lane::LayoutType layout, Type fragment) {
  return getTransposedBytes(
      layout.getWorkgroupColumns(), layout.getWidth(), layout.getGroups(),
      getElementTypeOrSelf(fragment).getIntOrFloatBitWidth() / 8);
}

/// The tile of `fragment` in `memory`, from byte `offset` on: its rows are the
/// workgroup's columns of the rows of `layout`.
static Value makeTile(IndexBuilder &b, Value memory, int64_t offset,
                      lane::LayoutType layout, Type fragment) {
  int64_t groups = layout.getGroups(), columns = layout.getWorkgroupColumns();
  int64_t pitch = getTransposedPitch(columns, layout.getWidth());
  Type element = getElementTypeOrSelf(fragment);
  Attribute space = cast<MemRefType>(memory.getType()).getMemorySpace();
  auto whole = MemRefType::get({groups, pitch}, element,
                               MemRefLayoutAttrInterface(), space);
  auto rows = MemRefType::get(
      {groups, columns}, element,
      StridedLayoutAttr::get(b.getContext(), /*offset=*/0, {pitch, 1}), space);
  Value view = memref::ViewOp::create(b, whole, memory, b.index(offset),
                                      /*sizes=*/ValueRange());
  return memref::ReinterpretCastOp::create(b, rows, view, /*offset=*/0,
                                           rows.getShape(),
                                           ArrayRef{pitch, int64_t(1)});
}

/// The layout of the lanes of `layout` in a tile.
static TypedValue<lane::LayoutType>
makeTileLayout(IndexBuilder &b, TypedValue<lane::LayoutType> layout) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(layout);
  lane::LayoutType type = layout.getType();
  return lane::LayoutOp::create(
      b,
      lane::LayoutType::get(b.getContext(), type.getWorkgroupColumns(),
                            type.getLanes(), type.getGroups(), type.getWidth(),
                            /*columns=*/0, /*span=*/0, type.getAcross()),
      /*first=*/Value());
}

/// What replaces the results of `op`, by way of `memory`.
static void lower(lane::ConvertLayoutOp op, Value memory) {
  IndexBuilder b(op.getLoc(), op);
  auto makeGroup = [&](Value layout) -> Value {
    return lane::GroupOp::create(b, b.getIndexType(), layout);
  };
  lane::LayoutType type = op.getTo().getType();
  SmallVector<Value> tiles;
  int64_t offset = 0;
  for (Type fragment : op.getFragments().getTypes()) {
    tiles.push_back(makeTile(b, memory, offset, type, fragment));
    offset += getTileBytes(type, fragment);
  }
  lane::BarrierOp::create(b);
  TypedValue<lane::LayoutType> from = makeTileLayout(b, op.getFrom());
  Value group = makeGroup(op.getFrom());
  for (auto [fragment, tile] : llvm::zip_equal(op.getFragments(), tiles))
    lane::StoreOp::create(b, fragment, tile, group, from, /*inBounds=*/Value(),
                          /*access=*/IntegerAttr(), /*element=*/IntegerAttr());
  lane::BarrierOp::create(b);
  TypedValue<lane::LayoutType> to = makeTileLayout(b, op.getTo());
  group = makeGroup(op.getTo());
  auto load = lane::LoadOp::create(b, op.getResultTypes(), tiles, group, to,
                                   /*access=*/IntegerAttr());
  op.replaceAllUsesWith(load.getFragments());
  op.erase();
}

namespace {
struct LowerLayoutConversions
    : lnbwd::impl::LowerLayoutConversionsPassBase<LowerLayoutConversions> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    SmallVector<lane::ConvertLayoutOp> all;
    int64_t most = 0;
    kernel.walk([&](lane::ConvertLayoutOp op) {
      all.push_back(op);
      int64_t bytes = 0;
      for (Type fragment : op.getFragments().getTypes())
        bytes += getTileBytes(op.getTo().getType(), fragment);
      most = std::max(most, bytes);
    });
    if (all.empty())
      return;
    Value memory = lane::addWorkgroupMemory(kernel, most,
                                            IntegerType::get(&getContext(), 8));
    for (lane::ConvertLayoutOp op : all)
      lower(op, memory);
    numLowered += unsigned(all.size());
  }
};
} // namespace
