//===- RowPrograms.h - What passes over row programs begin with -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which programs a pass takes, and how it cleans up behind itself.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWPROGRAMS_H
#define LNBWD_LIB_TRANSFORMS_ROWPROGRAMS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace lnbwd {

/// The row programs below `root` that `isTaken` says are, in their order; where
/// it fails, it has reported why.
mlir::FailureOr<llvm::SmallVector<RowwiseOp>>
collectPrograms(mlir::Operation *root,
                llvm::function_ref<mlir::FailureOr<bool>(RowwiseOp)> isTaken);

/// The canonicalisations of `Ops`: they drop what was left in copies of row
/// programs and nothing needs.
template <typename... Ops>
mlir::FrozenRewritePatternSet getCanonicalizations(mlir::MLIRContext *context) {
  mlir::RewritePatternSet patterns(context);
  (Ops::getCanonicalizationPatterns(patterns, context), ...);
  return mlir::FrozenRewritePatternSet(std::move(patterns));
}

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWPROGRAMS_H
