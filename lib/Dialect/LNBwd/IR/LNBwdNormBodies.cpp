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
  RowValue xhat, rstd;
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
        overN(constant(b, 1.0 / double(length))),
        epsilon(constant(b, body.getEpsilon())) {}

  Statistics get(RowValue x) {
    Value mean = body.get(Role::Mean);
    if (!body.has(Role::Rstd))
      return body.hasMean() ? compute(x) : computeAroundZero(x);
    RowValue rstd{&b, body.get(Role::Rstd)};
    // The negated mean is added: packed float32 has additions only.
    RowValue centred = mean ? x + spread(-RowValue{&b, mean}, length) : x;
    return {mean, centred * spread(rstd, length), rstd};
  }

private:
  Statistics compute(RowValue x) {
    RowValue sum = rowSum(x);
    RowValue mean = sum * overN;
    RowValue centred = x + spread(-mean, length);
    if (body.isTextbook()) {
      RowValue rstd = rstdOf(rowSum(centred * centred) * overN);
      return {mean, centred * spread(rstd, length), rstd};
    }
    RowValue left = rowSum(centred) * overN;
    RowValue squares = rowSum(centred * centred);
    RowValue square = squares * overN;
    // Not below 0 by rounding.
    RowValue zero = constant(b, 0.0);
    RowValue less = -(left * left);
    RowValue difference = divide(squares, square) + less;
    RowValue variance = select(zero < difference, difference, zero);
    // (centred - left) * rstd, rounded once.
    RowValue rstd = rstdOf(markOverflow(square, variance));
    RowValue scale = spread(rstd, length);
    RowValue shift = spread(-left * rstd, length);
    RowValue saved = chooseMean(sum, mean, left, rstd);
    return {saved, fma(centred, scale, shift), rstd};
  }
  Statistics computeAroundZero(RowValue x) {
    RowValue square = rowSum(x * x) * overN;
    RowValue rstd =
        rstdOf(body.isTextbook() ? square : markOverflow(square, square));
    return {Value(), x * spread(rstd, length), rstd};
  }

  /// `sum` / N, of which `estimate` is the product with 1/N: without the
  /// rounding of 1/N. Both finite.
  RowValue divide(RowValue sum, RowValue estimate) {
    if (llvm::isPowerOf2_64(uint64_t(length)))
      return estimate;
    RowValue remainder = fma(estimate, constant(b, -double(length)), sum);
    return fma(remainder, overN, estimate);
  }
  /// `variance`, but NaN where `square` is infinite: its reciprocal root would
  /// make numbers of a row that nobody can tell from right ones.
  RowValue markOverflow(RowValue square, RowValue variance) {
    return fma(square, constant(b, 0.0), variance);
  }
  /// The mean to save. Where it is small beside the deviations, the elements of
  /// x are much coarser than it is, x - mean is rounded alike in all that are
  /// of a size, and `left` is mostly the sum of those roundings: the first sum
  /// is better then. One lane of a row computes this: few operations, lest
  /// NVIDIA's assembler makes them a branch, which all of the row wait for.
  RowValue chooseMean(RowValue sum, RowValue mean, RowValue left,
                      RowValue rstd) {
    RowValue size = abs(sum * rstd);
    Value isSmall = size < constant(b, 0.25 * double(length));
    return mean + select(isSmall, constant(b, 0.0), left);
  }
  RowValue rstdOf(RowValue variance) { return rsqrt(variance + epsilon); }

  RowBuilder &b;
  RowBody &body;
  int64_t length;
  RowValue overN, epsilon;
};

} // namespace

//===----------------------------------------------------------------------===//
// Forward passes
//===----------------------------------------------------------------------===//

/// gamma * row + beta, of what there is of gamma and beta.
static RowValue applyColumns(RowBuilder &b, RowBody &body, RowValue row) {
  if (body.has(Role::Gamma)) {
    RowValue gamma = body.widened(b, Role::Gamma);
    row = body.isGammaZeroCentred() ? gamma * row + row : gamma * row;
  }
  return body.has(Role::Beta) ? row + body.widened(b, Role::Beta) : row;
}

