//===- Parallel.cpp - Work on all cores -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace lnbwd::reference {

/// Rows are dealt out in this many pieces at most: enough to keep many cores
/// busy, few enough that the partial column sums stay small.
constexpr int64_t kMaxPieces = 128;

int64_t pieceCount(int64_t count) { return std::min(count, kMaxPieces); }

/// Where piece `index` of `pieces` begins; without a product that overflows.
static int64_t pieceBegin(int64_t count, int64_t pieces, int64_t index) {
  return count / pieces * index + std::min(index, count % pieces);
}

unsigned workerCount(int64_t rows) {
  auto cores =
      static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<unsigned>(
      std::clamp<int64_t>(std::min(cores, rows), 1, kMaxPieces));
}

void forEachPiece(
    int64_t count,
    const std::function<void(unsigned, int64_t, int64_t, int64_t)> &body) {
  const int64_t pieces = pieceCount(count);
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failureMutex;
  auto work = [&](unsigned worker) {
    try {
      for (int64_t piece = next++; piece < pieces; piece = next++)
        body(worker, piece, pieceBegin(count, pieces, piece),
             pieceBegin(count, pieces, piece + 1));
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

} // namespace lnbwd::reference
