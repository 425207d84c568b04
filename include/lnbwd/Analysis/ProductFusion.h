//===- ProductFusion.h - When a product takes a row program -----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of the forms, a kernel of a product with what is before or after it or
// one of each, is expected to be the faster one.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_PRODUCTFUSION_H
#define LNBWD_ANALYSIS_PRODUCTFUSION_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// Whether an elementwise program is better the epilogue of `product` than a
/// kernel of its own: on AMD's chips, where nothing was measured, and on
/// NVIDIA's for matrices of 16-bit elements whose rows are whole blocks of 16
/// bytes, where it was.
bool isEpilogueFaster(ProductOp product, const ChipInfo &chip);

/// The numbers of each row, of float32, that the elements of the one row block
/// that `program` writes need of row sums. Empty where it is elementwise.
/// Given them, it is.
llvm::SmallVector<mlir::Value> getRowNumbers(RowwiseOp program);

/// Whether `program`, or what is elementwise in it, is better the prologue of
/// `product`, for so many rows M (0: unknown), than a kernel of its own: on
/// AMD's chips, but for those whose fragments take twice the registers, where
/// the operand is read so few times that making it again is less work than
/// writing it. Nothing of it was measured.
bool isPrologueFaster(ProductOp product, RowwiseOp program,
                      const ChipInfo &chip, int64_t rows);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_PRODUCTFUSION_H
