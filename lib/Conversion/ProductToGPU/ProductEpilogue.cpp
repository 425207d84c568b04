//===- ProductEpilogue.cpp - What is done to sums -------------------------===//
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

#include "ProductEpilogue.h"

#include "lnbwd/Dialect/LNBwd/IR/RowElements.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

ProductEpilogue::ProductEpilogue(IndexBuilder &b, ProductOp op,
                                 ValueRange buffers, Value rows)
    : b(b), op(op), rows(rows) {
  size_t numRows = op.getEpilogueRows().size();
  size_t numColumns = op.getEpilogueColumns().size();
  llvm::append_range(rowBuffers, buffers.take_front(numRows));
  llvm::append_range(columnBuffers, buffers.slice(numRows, numColumns));
  llvm::append_range(scalarBuffers, buffers.drop_front(numRows + numColumns));
}

Value ProductEpilogue::clampRow(Value row) {
  return b.smaller(row, b.subtract(rows, b.index(1)));
}

Value ProductEpilogue::clampColumn(Value column, int64_t width) {
  return b.smaller(column, b.index(op.getSizes().columns - width));
}

Value ProductEpilogue::loadVector(Value buffer, ValueRange position,
                                  int64_t width) {
  auto type = VectorType::get(
      {width}, cast<MemRefType>(buffer.getType()).getElementType());
  return vector::LoadOp::create(b, type, buffer, position,
                                /*nontemporal=*/false,
                                lane::getAccessAlignment(type));
}

SmallVector<Value> ProductEpilogue::loadColumns(Value column, int64_t width) {
  Value begin = clampColumn(column, width);
  return llvm::map_to_vector(columnBuffers, [&](Value buffer) {
    return loadVector(buffer, begin, width);
  });
}

SmallVector<Value> ProductEpilogue::loadRows(Value row, Value column,
                                             int64_t width) {
  SmallVector<Value> position{clampRow(row), clampColumn(column, width)};
  return llvm::map_to_vector(rowBuffers, [&](Value buffer) {
    return loadVector(buffer, position, width);
  });
}

void ProductEpilogue::copyOp(Operation &bodyOp, int64_t width,
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
  copy->setLoc(b.getLoc());
  for (Value result : copy->getResults())
    result.setType(shorten(result.getType()));
}

IRMapping ProductEpilogue::computeScalars(Value row) {
  IRMapping mapping;
  Block &body = op.getEpilogue().front();
  auto arguments = body.getArguments().take_back(scalarBuffers.size());
  Value position = clampRow(row);
  for (auto [argument, buffer] : llvm::zip_equal(arguments, scalarBuffers)) {
    Value number = memref::LoadOp::create(b, buffer, position);
    mapping.map(argument, number);
  }
  for (Operation &bodyOp : body.without_terminator())
    if (!hasRows(bodyOp))
      copyOp(bodyOp, /*width=*/1, mapping);
  return mapping;
}

Value ProductEpilogue::apply(Value sums, const IRMapping &scalars,
                             ValueRange rowVectors, ValueRange columnVectors) {
  IRMapping mapping = scalars;
  Block &body = op.getEpilogue().front();
  int64_t width = cast<VectorType>(sums.getType()).getNumElements();
  SmallVector<Value> vectors{sums};
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
