//===- LayerNormBackward.h - The float64 reference --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNorm backward in float64 on the host, on all cores. It starts from the
// very numbers that the kernel was given (rounded x, dy and gamma, mean and
// rstd in float32), so that the difference to the kernel's results is the
// kernel's own error.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_LAYERNORMBACKWARD_H
#define LNBWD_REFERENCE_LAYERNORMBACKWARD_H

#include "lnbwd/Reference/FloatFormat.h"

#include <functional>
#include <vector>

namespace lnbwd::reference {

/// An array that somebody else owns.
struct ConstArray {
  FloatFormat format = FloatFormat::F32;
  const void *data = nullptr;

  double operator[](size_t index) const {
    return loadElement(format, data, index);
  }
};

/// dy and x are [rows, columns], gamma [columns], mean and rstd [rows].
/// Without data gamma is 1.
struct BackwardInputs {
  int64_t rows = 0;
  int64_t columns = 0;
  ConstArray dy;
  ConstArray x;
  ConstArray gamma;
  const float *mean = nullptr;
  const float *rstd = nullptr;
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
  /// The largest rstd * (|wdy| + |xhat * c1| + |c2|) of an element of dx.
  double dxTerms = 0;
  /// The largest root of the sum of squared terms of a column.
  double dgammaTerms = 0;
  double dbetaTerms = 0;
};

/// Takes a finished row of dx, [columns]. Called from several threads at once,
/// each with its own `worker` number.
using RowConsumer =
    std::function<void(unsigned worker, int64_t row, const double *dx)>;

/// The number of threads that the functions below use for that many rows.
unsigned workerCount(int64_t rows);

/// Calls `body(worker, begin, end)` for pieces of [0, count) on all cores. The
/// pieces depend on `count` alone; an exception of one ends up at the caller.
void parallelFor(int64_t count,
                 const std::function<void(unsigned worker, int64_t begin,
                                          int64_t end)> &body);

/// Mean and 1 / sqrt(variance + epsilon) of each row of x, [rows, columns],
/// computed in float64 and rounded to float32.
void computeStatistics(ConstArray x, int64_t rows, int64_t columns,
                       double epsilon, float *mean, float *rstd);

/// With wdy = gamma * dy and xhat = (x - mean) * rstd, per row
///   c1 = mean of wdy * xhat, c2 = mean of wdy,
///   dx = rstd * (wdy - xhat * c1 - c2),
/// and the column sums above. The sums are taken in an order that depends on
/// the sizes alone.
BackwardResult layerNormBackward(const BackwardInputs &inputs,
                                 const RowConsumer &consumer);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_LAYERNORMBACKWARD_H
