//===- LayerNormBackward.cpp - The float64 reference ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/LayerNormBackward.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
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

/// One row at a time, with its scratch memory.
class RowWorker {
public:
  RowWorker(const BackwardInputs &inputs)
      : inputs(inputs), wdy(inputs.columns), xhat(inputs.columns),
        dx(inputs.columns) {}

  const double *process(int64_t row, PartialSums &sums) {
    const int64_t n = inputs.columns;
    const double mean = inputs.mean[row];
    const double rstd = inputs.rstd[row];
    const size_t base = static_cast<size_t>(row) * n;
    double sumWdyXhat = 0;
    double sumWdy = 0;
    for (int64_t j = 0; j < n; ++j) {
      double dy = inputs.dy[base + j];
      xhat[j] = (inputs.x[base + j] - mean) * rstd;
      wdy[j] = inputs.gamma.data ? inputs.gamma[j] * dy : dy;
      sumWdyXhat += wdy[j] * xhat[j];
      sumWdy += wdy[j];
      double term = dy * xhat[j];
      sums.dgamma[j] += term;
      sums.dbeta[j] += dy;
      sums.dgammaSquares[j] += term * term;
      sums.dbetaSquares[j] += dy * dy;
    }
    const double c1 = sumWdyXhat / static_cast<double>(n);
    const double c2 = sumWdy / static_cast<double>(n);
    for (int64_t j = 0; j < n; ++j) {
      dx[j] = rstd * (wdy[j] - xhat[j] * c1 - c2);
      double terms = std::abs(rstd) *
                     (std::abs(wdy[j]) + std::abs(xhat[j] * c1) + std::abs(c2));
      if (std::isfinite(terms))
        sums.dxTerms = std::max(sums.dxTerms, terms);
    }
    return dx.data();
  }

private:
  const BackwardInputs &inputs;
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
                       double epsilon, float *mean, float *rstd) {
  parallelFor(rows, [&](unsigned, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const size_t base = static_cast<size_t>(row) * columns;
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j)
        sum += x[base + j];
      double average = sum / static_cast<double>(columns);
      double squares = 0;
      for (int64_t j = 0; j < columns; ++j) {
        double centred = x[base + j] - average;
        squares += centred * centred;
      }
      double variance = squares / static_cast<double>(columns);
      mean[row] = static_cast<float>(average);
      rstd[row] = static_cast<float>(1.0 / std::sqrt(variance + epsilon));
    }
  });
}

BackwardResult layerNormBackward(const BackwardInputs &inputs,
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
  result.dgammaTerms = largestRoot(dgammaSquares);
  result.dbetaTerms = largestRoot(dbetaSquares);
  return result;
}

} // namespace lnbwd::reference
