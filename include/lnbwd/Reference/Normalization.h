//===- Normalization.h - The float64 references -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm, RMSNorm and their gradients in float64 on the host, on all cores,
// with every option that the named operations have. They start from the very
// numbers that the kernel was given (rounded inputs, saved statistics in
// float32), so that the difference to the kernel's results is the kernel's own
// error.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_NORMALIZATION_H
#define LNBWD_REFERENCE_NORMALIZATION_H

#include "lnbwd/Reference/FloatFormat.h"

#include <functional>
#include <vector>

namespace lnbwd::reference {

/// An array that somebody else owns. Without data it is absent.
struct ConstArray {
  FloatFormat format = FloatFormat::F32;
  const void *data = nullptr;
  /// Of a row block, the elements from row to row; 0: the rows are dense.
  int64_t stride = 0;

  double operator[](size_t index) const {
    return loadElement(format, data, index);
  }
  /// Element of a row block whose rows have `columns` elements.
  double at(int64_t row, int64_t column, int64_t columns) const {
    return (
        *this)[static_cast<size_t>(row) * (stride ? stride : columns) + column];
  }
};

/// What all operations share: the sizes, and which normalisation it is.
struct Normalization {
  int64_t rows = 0;
  int64_t columns = 0;
  /// LayerNorm; without a mean it is RMSNorm.
  bool hasMean = true;
  /// 1 + gamma stands in the place of gamma.
  bool zeroCentredGamma = false;
  /// Where statistics are computed.
  double epsilon = 1e-5;
  /// [columns]; absent, it is 1.
  ConstArray gamma;
  /// [columns]; absent, it is 0. In a gradient it belongs to y.
  ConstArray beta;
};

/// dy, and x or y, are [rows, columns], mean and rstd [rows].
struct BackwardInputs : Normalization {
  ConstArray dy;
  ConstArray x;
  /// The forward pass's output, from which xhat comes where there is no x.
  ConstArray y;
  /// The saved statistics. Without rstd both are computed from x.
  const float *mean = nullptr;
  const float *rstd = nullptr;
  /// What is added to dx, [rows, columns].
  ConstArray dsum;
  /// What dgamma and dbeta are added to, [columns].
  ConstArray dgammaBefore;
  ConstArray dbetaBefore;
};

/// The column sums, and how large the terms were that the results are sums of.
/// A result that is a small difference of large terms cannot be had to its own
/// precision, in any order of summation: these numbers say how near one can
/// get.
struct BackwardResult {
  /// dgamma[j] = sum over i of dy[i,j] * xhat[i,j]
  std::vector<double> dgamma;
  /// dbeta[j] = sum over i of dy[i,j]
  std::vector<double> dbeta;
  /// The largest rstd * (|wdy| + |xhat * c1| + |c2|) + |dsum| of an element of
  /// dx.
  double dxTerms = 0;
  /// The largest root of the sum of squared terms of a column, and what was
  /// there before.
  double dgammaTerms = 0;
  double dbetaTerms = 0;
};

/// Takes a finished row of dx, [columns]. Called from several threads at once,
/// each with its own `worker` number.
using RowConsumer =
    std::function<void(unsigned worker, int64_t row, const double *dx)>;

/// x and residual are [rows, columns].
struct ForwardInputs : Normalization {
  ConstArray x;
  ConstArray residual;
};

/// How large the terms were that the results are sums of.
struct ForwardResult {
  /// The largest |gamma * xhat| + |beta|.
  double yTerms = 0;
  /// The largest |x|.
  double meanTerms = 0;
  double rstdTerms = 0;
};

/// A finished row of the forward pass. `sum` is what was normalised: x and the
/// residual, added in float32.
struct ForwardRow {
  const double *y;
  const double *sum;
  double mean;
  double rstd;
};
using ForwardConsumer =
    std::function<void(unsigned worker, int64_t row, const ForwardRow &)>;

/// The number of threads that the functions below use for that many rows.
unsigned workerCount(int64_t rows);

/// Calls `body(worker, begin, end)` for pieces of [0, count) on all cores. The
/// pieces depend on `count` alone; an exception of one ends up at the caller.
void parallelFor(int64_t count,
                 const std::function<void(unsigned worker, int64_t begin,
                                          int64_t end)> &body);

/// Mean and 1 / sqrt(variance + epsilon) of each row of x, [rows, columns],
/// computed in float64 and rounded to float32; for RMSNorm 0 and
/// 1 / sqrt(mean square + epsilon).
void computeStatistics(ConstArray x, int64_t rows, int64_t columns,
                       double epsilon, float *mean, float *rstd,
                       bool hasMean = true);

/// With wdy = gamma * dy and xhat = (x - mean) * rstd, per row
///   c1 = mean of wdy * xhat, c2 = mean of wdy (RMSNorm: mean = c2 = 0),
///   dx = rstd * (wdy - xhat * c1 - c2) + dsum,
/// and the column sums above. From the output, xhat is (y - beta) / gamma,
/// clamped to the root of `columns`, and 0 where gamma is 0 or subnormal in
/// float32. The sums are taken in an order that depends on the sizes alone.
BackwardResult normBackward(const BackwardInputs &inputs,
                            const RowConsumer &consumer);

/// With sum = x + residual, in float32, per row
///   y = gamma * (sum - mean) * rstd + beta.
ForwardResult normForward(const ForwardInputs &inputs,
                          const ForwardConsumer &consumer);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_NORMALIZATION_H
