//===- Normalization.cpp - The float64 references -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Normalization.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

namespace lnbwd::reference {

/// Rows are dealt out in this many pieces at most: enough to keep many cores
/// busy, few enough that the partial column sums stay small.
constexpr int64_t kMaxPieces = 128;

static int64_t pieceCount(int64_t count) { return std::min(count, kMaxPieces); }

/// Where piece `index` of `pieces` begins; without a product that overflows.
static int64_t pieceBegin(int64_t count, int64_t pieces, int64_t index) {
  return count / pieces * index + std::min(index, count % pieces);
}

namespace {

/// The column sums over the rows of one piece.
struct PartialSums {
  std::vector<double> dgamma;
  std::vector<double> dbeta;
  std::vector<double> dgammaSquares;
  std::vector<double> dbetaSquares;
  double dxTerms = 0;
};

} // namespace

/// Runs `body(worker, piece)` for each piece on all cores.
static void forEachPiece(int64_t pieces,
                         const std::function<void(unsigned, int64_t)> &body) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failureMutex;
  auto work = [&](unsigned worker) {
    try {
      for (int64_t piece = next++; piece < pieces; piece = next++)
        body(worker, piece);
    } catch (...) {
      std::lock_guard<std::mutex> lock(failureMutex);
      failure = std::current_exception();
      next = pieces;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned worker = 1; worker < workerCount(pieces); ++worker)
    threads.emplace_back(work, worker);
  work(0);
  for (std::thread &thread : threads)
    thread.join();
  if (failure)
    std::rethrow_exception(failure);
}

namespace {
struct Statistics {
  double mean = 0;
  double rstd = 0;
};
} // namespace

/// Of the `columns` values that `value` gives. What a kernel computes itself is
/// float32: with `inFloat32`, rstd is 0 where the sum of squares is beyond its
/// range.
template <typename Function>
static Statistics statisticsOf(const Function &value, int64_t columns,
                               bool hasMean, double epsilon, bool inFloat32) {
  Statistics result;
  if (hasMean) {
    for (int64_t j = 0; j < columns; ++j)
      result.mean += value(j);
    result.mean /= static_cast<double>(columns);
  }
  double squares = 0;
  for (int64_t j = 0; j < columns; ++j) {
    double centred = value(j) - result.mean;
    squares += centred * centred;
  }
  double variance = squares / static_cast<double>(columns);
  if (inFloat32 && squares > std::numeric_limits<float>::max())
    variance = std::numeric_limits<double>::infinity();
  result.rstd = 1.0 / std::sqrt(variance + epsilon);
  return result;
}

/// What normalised elements are multiplied by, column by column.
static std::vector<double> effectiveGamma(const Normalization &norm) {
  std::vector<double> gamma(norm.columns, 1.0);
  for (int64_t j = 0; norm.gamma.data && j < norm.columns; ++j)
    gamma[j] = norm.zeroCentredGamma ? 1 + norm.gamma[j] : norm.gamma[j];
  return gamma;
}

namespace {

/// One row at a time, with its scratch memory.
class RowWorker {
public:
  RowWorker(const BackwardInputs &inputs)
      : inputs(inputs), gamma(effectiveGamma(inputs)), wdy(inputs.columns),
        xhat(inputs.columns), dx(inputs.columns) {}

