//===- AMDPatterns.cpp - What AMD's chips do in their own way -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace lnbwd;

/// AMD's chips pay for each request, also for what lanes side by side ask for
/// alike. The first group loads the columns, and the others read them from
/// workgroup memory.
static Lowered shareColumns(IndexBuilder &b, lane::LoadColumnsOp op,
                            const LaneOperands &layout) {
  size_t accesses = layout.accesses.size();
  if (op.getEach() || layout.type.getGroups() == 1)
    return failure();
  Value isFirstGroup = emitIsFirstGroup(b, layout);
  int64_t columns = layout.type.getAccessColumns();
  Value ofLane = b(layout.lane) * layout.type.getWidth();
  auto getSlot = [&](size_t access) -> Value {
    return b(ofLane) + int64_t(access) * columns;
  };
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  SmallVector<Value> shared;
  for (Value memory : op.getMemories())
    shared.push_back(
        lane::addWorkgroupMemory(kernel, int64_t(accesses) * columns,
                                 getElementTypeOrSelf(memory.getType())));
  auto share = [&] {
    for (auto [source, target] : llvm::zip_equal(op.getMemories(), shared))
      for (size_t c = 0; c < accesses; ++c) {
        VectorType type =
            layout.type.getAccessType(getElementTypeOrSelf(source.getType()));
        Value slot = getSlot(c);
        emitStore(b,
                  emitLoad(b, type, layout.getBuffer(source),
                           layout.accesses[c].loadColumn),
                  target, slot);
      }
  };
  b.when(isFirstGroup, share);
  lane::BarrierOp::create(b);
  SmallVector<Value> loaded(op.getNumResults());
  for (size_t c = 0; c < accesses; ++c)
    for (auto [i, memory] : llvm::enumerate(shared))
      loaded[i * accesses + c] = emitLoad(
          b, layout.type.getAccessType(getElementTypeOrSelf(memory.getType())),
          memory, getSlot(c));
  return loaded;
}

/// gpu.barrier would wait for stores to device memory, and empty a cache.
static Lowered lowerBarrierToLDS(IndexBuilder &b, lane::BarrierOp,
                                 const LaneOperands &) {
  amdgpu::LDSBarrierOp::create(b);
  return Values();
}

