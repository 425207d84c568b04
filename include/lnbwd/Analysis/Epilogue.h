//===- Epilogue.h - Row programs in kernels of products ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which row programs are epilogues: what they compute is computed in the kernel
// of the product that they read, where its sums are in registers.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_EPILOGUE_H
#define LNBWD_ANALYSIS_EPILOGUE_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// The product whose epilogue `program` is; null if it has a kernel of its own.
///
/// An epilogue has no schedule. It is elementwise, of dense buffers, and has
/// one output, a row block. The product's result is a buffer that was allocated
/// for it, that `program` alone reads. The product is computed where the
/// program is, so that neither matrix may be written between the two. Of
/// several such products it is the first.
ProductOp findProductOfEpilogue(RowwiseOp program);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_EPILOGUE_H
