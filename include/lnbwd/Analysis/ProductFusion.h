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

/// Bytes that go to and from device memory in one form and in the other, for
/// each launch, as far as they differ.
struct FusionBytes {
  double apart, fused;
};

/// Of `program`, elementwise, as the epilogue of `product` on `chip`, for so
/// many rows M (0: unknown).
FusionBytes getEpilogueBytes(ProductOp product, RowwiseOp program,
                             const ChipInfo &chip, int64_t rows);

/// Whether `program` is better the epilogue of `product` than a kernel of its
/// own. Bytes decide on AMD's chips, where nothing was measured, and on
/// NVIDIA's for matrices of 16-bit elements whose rows are whole blocks of 16
/// bytes; there fewer bytes were measured to be faster.
bool isEpilogueFaster(ProductOp product, RowwiseOp program,
                      const ChipInfo &chip, int64_t rows);

/// The numbers of each row, of float32, that the elements of the one row block
/// that `program` writes need of row sums. Empty where it is elementwise.
/// Given them, it is.
llvm::SmallVector<mlir::Value> getRowNumbers(RowwiseOp program);

/// How often the tiles of `product` on `chip`, for so many rows M (0: unknown),
/// read its row operand, and would do a prologue to it.
int64_t countOperandReads(ProductOp product, const ChipInfo &chip,
                          int64_t rows);

/// Of `program`, or of what is elementwise in it, as the prologue of `product`.
/// Then a program of its own reads the rows for the numbers that the others
/// need of row sums.
FusionBytes getPrologueBytes(ProductOp product, RowwiseOp program,
                             const ChipInfo &chip, int64_t rows);

/// Whether `program`, or what is elementwise in it, is better the prologue of
/// `product` than a kernel of its own: on AMD's chips, but for those whose
/// fragments take twice the registers, where fewer bytes go through memory and
/// the operand is read so few times that doing it again is less work than those
/// bytes are. Nothing of it was measured.
bool isPrologueFaster(ProductOp product, RowwiseOp program,
                      const ChipInfo &chip, int64_t rows);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_PRODUCTFUSION_H
