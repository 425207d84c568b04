//===- StableExponentials.h - Quotients without overflow --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quotient such as x / (1 + exp(-x)) is finite where an exponential in it is
// not; the derivatives of its parts are not: they multiply 0 by infinity. What
// is here writes such quotients so that all of their parts stay finite.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_STABLEEXPONENTIALS_H
#define LNBWD_LIB_GRADIENTALGEBRA_STABLEEXPONENTIALS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace lnbwd {

/// Whether the exponential of `value`, a float32 row or scalar, is known not to
/// overflow, from the operations that compute it.
bool isSmallExponent(mlir::Value value);

/// exp(u), if `numerator` is 1 and `divisor` 1 + exp(u) in float32: the
/// quotient is right wherever exp(u) overflows. Null otherwise.
mlir::Value getLogisticExponential(mlir::Value numerator, mlir::Value divisor);

/// Rewrites in straight-line code each quotient whose denominator is a sum with
/// exponentials that may overflow, and each logarithm of such a sum, where one
/// of the exponentials is `active`, that is, has a derivative. All terms of
///
///     (a exp(u) + b) / (c exp(v) + d)
///
/// are multiplied by exp(-m), m the largest of 0, u and v:
///
///     (a exp(u - m) + b exp(-m)) / (c exp(v - m) + d exp(-m))
///
/// and log(c exp(v) + d) is m + log(c exp(v - m) + d exp(-m)). The value does
/// not depend on m, which therefore counts as a constant (`lnbwd.detach`).
///
/// a / (1 + exp(v)) without an exponential in a needs no m: it becomes the
/// product of a and 1 / (1 + exp(v)).
void stabiliseExponentials(mlir::Block &block,
                           const llvm::DenseSet<mlir::Value> &active);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_STABLEEXPONENTIALS_H
