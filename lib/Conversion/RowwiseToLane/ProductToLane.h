//===- ProductToLane.h - Products of matrices as kernels --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_ROWWISETOLANE_PRODUCTTOLANE_H
#define LNBWD_LIB_CONVERSION_ROWWISETOLANE_PRODUCTTOLANE_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lnbwd {

/// Replaces a product by the launch of a kernel in `module`, which also does
/// what `epilogue` does, if there is one, at whose place it is. Says what is
/// wrong with a product that `chip` cannot multiply.
llvm::LogicalResult distributeProduct(ProductOp op, RowwiseOp epilogue,
                                      mlir::gpu::GPUModuleOp module,
                                      const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_ROWWISETOLANE_PRODUCTTOLANE_H
