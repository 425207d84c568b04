//===- Differentiate.h - The gradient of a row program ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse mode on one row program: the programs that compute its gradient.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_GRADIENTALGEBRA_DIFFERENTIATE_H
#define LNBWD_GRADIENTALGEBRA_DIFFERENTIATE_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace lnbwd {

class RowSimplifier;

/// Which gradients are wanted, by the names of a program's operands. The
/// options of lnbwd-differentiate (Passes.td) say what they mean.
struct GradientOptions {
  llvm::ArrayRef<std::string> wrt, of, saved;
  bool simplify = true;
  /// Whether row scalars are statistics, which are saved if `saved` is empty.
  bool savesStatistics = false;
};

/// Two operands of the gradient's programs that have to be one buffer: what one
/// program writes and a later one reads.
struct CarriedBuffer {
  mlir::Value written, read;
};

/// Whether `forward` has what `options` name, and the gradients of that are row
/// programs. Says what it found otherwise.
llvm::LogicalResult checkDifferentiable(RowwiseOp forward,
                                        const GradientOptions &options);

/// Writes the gradient of `forward`, which is checked, at the insertion point:
/// one program, or several where elements that are the largest are counted.
/// `makeBuffer` makes a buffer for each operand, of which some may stay unused,
/// and the programs may have operands that they do not need. Fails, with an
/// error that names the operation, if one has no derivative.
mlir::FailureOr<llvm::SmallVector<CarriedBuffer>>
writeGradient(mlir::RewriterBase &rewriter, RowwiseOp forward,
              const GradientOptions &options, const RowSimplifier &simplifier,
              llvm::function_ref<mlir::Value(mlir::Type)> makeBuffer);

} // namespace lnbwd

#endif // LNBWD_GRADIENTALGEBRA_DIFFERENTIATE_H
