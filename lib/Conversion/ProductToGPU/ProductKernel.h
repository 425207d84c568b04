//===- ProductKernel.h - What kernels of products share ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame of a kernel that makes a product of matrices, tile by tile, and its
// launch. How a tile is made, those who derive from it say.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTKERNEL_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTKERNEL_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/IR/IRMapping.h"

#include <memory>
#include <optional>

namespace lnbwd {

/// The epilogue or prologue of a product in its kernel: loads of what it reads,
/// and the operations of its region on as many neighbouring elements as a lane
/// has. The region is written for a row, and may be done to any part of it: its
/// operations are copied with shorter vectors.
///
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

/// A matrix as a kernel reads it: element (i, l) of A, or (j, l) of B, l being
/// what is summed over.
struct ProductSource {
  mlir::Value buffer;
  /// Whether l counts the columns of the buffer.
  bool isAlongRows;
  /// How many i or j, and l there are.
  mlir::Value size, depth;
  /// What is done to it while it is loaded; null for nothing.
  ProductRegion *prologue = nullptr;

  mlir::MemRefType getType() const {
    return mlir::cast<mlir::MemRefType>(buffer.getType());
  }
};

class ProductKernel {
public:
  virtual ~ProductKernel() = default;

  /// Writes the kernel, and its launch before the operation. Returns the number
  /// of kernels.
  unsigned convert();

protected:
  /// What a workgroup makes, how many parts of the sum there are and what of it
  /// is an iteration.
  struct Frame {
    int64_t threads, tileRows, tileColumns, splits, step;
    /// What matrix instructions multiply; null: there are none.
    mlir::Type multiplied = mlir::Type();
  };
  ProductKernel(ProductOp op, mlir::gpu::GPUModuleOp module, Frame frame)
      : op(op), sizes(op.getSizes()), module(module), frame(frame),
        b(op.getLoc(), op.getContext()) {}

  /// Adds the memory of the workgroup that the kernel needs; before anything
  /// else is in its body.
  virtual void addMemory() = 0;
  /// Writes the kernel's body, without its end.
  virtual void writeBody() = 0;
  /// Sums that lie side by side in a row of the result, a vector, and where:
  /// what the epilogue computes of the row's numbers alone, and what it has
  /// loaded of columns there, which may be null.
  struct ResultPiece {
    mlir::Value sums, row, column;
    const mlir::IRMapping *scalars;
    const llvm::SmallVector<mlir::Value> *columns;
  };
  /// Stores the pieces that the result has, or what the epilogue makes of them.
  /// What it loads for all of them is asked for first.
  void storePieces(llvm::ArrayRef<ResultPiece> pieces);
  /// Has what follows done where there are rows: of a matrix without any
  /// nothing may be loaded.
  void enterIfRows();

  ProductOp op;
  ProductOp::Sizes sizes;
  mlir::gpu::GPUModuleOp module;
  Frame frame;
  IndexBuilder b;
  mlir::gpu::GPUFuncOp kernel;

  // Of the body.
  /// Where the kernel has them.
  std::optional<ProductRegion> epilogue, prologue;
  ProductSource lhs, rhs;
  mlir::Value result;
  /// The result's sizes, and what is summed over.
  mlir::Value rows, columns, depth;
  mlir::Value thread;
  /// Where the workgroup's tile begins, and which part of the sum it is of.
  mlir::Value firstRow, firstColumn, part;

private:
  mlir::gpu::GPUFuncOp makeKernel(llvm::StringRef name, int64_t columnCount,
                                  int64_t threads, int64_t rowsOfWorkgroup,
                                  ProductLoopAttr loop,
                                  mlir::ValueRange buffers);
  mlir::gpu::KernelDim3 getGrid(mlir::OpBuilder &at, mlir::Value rowCount,
                                int64_t threads, int64_t tileRows,
                                int64_t tileColumns, int64_t parts);
  void writeKernel(mlir::ValueRange buffers);
  /// The epilogue in a kernel whose parameters from `first` on are its
  /// operands.
  void addEpilogue(mlir::gpu::GPUFuncOp function, size_t first,
                   mlir::Value rowCount, mlir::Value launched);
  /// The prologue, whose operands are the last parameters of buffers.
  void addPrologue(size_t first, mlir::Value launched);
  /// Operands of a region, parameters from `first` on; rows as `launched` says.
  ProductRegion::Buffers getRegionBuffers(mlir::gpu::GPUFuncOp function,
                                          size_t first, size_t numRows,
                                          size_t numColumns, size_t numScalars,
                                          int64_t rowCount,
                                          mlir::Value launched);
  void launch(mlir::OpBuilder &at, mlir::gpu::GPUFuncOp function,
              mlir::gpu::KernelDim3 grid, int64_t threads,
              mlir::ValueRange buffers, mlir::Value rowCount);
  void addSum(mlir::OpBuilder &at, mlir::Value parts, mlir::Value rowCount);
  void writeSum(mlir::gpu::GPUFuncOp function);
};

/// A kernel of matrix instructions, as the tiling of `op` has it, which was
/// checked for `chip`; without one, of fused multiply-adds.
std::unique_ptr<ProductKernel> makeProductKernel(ProductOp op,
                                                 mlir::gpu::GPUModuleOp module,
                                                 const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_PRODUCTKERNEL_H
