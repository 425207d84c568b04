//===- Parallel.h - Work on all cores ---------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deals rows out to threads in pieces that depend on the number of rows alone,
// so that what is summed piece by piece has the same bits on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_PARALLEL_H
#define LNBWD_REFERENCE_PARALLEL_H

#include <cstdint>
#include <functional>

namespace lnbwd::reference {

/// The number of threads that forEachPiece uses for that many rows.
unsigned workerCount(int64_t rows);

/// Into how many pieces that many rows are dealt out.
int64_t pieceCount(int64_t count);

/// Calls `body(worker, piece, begin, end)` for each piece of [0, count) on all
/// cores; an exception of one ends up at the caller.
void forEachPiece(int64_t count,
                  const std::function<void(unsigned worker, int64_t piece,
                                           int64_t begin, int64_t end)> &body);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_PARALLEL_H
