//===- RowLayout.h - The rows of a buffer -----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// M, N and the distance between rows, from a type alone: the verifiers, the
// choice of a schedule, the launch plan and the report ask here, so that rows
// are the same ones to all of them, whatever the dimensions they come in.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_ROWLAYOUT_H
#define LNBWD_DIALECT_LNBWD_IR_ROWLAYOUT_H

#include "mlir/IR/BuiltinTypeInterfaces.h"

#include <cstdint>
#include <optional>

namespace lnbwd {

/// The rows of a row block.
struct RowLayout {
  /// N: the product of the dimensions of a row.
  int64_t length;
  /// M: the product of the dimensions before them; nothing where one of those
  /// is dynamic, or the product is beyond 64 bits.
  std::optional<int64_t> count;
  /// Elements from one row to the next, if each row is dense and the rows lie
  /// at one distance from each other, known now and no shorter than a row.
  /// Dimensions of size 1 have no say, whatever their strides are.
  std::optional<int64_t> stride;
};

/// The product of sizes; nothing where one is dynamic, or it is beyond 64 bits.
std::optional<int64_t> multiplySizes(llvm::ArrayRef<int64_t> sizes);

/// The rows of a value of type `type`, a tensor or memref of at least `rowRank`
/// dimensions, the last `rowRank` of which are static and make up a row.
RowLayout getRowLayout(mlir::ShapedType type, int64_t rowRank);

/// The number of elements from the first of a buffer to its last; nothing where
/// the type does not say it: a size or stride is dynamic, or there is an
/// offset.
std::optional<int64_t> getExtent(mlir::ShapedType type);

/// Whether elements of a buffer that has an extent may be in one place.
bool hasOverlap(mlir::ShapedType type);

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_ROWLAYOUT_H