  const double *process(int64_t row, PartialSums &sums) {
    const int64_t n = inputs.columns;
    const double rstd = computeXhat(row);
    double sumWdyXhat = 0;
    double sumWdy = 0;
    for (int64_t j = 0; j < n; ++j) {
      double dy = inputs.dy.at(row, j, n);
      wdy[j] = gamma[j] * dy;
      sumWdyXhat += wdy[j] * xhat[j];
      sumWdy += wdy[j];
      double term = dy * xhat[j];
      sums.dgamma[j] += term;
      sums.dbeta[j] += dy;
      sums.dgammaSquares[j] += term * term;
      sums.dbetaSquares[j] += dy * dy;
    }
    const double c1 = sumWdyXhat / static_cast<double>(n);
    const double c2 = inputs.hasMean ? sumWdy / static_cast<double>(n) : 0;
    for (int64_t j = 0; j < n; ++j) {
      double dsum = inputs.dsum.data ? inputs.dsum.at(row, j, n) : 0;
      dx[j] = rstd * (wdy[j] - xhat[j] * c1 - c2) + dsum;
      double terms = std::abs(rstd) * (std::abs(wdy[j]) +
                                       std::abs(xhat[j] * c1) + std::abs(c2)) +
                     std::abs(dsum);
      if (std::isfinite(terms))
        sums.dxTerms = std::max(sums.dxTerms, terms);
    }
    return dx.data();
  }

private:
  /// Fills `xhat`; returns rstd.
  double computeXhat(int64_t row) {
    const int64_t n = inputs.columns;
    if (!inputs.x.data && inputs.y.data) {
      for (int64_t j = 0; j < n; ++j)
        xhat[j] = invertColumn(row, j);
      return inputs.rstd[row];
    }
    if (!inputs.x.data) {
      // A kernel of dbeta alone needs no xhat.
      xhat.assign(xhat.size(), 0.0);
      return 0;
    }
    Statistics statistics;
    if (inputs.rstd) {
      statistics.mean = inputs.hasMean ? inputs.mean[row] : 0;
      statistics.rstd = inputs.rstd[row];
    } else {
      statistics =
          statisticsOf([&](int64_t j) { return inputs.x.at(row, j, n); }, n,
                       inputs.hasMean, inputs.epsilon,
                       /*inFloat32=*/true);
    }
    for (int64_t j = 0; j < n; ++j)
      xhat[j] = (inputs.x.at(row, j, n) - statistics.mean) * statistics.rstd;
    return statistics.rstd;
  }
  double invertColumn(int64_t row, int64_t column) const {
    double centred = inputs.y.at(row, column, inputs.columns);
    if (inputs.beta.data)
      centred -= inputs.beta[column];
    if (!inputs.gamma.data)
      return centred;
    if (std::abs(static_cast<float>(gamma[column])) <
        std::numeric_limits<float>::min())
      return 0;
    double bound = std::sqrt(static_cast<double>(inputs.columns));
    return std::clamp(centred / gamma[column], -bound, bound);
  }

  const BackwardInputs &inputs;
  std::vector<double> gamma;
  std::vector<double> wdy;
  std::vector<double> xhat;
  std::vector<double> dx;
};

} // namespace

static double largestRoot(const std::vector<double> &squares) {
  double largest = 0;
  for (double square : squares)
    if (std::isfinite(square))
      largest = std::max(largest, std::sqrt(square));
  return largest;
}

unsigned workerCount(int64_t rows) {
  auto cores =
      static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<unsigned>(
      std::clamp<int64_t>(std::min(cores, rows), 1, kMaxPieces));
}

void parallelFor(int64_t count,
                 const std::function<void(unsigned worker, int64_t begin,
                                          int64_t end)> &body) {
  int64_t pieces = pieceCount(count);
  forEachPiece(pieces, [&](unsigned worker, int64_t piece) {
    body(worker, pieceBegin(count, pieces, piece),
         pieceBegin(count, pieces, piece + 1));
  });
}

void computeStatistics(ConstArray x, int64_t rows, int64_t columns,
                       double epsilon, float *mean, float *rstd, bool hasMean) {
  parallelFor(rows, [&](unsigned, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      Statistics statistics =
          statisticsOf([&](int64_t j) { return x.at(row, j, columns); },
                       columns, hasMean, epsilon, /*inFloat32=*/false);
      mean[row] = static_cast<float>(statistics.mean);
      rstd[row] = static_cast<float>(statistics.rstd);
    }
  });
}

/// Adds what a column sum is added to; returns the largest of it.
static double addBefore(ConstArray before, std::vector<double> &sums) {
  double largest = 0;
  for (size_t j = 0; before.data && j < sums.size(); ++j) {
    sums[j] += before[j];
    largest = std::max(largest, std::abs(before[j]));
  }
  return largest;
}

