//===- FewRowsKernel.h - A row program in one workgroup ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the kernel of a row program that one workgroup takes, and its launch.
//
// A work-item has the same elements of all rows of one length: what is
// elementwise stays in its registers. What another work-item needs goes through
// workgroup memory: the operands of products, of row sums, and of sums over the
// rows. Of a row's numbers each work-item that needs one computes it, from the
// row in workgroup memory.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_FEWROWSTOGPU_FEWROWSKERNEL_H
#define LNBWD_LIB_CONVERSION_FEWROWSTOGPU_FEWROWSKERNEL_H

#include "../ProductToGPU/IndexBuilder.h"

#include "lnbwd/Analysis/FewRows.h"

#include <map>

namespace lnbwd {

class FewRowsKernel {
public:
  FewRowsKernel(RowwiseOp op, FewRowsForm form, mlir::gpu::GPUModuleOp module,
                const ChipInfo &chip)
      : op(op), form(form), module(module),
        startsEarly(chip.workgroups.hasDependentLaunch),
        b(op.getLoc(), op.getContext()) {}

  /// Writes the kernel, and its launch before the operation.
  void convert();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  /// Elements that the work-items share out among them.
  struct Space {
    /// Those of a work-item. Where it has fewer than others, the last one
    /// again: what comes of it is not kept.
    Values elements;
    /// Whether it has them; null where that is sure.
    Values exist;
  };
  /// The elements of the rows of one length.
  struct RowSpace : Space {
    /// Of each element: its row among those of the iteration and in the
    /// buffers, its column, and whether element and row exist.
    Values rows, bufferRows, columns, rowsExist;
  };
  /// A row block, or a matrix, in workgroup memory.
  struct Shared {
    mlir::Value memory;
    int64_t stride;
  };
  /// A sum over the rows: an outer or a column sum.
  struct RowsSum {
    unsigned output;
    Space space;
    /// Elements of the result's rows; 0 of a column sum.
    int64_t columns;
    llvm::SmallVector<OuterTerm> terms;
  };

  void makeKernel();
  void addSharedMemory();
  void writeBody();
  void findColumnsAndMatrices();
  void findSums();
  /// Some rows, which begin with `firstRow`; adds them to `sums`.
  void writeIteration(mlir::Value firstRow, mlir::MutableArrayRef<Values> sums);
  void shareRow(mlir::Value row);
  void shareMatrices();
  void storeRows();
  void addRows(const RowsSum &sum, Values &totals);
  void storeSum(const RowsSum &sum, mlir::ValueRange totals);

  Space makeSpace(int64_t count);
  RowSpace &getRowSpace(int64_t length);
  /// A value of the region, for each of a work-item's elements of rows of
  /// `length`: an element, or the row's number.
  Values get(mlir::Value value, int64_t length);
  Values compute(mlir::Value value, int64_t length);
  Values loadInput(mlir::BlockArgument argument, int64_t length);
  Values multiply(LinearOp product);
  Values sumRow(mlir::Operation *sum, int64_t length);

  using Step = llvm::function_ref<mlir::Value(mlir::Value l, size_t i,
                                              mlir::Value before)>;
  using Combine = llvm::function_ref<mlir::Value(mlir::Value x, mlir::Value y)>;
  /// For each i, step(depth - 1, i, ... step(0, i, start[i])). With `combine`,
  /// long ones go by several chains, each of which begins with `start`.
  Values fold(int64_t depth, const Values &start, Step step,
              Combine combine = nullptr);

  mlir::Value toFloat(mlir::Value value);
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value added);
  mlir::Value loadShared(const Shared &from, mlir::Value row,
                         mlir::Value column);
  void storeWhere(mlir::Value condition, mlir::Value value, mlir::Value memory,
                  mlir::Value position);

  RowwiseOp op;
  FewRowsForm form;
  mlir::gpu::GPUModuleOp module;
  /// Launches overlap: the kernel starts before the one before it has ended,
  /// waits for it, and lets the next one start.
  bool startsEarly;
  IndexBuilder b;
  mlir::gpu::GPUFuncOp kernel;

  /// Each operand as one dimension, from its first element.
  Values buffers;
  mlir::Value rowCount, thread;
  llvm::DenseMap<mlir::Value, Shared> shared;
  llvm::SmallVector<RowsSum> rowsSums;
  /// The elements of matrices that a work-item brings to workgroup memory.
  llvm::SmallVector<std::pair<Space, Values>> matrices;

  // Of an iteration.
  mlir::Value iterationRow;
  std::map<int64_t, RowSpace> rowSpaces;
  std::map<int64_t, llvm::DenseMap<mlir::Value, Values>> known;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_FEWROWSTOGPU_FEWROWSKERNEL_H
