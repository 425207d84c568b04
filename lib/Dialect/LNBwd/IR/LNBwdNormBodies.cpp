//===- LNBwdNormBodies.cpp - The formulas of the named operations ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of each named operation: its formula for one row. A new operation of
// the family is a declaration in LNBwdNorms.td and a body here. What several
// formulas have in common is a function on rows.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

namespace {

/// The normalised rows, (x - mean) * rstd (LayerNorm) or x * rstd, and what is
/// known of x.
struct Statistics {
  Value mean;
  Value xhat;
  Value rstd;
};

/// Those of the row `x` of float32: saved if they are there, or else computed.
///
/// The first sum gives the mean, rounded; what is left of the mean in the
/// centred row is summed with its squares and taken off again. So the variance
/// is that of small numbers, and a mean beside which the deviations are small
/// costs them nothing. Textbooks leave this out.
class StatisticsBuilder {
public:
  StatisticsBuilder(RowBuilder &b, RowBody &body)
      : b(b), body(body), length(body.getRowLength()),
        overN(b.constant(1.0 / double(length))),
        epsilon(b.constant(body.getEpsilon())), textbook(body.isTextbook()) {}

  Statistics get(Value x) {
    Value mean = body.get(Role::Mean), rstd = body.get(Role::Rstd);
    if (!rstd)
      return body.hasMean() ? compute(x) : computeAroundZero(x);
    // The negated mean is added: packed float32 has additions only.
    Value centred = mean ? b.add(x, b.spread(b.negate(mean))) : x;
    return {mean, b.mul(centred, b.spread(rstd)), rstd};
  }

private:
  Statistics compute(Value x) {
    Value sum = b.rowSum(x);
    Value mean = b.mul(sum, overN);
    Value centred = b.add(x, b.spread(b.negate(mean)));
    if (textbook) {
      Value rstd = rstdOf(b.mul(b.rowSum(b.mul(centred, centred)), overN));
      return {mean, b.mul(centred, b.spread(rstd)), rstd};
    }
    Value left = b.mul(b.rowSum(centred), overN);
    Value squares = b.rowSum(b.mul(centred, centred));
    Value square = b.mul(squares, overN);
    // Not below 0 by rounding.
    Value zero = b.constant(0.0);
    Value less = b.negate(b.mul(left, left));
    Value difference = b.add(divide(squares, square), less);
    Value variance = b.select(b.less(zero, difference), difference, zero);
    // (centred - left) * rstd, rounded once.
    Value rstd = rstdOf(markOverflow(square, variance));
    Value scale = b.spread(rstd);
    Value shift = b.spread(b.mul(b.negate(left), rstd));
    return {chooseMean(sum, mean, left, rstd), b.fma(centred, scale, shift),
            rstd};
  }
  Statistics computeAroundZero(Value x) {
    Value square = b.mul(b.rowSum(b.mul(x, x)), overN);
    Value rstd = rstdOf(textbook ? square : markOverflow(square, square));
    return {Value(), b.mul(x, b.spread(rstd)), rstd};
  }

  /// `sum` / N, of which `estimate` is the product with 1/N: without the
  /// rounding of 1/N. Both finite.
  Value divide(Value sum, Value estimate) {
    if (llvm::isPowerOf2_64(uint64_t(length)))
      return estimate;
    Value remainder = b.fma(estimate, b.constant(-double(length)), sum);
    return b.fma(remainder, overN, estimate);
  }
  /// `variance`, but NaN where `square` is infinite: its reciprocal root would
  /// make numbers of a row that nobody can tell from right ones.
  Value markOverflow(Value square, Value variance) {
    return b.fma(square, b.constant(0.0), variance);
  }
  /// The mean to save. Where it is small beside the deviations, the elements of
  /// x are much coarser than it is, x - mean is rounded alike in all that are
  /// of a size, and `left` is mostly the sum of those roundings: the first sum
  /// is better then. One lane of a row computes this: few operations, lest
  /// NVIDIA's assembler makes them a branch, which all of the row wait for.
  Value chooseMean(Value sum, Value mean, Value left, Value rstd) {
    Value size = b.abs(b.mul(sum, rstd));
    Value isSmall = b.less(size, b.constant(0.25 * double(length)));
    return b.add(mean, b.select(isSmall, b.constant(0.0), left));
  }
  Value rstdOf(Value variance) { return b.rsqrt(b.add(variance, epsilon)); }

  RowBuilder &b;
  RowBody &body;
  int64_t length;
  Value overN;
  Value epsilon;
  bool textbook;
};

} // namespace

//===----------------------------------------------------------------------===//
// Forward passes
//===----------------------------------------------------------------------===//

/// x, with the residual where there is one.
static Value addResidual(RowBuilder &b, RowBody &body) {
  Value x = b.widen(body.get(Role::X));
  if (Value residual = body.get(Role::Residual))
    return b.add(x, b.widen(residual));
  return x;
}