void bodies::norm(RowBuilder &b, RowBody &body) {
  RowValue sum = body.widened(b, Role::X);
  if (body.has(Role::Residual))
    sum = sum + body.widened(b, Role::Residual);
  Statistics statistics = StatisticsBuilder(b, body).get(sum);
  if (body.wants(Role::Y))
    body.set(Role::Y, applyColumns(b, body, statistics.xhat));
  body.set(Role::Sum, sum);
  body.set(Role::Mean, statistics.mean);
  body.set(Role::Rstd, statistics.rstd);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// xhat from the output: (y - beta) / gamma, clamped to the sqrt(N) that no
/// xhat exceeds, and 0 where gamma is. A NaN stays one.
static RowValue invertColumns(RowBuilder &b, RowBody &body) {
  RowValue xhat = body.widened(b, Role::Y);
  if (body.has(Role::Beta))
    xhat = xhat + -body.widened(b, Role::Beta);
  if (!body.has(Role::Gamma))
    return xhat;
  auto inRow = [&](double number) {
    return spread(constant(b, number), body.getRowLength());
  };
  RowValue gamma = body.widened(b, Role::Gamma);
  if (body.isGammaZeroCentred())
    gamma = gamma + inRow(1.0);
  // Of all but subnormal numbers the reciprocal is finite.
  RowValue least = inRow(std::numeric_limits<float>::min());
  Value isLost = abs(gamma) < least;
  RowValue zero = inRow(0.0), one = inRow(1.0);
  RowValue divisor = select(isLost, one, gamma);
  RowValue inverse{&b, arith::DivFOp::create(b, one, divisor)};
  RowValue bound = inRow(std::sqrt(double(body.getRowLength())));
  xhat = xhat * inverse;
  RowValue low = -bound;
  xhat = select(bound < xhat, bound, xhat);
  xhat = select(xhat < low, low, xhat);
  return select(isLost, zero, xhat);
}

/// The gradient of what was normalised. With wdy = gamma * dy:
///   dx = rstd * (wdy - xhat * sum(wdy * xhat) / N - sum(wdy) / N)
/// written as fused multiply-adds; the second sum belongs to the mean. The mean
/// is subtracted before the scaling: folded into the multiply-add it would lose
/// what a large mean leaves.
static RowValue differentiateNorm(RowBuilder &b, RowBody &body, RowValue dy,
                                  const Statistics &statistics) {
  auto [mean, xhat, rstd] = statistics;
  int64_t length = body.getRowLength();
  RowValue wdy = dy;
  if (body.has(Role::Gamma)) {
    RowValue gamma = body.widened(b, Role::Gamma);
    wdy = body.isGammaZeroCentred() ? fma(gamma, dy, dy) : gamma * dy;
  }
  RowValue weightedSum = rowSum(wdy * xhat);
  RowValue sum = body.hasMean() ? rowSum(wdy) : weightedSum;
  RowValue scale = rstd * (-1.0 / double(length));
  RowValue c1 = spread(weightedSum * scale, length);
  RowValue dx =
      body.hasMean() ? fma(xhat, c1, spread(sum * scale, length)) : xhat * c1;
  return fma(wdy, spread(rstd, length), dx);
}

void bodies::normGradient(RowBuilder &b, RowBody &body) {
  Statistics statistics;
  if (body.has(Role::Y))
    statistics = {Value(), invertColumns(b, body), {&b, body.get(Role::Rstd)}};
  else
    statistics = StatisticsBuilder(b, body).get(body.widened(b, Role::X));
  RowValue dy = body.widened(b, Role::Dy);
  if (body.wants(Role::Dx) || body.wants(Role::Dresidual)) {
    RowValue dx = differentiateNorm(b, body, dy, statistics);
    if (body.has(Role::Dsum))
      dx = dx + body.widened(b, Role::Dsum);
    body.set(Role::Dx, dx);
    body.set(Role::Dresidual, dx);
  }
  if (body.wants(Role::Dgamma))
    body.set(Role::Dgamma, dy * statistics.xhat);
  body.set(Role::Dbeta, dy);
}
