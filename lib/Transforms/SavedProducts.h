//===- SavedProducts.h - Row sums of a product that was saved ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second sum of a normalisation's gradient in front of a linear layer, read
// off the layer's output.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_SAVEDPRODUCTS_H
#define LNBWD_LIB_TRANSFORMS_SAVEDPRODUCTS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// Rewrites row sums of `op` over a product with a transposed matrix as sums
/// before that product, where a value of `saved` has the forward product: with
/// y = W (v + d) + b, where d and b are the same in all rows, sum(W^T u * v) is
/// sum(u * (y - b - W d)). To be used while the region still computes the saved
/// values, rows of float32, and with the algebra of row sums done.
void useSavedProducts(RowwiseOp op, llvm::ArrayRef<mlir::Value> saved);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_SAVEDPRODUCTS_H
