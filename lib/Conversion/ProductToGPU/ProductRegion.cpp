//===- ProductRegion.cpp - Regions of products in kernels -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region is written for a row, and may be done to any part of it: its
// operations are copied with shorter vectors.
//
//===----------------------------------------------------------------------===//

#include "ProductRegion.h"

#include "lnbwd/Dialect/LNBwd/IR/RowElements.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

Value ProductRegion::clampRow(Value row) {
  return b.smaller(row, b.subtract(rows, b.index(1)));
}

Value ProductRegion::clampColumn(Value column, int64_t width) {
  return b.smaller(column, b.index(columns - width));
}

Value ProductRegion::loadVector(Value buffer, ValueRange position,
                                int64_t width) {
  auto type = VectorType::get(
      {width}, cast<MemRefType>(buffer.getType()).getElementType());
  return vector::LoadOp::create(b, type, buffer, position,
                                /*nontemporal=*/false,
                                lane::getAccessAlignment(type));
}

SmallVector<Value> ProductRegion::loadColumns(Value column, int64_t width) {
  Value begin = clampColumn(column, width);
  return llvm::map_to_vector(buffers.columns, [&](Value buffer) {
    return loadVector(buffer, begin, width);
  });
}

SmallVector<Value> ProductRegion::loadRows(Value row, Value column,
                                           int64_t width) {
  SmallVector<Value> position{clampRow(row), clampColumn(column, width)};
  return llvm::map_to_vector(buffers.rows, [&](Value buffer) {
    return loadVector(buffer, position, width);
  });
}

void ProductRegion::copyOp(Operation &bodyOp, int64_t width,
                           IRMapping &mapping) {
  auto shorten = [&](Type type) -> Type {
    auto row = dyn_cast<VectorType>(type);
    return row ? VectorType::get({width}, row.getElementType()) : type;
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(bodyOp)) {
    TypedAttr value = constant.getValue();
    if (auto splat = dyn_cast<SplatElementsAttr>(value))
      value = splat.resizeSplat(cast<VectorType>(shorten(splat.getType())));
    mapping.map(constant.getResult(), arith::ConstantOp::create(b, value));
    return;
  }
  Operation *copy = b.clone(bodyOp, mapping);
  for (Value result : copy->getResults())
    result.setType(shorten(result.getType()));
}

SmallVector<Value> ProductRegion::loadScalars(Value row) {
  Value position = clampRow(row);
  return llvm::map_to_vector(buffers.scalars, [&](Value buffer) -> Value {
    return memref::LoadOp::create(b, buffer, position);
  });
}

IRMapping ProductRegion::computeScalars(ValueRange numbers) {
  IRMapping mapping;
  Block &body = region.front();
  for (auto [argument, number] :
       llvm::zip_equal(body.getArguments().take_back(numbers.size()), numbers))
    mapping.map(argument, number);
  for (Operation &bodyOp : body.without_terminator())
    if (!hasRows(bodyOp))
      copyOp(bodyOp, /*width=*/1, mapping);
  return mapping;
}

Value ProductRegion::apply(Value first, const IRMapping &scalars,
                           ValueRange rowVectors, ValueRange columnVectors) {
  IRMapping mapping = scalars;
  Block &body = region.front();
  int64_t width = cast<VectorType>(first.getType()).getNumElements();
  SmallVector<Value> vectors{first};
  llvm::append_range(vectors, rowVectors);
  llvm::append_range(vectors, columnVectors);
  for (auto [argument, vector] :
       llvm::zip(body.getArguments().take_front(vectors.size()), vectors))
    mapping.map(argument, vector);
  for (Operation &bodyOp : body.without_terminator())
    if (hasRows(bodyOp))
      copyOp(bodyOp, width, mapping);
  return mapping.lookup(cast<ProductYieldOp>(body.getTerminator()).getRow());
}
