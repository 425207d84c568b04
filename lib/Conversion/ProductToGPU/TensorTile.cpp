//===- TensorTile.cpp - Tiles that tensor copies bring --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor maps by tensormap.replace, copies by cp.async.bulk.tensor, and matrix
// descriptors, as the manual of PTX has them.
//
//===----------------------------------------------------------------------===//

#include "TensorTile.h"

#include "lnbwd/Analysis/ProductTiling.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lnbwd;

/// Elements, and rows of which all places of a block differ.
static constexpr int64_t boxElements = 64, swizzleRows = 8;
static constexpr unsigned genericSpace = 0, globalSpace = 1, sharedSpace = 3;

Value TensorTile::getI32(int64_t value) {
  return arith::ConstantIntOp::create(b, value, /*width=*/32);
}

Value TensorTile::getPointer(Value address) {
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), sharedSpace), number);
}

Value TensorTile::getLaunchedMemory() {
  auto type = MemRefType::get(
      {ShapedType::kDynamic}, b.getI8Type(), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(b.getContext(),
                                 gpu::GPUDialect::getWorkgroupAddressSpace()));
  Value memory = gpu::DynamicSharedMemoryOp::create(b, type);
  return memref::ExtractAlignedPointerAsIndexOp::create(b, memory);
}

void TensorTile::callOnMap(StringRef field, ValueRange arguments) {
  std::string name = ("llvm.nvvm.tensormap.replace." + field + ".p3").str();
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), arguments);
}

void TensorTile::makeMap(const Matrix &matrix, Value scratch, Value lane) {
  // Fields that are not written have to be 0.
  constexpr int64_t wordBytes = 4;
  LLVM::StoreOp::create(
      b, getI32(0), getPointer(b.add(scratch, b.multiply(lane, wordBytes))));
  Value all = getI32(-1);
  NVVM::SyncWarpOp::create(b, all);
  Value map = getPointer(scratch);
  const ProductSource &source = matrix.source;
  auto isFirst = scf::IfOp::create(b, b.less(lane, b.index(1)),
                                   /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isFirst.thenBlock());
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(b, source.buffer);
    address = arith::IndexCastOp::create(b, b.getI64Type(), address);
    // Rows are what goes across a row of the buffer; none may be empty.
    int64_t rowLength = source.getType().getDimSize(1);
    Value rowCount = source.isAlongRows ? source.size : source.depth;
    rowCount = arith::MaxSIOp::create(b, rowCount, b.index(1));
    rowCount = arith::IndexCastOp::create(b, b.getI32Type(), rowCount);
    constexpr int64_t elementBytes = 2, two = 1, tiled = 0, zeros = 0,
                      swizzle128 = 3, f16 = 6, bf16 = 10;
    callOnMap("global.address", {map, address});
    callOnMap("rank", {map, getI32(two)});
    int64_t boxRows = source.isAlongRows ? matrix.side : boxElements;
    Value inner = getI32(0), outer = getI32(1);
    callOnMap("box.dim", {map, inner, getI32(boxElements)});
    callOnMap("box.dim", {map, outer, getI32(boxRows)});
    callOnMap("global.dim", {map, inner, getI32(rowLength)});
    callOnMap("global.dim", {map, outer, rowCount});
    callOnMap("global.stride",
              {map, inner,
               arith::ConstantIntOp::create(b, rowLength * elementBytes, 64)});
    callOnMap("element.stride", {map, inner, getI32(1)});
    callOnMap("element.stride", {map, outer, getI32(1)});
    callOnMap("elemtype", {map, getI32(matrix.element.isF16() ? f16 : bf16)});
    callOnMap("interleave.layout", {map, getI32(tiled)});
    callOnMap("swizzle.mode", {map, getI32(swizzle128)});
    callOnMap("fill.mode", {map, getI32(zeros)});
  }
  NVVM::SyncWarpOp::create(b, all);
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), matrix.map);
  Value global = LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), globalSpace), number);
  // MLIR and LLVM 22 have neither an operation nor an intrinsic for it.
  NVVM::InlinePtxOp::create(
      b, TypeRange(), ValueRange{global, map}, ValueRange(),
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
      "gpu.sync.aligned [{$r0}], [{$r1}], 128;",
      /*predicate=*/Value());
  Value generic = LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), genericSpace), number);
  NVVM::FenceProxyAcquireOp::create(b, NVVM::MemScopeKind::GPU, generic,
                                    getI32(mapBytes));
}

void TensorTile::copy(const Matrix &matrix, Value first, Value depth,
                      Value place, Value barrier) {
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), matrix.map);
  Value map = LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), genericSpace), number);
  auto copyBox = [&](Value column, Value row, Value to) {
    Value coordinates[] = {
        arith::IndexCastOp::create(b, b.getI32Type(), column),
        arith::IndexCastOp::create(b, b.getI32Type(), row)};
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, getPointer(to), map, coordinates, barrier,
        /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true,
        NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
  };
  if (matrix.source.isAlongRows)
    return copyBox(depth, first, place);
  for (int64_t i = 0; i < matrix.side / boxElements; ++i)
    copyBox(b.add(first, i * boxElements), depth,
            b.add(place, i * boxElements * tileRowBytes));
}

Value TensorTile::getDescriptor(const Matrix &matrix, Value place) {
  // In units of 16 bytes: from 8 rows to the next, and between boxes.
  constexpr int64_t unit = 16, rowsApart = swizzleRows * tileRowBytes / unit,
                    boxesApart = boxElements * tileRowBytes / unit;
  constexpr unsigned leadingBit = 16, strideBit = 32, swizzleBit = 62;
  constexpr uint64_t swizzle128 = 1;
  uint64_t leading = matrix.source.isAlongRows ? 1 : uint64_t(boxesApart);
  uint64_t bits = leading << leadingBit | uint64_t(rowsApart) << strideBit |
                  swizzle128 << swizzleBit;
  Value number =
      arith::IndexCastOp::create(b, b.getI64Type(), b.divide(place, unit));
  return arith::OrIOp::create(
      b, number, arith::ConstantIntOp::create(b, int64_t(bits), 64));
}

Value TensorTile::advance(const Matrix &matrix, Value descriptor,
                          int64_t step) {
  constexpr int64_t unit = 16, steps = 16, elementBytes = 2;
  int64_t bytes =
      matrix.source.isAlongRows ? steps * elementBytes : steps * tileRowBytes;
  return arith::AddIOp::create(
      b, descriptor, arith::ConstantIntOp::create(b, step * bytes / unit, 64));
}
