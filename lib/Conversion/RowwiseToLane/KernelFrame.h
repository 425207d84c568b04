//===- KernelFrame.h - What is around a kernel's body -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame around kernels: a GPU module for each function, a kernel with its
// bare parameters for each row program, and the launch in its place.
// RowwiseToLane.cpp writes the body of a row program, ProductToLane.cpp what a
// product has of its own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_KERNELFRAME_H
#define LNBWD_LIB_CONVERSION_KERNELFRAME_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace lnbwd {

/// A kernel whose body is to be written at the end of its entry block.
struct RowKernel {
  RowwiseOp op;
  mlir::gpu::GPUFuncOp function;
  /// A memref for each operand of `op`, with its true number of rows.
  llvm::SmallVector<mlir::Value> buffers;
  /// Of an operand that is a split row scalar, a memref for each part; of an
  /// output the one that the workgroup writes.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> parts;
  /// The number of rows, and of workgroups; index values.
  mlir::Value rows;
  mlir::Value workgroups;
};

/// Replaces each row program of `module` by a launch of a kernel for `chip`,
/// whose body `writeBody` writes; `replaceProduct` replaces a product. The
/// kernels are in the order of their launches. Says what is wrong with what
/// cannot be launched. Returns how many kernels there are.
mlir::FailureOr<unsigned> distributePrograms(
    mlir::ModuleOp module, const ChipInfo &chip,
    llvm::function_ref<void(const RowKernel &)> writeBody,
    llvm::function_ref<void(RowwiseOp, mlir::SymbolTable &)> replaceProduct);

/// Writes the kernel of a program that is a product, and before it the launch.
void distributeProduct(RowwiseOp op, mlir::SymbolTable &symbols,
                       const ChipInfo &chip);

/// Adds a kernel without its body, made of what `info` says, with parameters of
/// `types` and so many numbers of 64 bits.
mlir::gpu::GPUFuncOp addKernel(mlir::SymbolTable &symbols, mlir::Location loc,
                               llvm::SmallVector<mlir::Type> types,
                               unsigned numCounts, KernelInfoAttr info);

/// Launches `kernel` with `buffers` and `counts`, index values.
void addLaunch(IndexBuilder &b, mlir::gpu::GPUFuncOp kernel,
               mlir::ValueRange buffers, mlir::ValueRange counts,
               mlir::gpu::KernelDim3 grid, mlir::Value sharedBytes = {});

/// The type of a kernel's parameter for `buffer`: device memory of `shape`, the
/// first row of the buffer or all there is. How many rows there are is known
/// from the row count alone, and a static type is what makes the parameter a
/// bare pointer.
mlir::MemRefType getParameterType(mlir::Value buffer,
                                  llvm::ArrayRef<int64_t> shape);

/// Gives a parameter its true number of rows back, in the kernel: `count`,
/// which lie `stride` elements apart and begin with row `firstRow`, if that is
/// given. Of a row scalar in so many parts that is part `part`.
mlir::Value fromParameter(IndexBuilder &b, mlir::Value parameter,
                          mlir::OpFoldResult count, int64_t stride,
                          mlir::Value firstRow = {},
                          mlir::OpFoldResult part = {});

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_KERNELFRAME_H
