//===- Formulas.cpp - Each operation's formula ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written from the textbook's formulas and not from the kernels' bodies: the
// two have to agree.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lnbwd::reference {

double RowInputs::gamma(int64_t column) const {
  if (!has(Role::Gamma))
    return 1;
  double gamma = values[Role::Gamma][column];
  return zeroCentredGamma ? 1 + gamma : gamma;
}

void RowOutputs::raise(Role role, double size) {
  if (std::isfinite(size))
    terms[role] = std::max(terms[role], std::abs(size));
}

using Values = std::vector<double>;

namespace {
struct Statistics {
  double mean = 0;
  double rstd = 0;
};
} // namespace

static Statistics computeStatistics(const RowInputs &in, const Values &x) {
  const auto n = static_cast<double>(in.columns);
  Statistics result;
  if (getInfo(in.operation).hasMean()) {
    for (double value : x)
      result.mean += value;
    result.mean /= n;
  }
  double squares = 0;
  for (double value : x)
    squares += (value - result.mean) * (value - result.mean);
  double variance = squares / n;
  if (in.inFloat32 && squares > std::numeric_limits<float>::max())
    variance = std::numeric_limits<double>::quiet_NaN();
  result.rstd = 1.0 / std::sqrt(variance + in.epsilon);
  return result;
}

/// Those of `x`, computed, or the saved ones.
static Statistics statisticsOf(const RowInputs &in, const Values &x) {
  if (!in.has(Role::Rstd))
    return computeStatistics(in, x);
  return {in.has(Role::Mean) ? in[Role::Mean][0] : 0, in[Role::Rstd][0]};
}

/// y = gamma * (x - mean) * rstd + beta, and the statistics.
static void normalise(const RowInputs &in, const Values &x, RowOutputs &out) {
  Statistics statistics = computeStatistics(in, x);
  for (int64_t j = 0; j < in.columns; ++j) {
    double xhat = (x[j] - statistics.mean) * statistics.rstd;
    double beta = in.has(Role::Beta) ? in[Role::Beta][j] : 0;
    out[Role::Y][j] = in.gamma(j) * xhat + beta;
    // 1 + gamma is not formed: the two products are added.
    double weight = in.has(Role::Gamma) && in.zeroCentredGamma
                        ? 1 + std::abs(in[Role::Gamma][j])
                        : std::abs(in.gamma(j));
    out.raise(Role::Y, weight * std::abs(xhat) + std::abs(beta));
    out.raise(Role::Mean, x[j]);
  }
  for (double &mean : out[Role::Mean])
    mean = statistics.mean;
  out[Role::Rstd][0] = statistics.rstd;
  out.raise(Role::Rstd, statistics.rstd);
}

/// LayerNorm and RMSNorm. What float32 makes of x + residual is what is
/// normalised; the sum is rounded and nothing else.
static void norm(const RowInputs &in, RowOutputs &out) {
  Values sum = in[Role::X];
  for (int64_t j = 0; in.has(Role::Residual) && j < in.columns; ++j)
    sum[j] = static_cast<float>(sum[j] + in[Role::Residual][j]);
  normalise(in, sum, out);
  out[Role::Sum] = sum;
}

/// (y - beta) / gamma, clamped to the root of N, and 0 where gamma is 0 or
/// subnormal in float32.
static Values invert(const RowInputs &in) {
  Values xhat(in.columns);
  for (int64_t j = 0; j < in.columns; ++j) {
    double centred = in[Role::Y][j];
    if (in.has(Role::Beta))
      centred -= in[Role::Beta][j];
    if (!in.has(Role::Gamma)) {
      xhat[j] = centred;
    } else if (std::abs(static_cast<float>(in.gamma(j))) >=
               std::numeric_limits<float>::min()) {
      double bound = std::sqrt(static_cast<double>(in.columns));
      xhat[j] = std::clamp(centred / in.gamma(j), -bound, bound);
    }
  }
  return xhat;
}

namespace {
/// The gradient of what was normalised, with the size of its terms.
struct NormGradient {
  Values dx;
  Values terms;
};
} // namespace

/// With wdy = gamma * dy, c1 = mean of wdy * xhat and c2 = mean of wdy (without
/// a mean 0): dx = rstd * (wdy - xhat * c1 - c2). Puts dgamma and dbeta out.
static NormGradient differentiate(const RowInputs &in, const Values &dy,
                                  const Values &xhat, double rstd,
                                  RowOutputs &out) {
  const auto n = static_cast<double>(in.columns);
  Values wdy(in.columns);
  double sumWdyXhat = 0;
  double sumWdy = 0;
  for (int64_t j = 0; j < in.columns; ++j) {
    wdy[j] = in.gamma(j) * dy[j];
    sumWdyXhat += wdy[j] * xhat[j];
    sumWdy += wdy[j];
    out[Role::Dgamma][j] = dy[j] * xhat[j];
  }
  out[Role::Dbeta] = dy;
  const double c1 = sumWdyXhat / n;
  const double c2 = getInfo(in.operation).hasMean() ? sumWdy / n : 0;
  NormGradient result{Values(in.columns), Values(in.columns)};
  for (int64_t j = 0; j < in.columns; ++j) {
    result.dx[j] = rstd * (wdy[j] - xhat[j] * c1 - c2);
    result.terms[j] = std::abs(rstd) * (std::abs(wdy[j]) +
                                        std::abs(xhat[j] * c1) + std::abs(c2));
  }
  return result;
}

/// The gradients of LayerNorm and RMSNorm.
static void normGradient(const RowInputs &in, RowOutputs &out) {
  Statistics statistics;
  // A kernel of dbeta alone needs no xhat.
  Values xhat(in.columns);
  if (in.has(Role::X)) {
    statistics = statisticsOf(in, in[Role::X]);
    for (int64_t j = 0; j < in.columns; ++j)
      xhat[j] = (in[Role::X][j] - statistics.mean) * statistics.rstd;
  } else if (in.has(Role::Y)) {
    statistics.rstd = in[Role::Rstd][0];
    xhat = invert(in);
  }
  NormGradient gradient =
      differentiate(in, in[Role::Dy], xhat, statistics.rstd, out);
  for (int64_t j = 0; j < in.columns; ++j) {
    double dsum = in.has(Role::Dsum) ? in[Role::Dsum][j] : 0;
    out[Role::Dx][j] = out[Role::Dresidual][j] = gradient.dx[j] + dsum;
    for (Role role : {Role::Dx, Role::Dresidual})
      out.raise(role, gradient.terms[j] + std::abs(dsum));
  }
}

Formula formulaOf(NamedOperation operation) {
  switch (operation) {
#define LNBWD_OPERATION_REFERENCE(OPERATION, FORMULA)                          \
  case NamedOperation::OPERATION:                                              \
    return FORMULA;
#include "lnbwd/Operations/Operations.h.inc"
#undef LNBWD_OPERATION_REFERENCE
  }
  return nullptr;
}

} // namespace lnbwd::reference
