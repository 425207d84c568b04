//===- ProductRegion.h - Regions of products in kernels ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue or prologue of a product in its kernel: loads of what it reads,
// and the operations of its region on as many neighbouring elements as a lane
// has.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTREGION_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTREGION_H

#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"

#include "mlir/IR/IRMapping.h"

namespace lnbwd {

/// Of an epilogue the matrix is the result, of a prologue the operand.
/// Positions that the matrix does not have are moved to where it ends, so that
/// loads need no branches; it has a row.
class ProductRegion {
public:
  /// Parameters of the kernel for the region's operands, in their order.
  struct Buffers {
    llvm::SmallVector<mlir::Value> rows, columns, scalars;
  };
  /// `rows`, `columns`: how many its matrix has.
  ProductRegion(IndexBuilder &b, mlir::Region &region, const Buffers &buffers,
                mlir::Value rows, int64_t columns)
      : b(b), region(region), buffers(buffers), rows(rows), columns(columns) {}

  /// The numbers of `row`, and what the region computes of them alone.
  llvm::SmallVector<mlir::Value> loadScalars(mlir::Value row);
  mlir::IRMapping computeScalars(mlir::ValueRange numbers);
  mlir::IRMapping computeScalars(mlir::Value row) {
    return computeScalars(loadScalars(row));
  }
  /// `width` elements of each column, and of each row block in `row`.
  llvm::SmallVector<mlir::Value> loadColumns(mlir::Value column, int64_t width);
  llvm::SmallVector<mlir::Value> loadRows(mlir::Value row, mlir::Value column,
                                          int64_t width);
  /// What the region makes of `first`, a vector of its first argument.
  mlir::Value apply(mlir::Value first, const mlir::IRMapping &scalars,
                    mlir::ValueRange rowVectors,
                    mlir::ValueRange columnVectors);

  mlir::ValueRange getColumnBuffers() const { return buffers.columns; }
  mlir::ValueRange getScalarBuffers() const { return buffers.scalars; }

private:
  mlir::Value loadVector(mlir::Value buffer, mlir::ValueRange position,
                         int64_t width);
  mlir::Value clampRow(mlir::Value row);
  mlir::Value clampColumn(mlir::Value column, int64_t width);
  void copyOp(mlir::Operation &bodyOp, int64_t width, mlir::IRMapping &mapping);

  IndexBuilder &b;
  mlir::Region &region;
  Buffers buffers;
  mlir::Value rows;
  int64_t columns;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTREGION_H
