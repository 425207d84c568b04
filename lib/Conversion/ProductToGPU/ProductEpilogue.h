//===- ProductEpilogue.h - What is done to sums ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a product in its kernel: loads of what it reads, and the
// operations of its region on as many neighbouring elements as a lane has.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTEPILOGUE_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTEPILOGUE_H

#include "IndexBuilder.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"

#include "mlir/IR/IRMapping.h"

namespace lnbwd {

/// Positions that the result does not have are moved to where it ends, so that
/// loads need no branches; it has a row.
class ProductEpilogue {
public:
  /// `buffers`: parameters of the kernel for the epilogue's operands, in their
  /// order. `rows`: how many there are.
  ProductEpilogue(IndexBuilder &b, ProductOp op, mlir::ValueRange buffers,
                  mlir::Value rows);

  /// What the region computes of the numbers of `row` alone.
  mlir::IRMapping computeScalars(mlir::Value row);
  /// `width` elements of each column, and of each row block in `row`.
  llvm::SmallVector<mlir::Value> loadColumns(mlir::Value column, int64_t width);
  llvm::SmallVector<mlir::Value> loadRows(mlir::Value row, mlir::Value column,
                                          int64_t width);
  /// What the output gets where the product is `sums`, a vector.
  mlir::Value apply(mlir::Value sums, const mlir::IRMapping &scalars,
                    mlir::ValueRange rowVectors,
                    mlir::ValueRange columnVectors);

private:
  mlir::Value loadVector(mlir::Value buffer, mlir::ValueRange position,
                         int64_t width);
  mlir::Value clampRow(mlir::Value row);
  mlir::Value clampColumn(mlir::Value column, int64_t width);
  void copyOp(mlir::Operation &bodyOp, int64_t width, mlir::IRMapping &mapping);

  IndexBuilder &b;
  ProductOp op;
  llvm::SmallVector<mlir::Value> rowBuffers, columnBuffers, scalarBuffers;
  mlir::Value rows;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTEPILOGUE_H