BackwardResult normBackward(const BackwardInputs &inputs,
                            const RowConsumer &consumer) {
  const int64_t n = inputs.columns;
  const int64_t pieces = pieceCount(inputs.rows);
  std::vector<PartialSums> partials(pieces);
  forEachPiece(pieces, [&](unsigned worker, int64_t piece) {
    PartialSums &sums = partials[piece];
    for (std::vector<double> *column :
         {&sums.dgamma, &sums.dbeta, &sums.dgammaSquares, &sums.dbetaSquares})
      column->assign(n, 0.0);
    RowWorker rowWorker(inputs);
    int64_t end = pieceBegin(inputs.rows, pieces, piece + 1);
    for (int64_t row = pieceBegin(inputs.rows, pieces, piece); row < end;
         ++row) {
      const double *dx = rowWorker.process(row, sums);
      if (consumer)
        consumer(worker, row, dx);
    }
  });

  BackwardResult result;
  result.dgamma.assign(n, 0.0);
  result.dbeta.assign(n, 0.0);
  std::vector<double> dgammaSquares(n, 0.0);
  std::vector<double> dbetaSquares(n, 0.0);
  for (const PartialSums &sums : partials) {
    for (int64_t j = 0; j < n; ++j) {
      result.dgamma[j] += sums.dgamma[j];
      result.dbeta[j] += sums.dbeta[j];
      dgammaSquares[j] += sums.dgammaSquares[j];
      dbetaSquares[j] += sums.dbetaSquares[j];
    }
    result.dxTerms = std::max(result.dxTerms, sums.dxTerms);
  }
  result.dgammaTerms = largestRoot(dgammaSquares) +
                       addBefore(inputs.dgammaBefore, result.dgamma);
  result.dbetaTerms =
      largestRoot(dbetaSquares) + addBefore(inputs.dbetaBefore, result.dbeta);
  return result;
}

ForwardResult normForward(const ForwardInputs &inputs,
                          const ForwardConsumer &consumer) {
  const int64_t n = inputs.columns;
  const std::vector<double> gamma = effectiveGamma(inputs);
  std::vector<ForwardResult> perWorker(workerCount(inputs.rows));
  auto raise = [](double &largest, double value) {
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  };
  parallelFor(inputs.rows, [&](unsigned worker, int64_t begin, int64_t end) {
    std::vector<double> sum(n), y(n);
    ForwardResult &result = perWorker[worker];
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t j = 0; j < n; ++j) {
        sum[j] = inputs.x.at(row, j, n);
        if (inputs.residual.data)
          sum[j] = static_cast<float>(sum[j] + inputs.residual.at(row, j, n));
        raise(result.meanTerms, sum[j]);
      }
      Statistics statistics =
          statisticsOf([&](int64_t j) { return sum[j]; }, n, inputs.hasMean,
                       inputs.epsilon, /*inFloat32=*/true);
      for (int64_t j = 0; j < n; ++j) {
        double xhat = (sum[j] - statistics.mean) * statistics.rstd;
        double beta = inputs.beta.data ? inputs.beta[j] : 0;
        y[j] = gamma[j] * xhat + beta;
        // 1 + gamma is not formed: the two products are added.
        double weight = inputs.gamma.data && inputs.zeroCentredGamma
                            ? 1 + std::abs(inputs.gamma[j])
                            : std::abs(gamma[j]);
        raise(result.yTerms, weight * std::abs(xhat) + std::abs(beta));
      }
      raise(result.rstdTerms, statistics.rstd);
      if (consumer)
        consumer(worker, row,
                 {y.data(), sum.data(), statistics.mean, statistics.rstd});
    }
  });
  ForwardResult total;
  for (const ForwardResult &result : perWorker) {
    raise(total.yTerms, result.yTerms);
    raise(total.meanTerms, result.meanTerms);
    raise(total.rstdTerms, result.rstdTerms);
  }
  return total;
}

} // namespace lnbwd::reference