/// gamma * row + beta, of what there is of gamma and beta.
static Value applyColumns(RowBuilder &b, RowBody &body, Value row) {
  Value gamma = body.get(Role::Gamma);
  Value beta = body.get(Role::Beta);
  if (gamma) {
    gamma = b.widen(gamma);
    row = body.isGammaZeroCentred() ? b.add(b.mul(gamma, row), row)
                                    : b.mul(gamma, row);
  }
  return beta ? b.add(row, b.widen(beta)) : row;
}

/// The normalised rows and their statistics.
static void setNormalised(RowBuilder &b, RowBody &body, Value sum,
                          const Statistics &statistics) {
  if (body.wants(Role::Y))
    body.set(Role::Y, applyColumns(b, body, statistics.xhat));
  body.set(Role::Sum, sum);
  body.set(Role::Mean, statistics.mean);
  body.set(Role::Rstd, statistics.rstd);
}

void bodies::norm(RowBuilder &b, RowBody &body) {
  Value sum = addResidual(b, body);
  setNormalised(b, body, sum, StatisticsBuilder(b, body).get(sum));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// xhat from the output: (y - beta) / gamma, clamped to the sqrt(N) that no
/// xhat exceeds, and 0 where gamma is.
static Value invertColumns(RowBuilder &b, RowBody &body) {
  Value xhat = b.widen(body.get(Role::Y));
  if (Value beta = body.get(Role::Beta))
    xhat = b.add(xhat, b.negate(b.widen(beta)));
  Value gamma = body.get(Role::Gamma);
  if (!gamma)
    return xhat;
  gamma = b.widen(gamma);
  if (body.isGammaZeroCentred())
    gamma = b.add(gamma, b.spread(b.constant(1.0)));
  // Of all but subnormal numbers the reciprocal is finite.
  Value least = b.spread(b.constant(std::numeric_limits<float>::min()));
  Value isLost = b.less(b.abs(gamma), least);
  Value zero = b.spread(b.constant(0.0));
  Value one = b.spread(b.constant(1.0));
  Value inverse = b.div(one, b.select(isLost, one, gamma));
  Value bound = b.spread(b.constant(std::sqrt(double(body.getRowLength()))));
  return b.select(isLost, zero, b.clamp(b.mul(xhat, inverse), bound));
}

/// The gradient of what was normalised. With wdy = gamma * dy:
///   dx = rstd * (wdy - xhat * sum(wdy * xhat) / N - sum(wdy) / N)
/// written as fused multiply-adds; the second sum belongs to the mean. The mean
/// is subtracted before the scaling: folded into the multiply-add it would lose
/// what a large mean leaves.
static Value differentiateNorm(RowBuilder &b, RowBody &body, Value dy,
                               const Statistics &statistics) {
  auto [mean, xhat, rstd] = statistics;
  bool hasMean = body.hasMean();
  Value wdy = dy;
  if (Value gamma = body.get(Role::Gamma)) {
    gamma = b.widen(gamma);
    wdy = body.isGammaZeroCentred() ? b.fma(gamma, dy, dy) : b.mul(gamma, dy);
  }
  Value weightedSum = b.rowSum(b.mul(wdy, xhat));
  Value sum = hasMean ? b.rowSum(wdy) : Value();
  Value scale = b.mul(rstd, b.constant(-1.0 / double(body.getRowLength())));
  Value c1 = b.spread(b.mul(weightedSum, scale));
  Value dx =
      hasMean ? b.fma(xhat, c1, b.spread(b.mul(sum, scale))) : b.mul(xhat, c1);
  return b.fma(wdy, b.spread(rstd), dx);
}

/// The outputs of a gradient, from the normalised rows and the gradient of what
/// the norm puts out.
static void setGradients(RowBuilder &b, RowBody &body, Value dy,
                         const Statistics &statistics) {
  if (body.wants(Role::Dx) || body.wants(Role::Dresidual)) {
    Value dx = differentiateNorm(b, body, dy, statistics);
    if (Value dsum = body.get(Role::Dsum))
      dx = b.add(dx, b.widen(dsum));
    body.set(Role::Dx, dx);
    body.set(Role::Dresidual, dx);
  }
  if (body.wants(Role::Dgamma))
    body.set(Role::Dgamma, b.mul(dy, statistics.xhat));
  body.set(Role::Dbeta, dy);
}

void bodies::normGradient(RowBuilder &b, RowBody &body) {
  Statistics statistics;
  if (body.get(Role::Y))
    statistics = {Value(), invertColumns(b, body), body.get(Role::Rstd)};
  else
    statistics = StatisticsBuilder(b, body).get(b.widen(body.get(Role::X)));
  setGradients(b, body, b.widen(body.get(Role::Dy)), statistics);
}