/// Loads `type` from the elements of `memory` that begin with the one that
/// `begin` numbers, `offset` after it; where that is not below `count`, the
/// load is dropped: no memory is asked for, and the result may not be used.
/// `begin` and `count` are the same in all lanes of a wave. A buffer load,
/// whose descriptor has the bounds.
static Value emitLoadPredicated(IndexBuilder &b, Type type, Value memory,
                                Value begin, Value count, Value offset) {
  auto source = cast<MemRefType>(memory.getType());
  Type element = source.getElementType();
  int64_t elementBytes = source.getElementTypeBitWidth() / 8;
  auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic,
                                       /*strides=*/{1});
  auto elements = MemRefType::get({ShapedType::kDynamic}, element, layout,
                                  source.getMemorySpace());
  Value part = memref::ReinterpretCastOp::create(
      b, elements, memory,
      OpFoldResult(emitOffsetInAllocation(b, memory, begin)),
      ArrayRef<OpFoldResult>{OpFoldResult(count)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  Value bytes =
      arith::IndexCastOp::create(b, b.getI64Type(), b(count) * elementBytes);
  Value bounded = amdgpu::FatRawBufferCastOp::create(
      b, part, bytes, /*cacheSwizzleStride=*/Value(), /*boundsCheck=*/true,
      /*resetOffset=*/true);
  return emitLoad(b, type, bounded, offset);
}

/// The same of row `group` of the tile that begins with row `tile`, of which
/// the first `count` rows are in bounds; of a row at `column`.
static Value emitRowLoadPredicated(IndexBuilder &b, Type type,
                                   const Buffer &memory, Value tile,
                                   Value count, Value group,
                                   Value column = {}) {
  // Of a view whose rows are not those of the kernel, all is in bounds.
  MemRefLayoutAttrInterface layout = memory.type.getLayout();
  bool hasRows =
      !isa<AffineMapAttr>(layout) || (layout.getAffineMap().getResult(0) ==
                                          getAffineDimExpr(0, b.getContext()) &&
                                      !memory.first);
  Value row = hasRows ? group : b(tile) + group;
  SmallVector<Value> indices{row};
  if (column)
    indices.push_back(column);
  return emitLoadBy(
      b, type, memory, indices,
      [&](Type type, Value buffer, ValueRange place) -> Value {
        if (!hasRows) {
          Value size =
              b.index(cast<MemRefType>(buffer.getType()).getNumElements());
          Value inBounds = b(group) < count;
          Value offset = b.select(inBounds, place.front(), size);
          return emitLoadPredicated(b, type, buffer, b.index(0), size, offset);
        }
        int64_t stride = getStride(buffer);
        Value offset = b(place.front()) * stride;
        if (column)
          offset = b(offset) + place.back();
        Value size = b(count) * stride, begin = b(tile) * stride;
        return emitLoadPredicated(b, type, buffer, begin, size, offset);
      });
}

static Lowered lowerLoadPredicated(IndexBuilder &b, lane::LoadPredicatedOp op,
                                   const LaneOperands &layout) {
  // An access to an aligned row may begin before the tile: no descriptor has
  // its bounds.
  if (layout.type.isAligned())
    return failure();
  Value column = layout.accesses[*op.getAccess()].loadColumn;
  SmallVector<Value> loaded;
  for (auto [memory, part] :
       llvm::zip_equal(op.getMemories(), op.getFragments()))
    loaded.push_back(emitRowLoadPredicated(
        b, part.getType(), layout.getBuffer(memory), op.getTile(),
        op.getCount(), layout.group, column));
  return loaded;
}

/// Once a wave where that has but one row: its other lanes' loads are dropped
/// as well.
static Lowered lowerLoadScalarPredicated(IndexBuilder &b,
                                         lane::LoadScalarPredicatedOp op,
                                         const LaneOperands &layout) {
  Value group = layout.group;
  if (layout.type.hasWavesOfOneRow(layout.converter.chip.waveSize)) {
    Value laneInWave = b(layout.lane) % layout.converter.chip.waveSize;
    Value isFirst = b(laneInWave) == 0;
    group = b.select(isFirst, group, b.index(layout.type.getGroups()));
  }
  return Values{emitRowLoadPredicated(b, op.getScalar().getType(),
                                      layout.getBuffer(op.getMemory()),
                                      op.getTile(), op.getCount(), group)};
}

/// From the first lane of the wave where that has but one row.
static Lowered lowerBroadcastScalar(IndexBuilder &b, lane::BroadcastScalarOp op,
                                    const LaneOperands &layout) {
  Value value = op.getScalar();
  Type type = value.getType();
  if (!layout.type.hasWavesOfOneRow(layout.converter.chip.waveSize))
    return Values{value};
  // Bytes have no registers of their own.
  bool isByte = type.isInteger(8);
  if (isByte)
    value = arith::ExtUIOp::create(b, b.getI32Type(), value);
  value = ROCDL::ReadfirstlaneOp::create(b, value.getType(), value);
  if (isByte)
    value = arith::TruncIOp::create(b, type, value);
  return Values{value};
}

/// AMD's chips have no instruction for it: caches bring to memory what they
/// hold.
static Lowered eraseDiscard(IndexBuilder &, lane::DiscardOp,
                            const LaneOperands &) {
  return Values();
}

void lnbwd::populateLaneToAMDPatterns(RewritePatternSet &patterns,
                                      const LaneTypeConverter &converter) {
  addLanePatterns<shareColumns, lowerBarrierToLDS>(patterns, converter,
                                                   /*benefit=*/2);
  addLanePatterns<lowerLoadPredicated, lowerLoadScalarPredicated,
                  lowerBroadcastScalar, eraseDiscard>(patterns, converter);
}
