//===- MemoryJournal.cpp - What memory held before a run ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages are as those of the shadow memory.
//
//===----------------------------------------------------------------------===//

#include "Check/MemoryJournal.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace lnbwd::sim;

/// What a journal may keep. A launch that stores more is a long one, of which
/// no other order is tried.
constexpr uint64_t MostKept = 256ull << 20;

static uint64_t nextNumber() {
  static std::atomic<uint64_t> Last{0};
  return ++Last;
}

MemoryJournal::MemoryJournal() : Number(nextNumber()) {}

void MemoryJournal::giveUp() {
  std::lock_guard<std::mutex> Guard(Lock);
  Whole = false;
}

void MemoryJournal::keep(void *Memory, uint32_t Bytes, uint64_t *Known,
                         uint32_t Words) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Whole)
    return;
  if (BytesKept + Bytes > MostKept) {
    Whole = false;
    return;
  }
  BytesKept += Bytes;
  Page P = {static_cast<uint8_t *>(Memory), Bytes, Known, Words, nullptr};
  P.Kept.reset(new uint8_t[Bytes + 8ull * Words]);
  std::memcpy(P.Kept.get(), Memory, Bytes);
  std::memcpy(P.Kept.get() + Bytes, Known, 8ull * Words);
  Pages.push_back(std::move(P));
}

void MemoryJournal::swap() {
  for (Page &P : Pages) {
    std::swap_ranges(P.Memory, P.Memory + P.Bytes, P.Kept.get());
    auto *Known = reinterpret_cast<uint8_t *>(P.Known);
    std::swap_ranges(Known, Known + 8ull * P.Words, P.Kept.get() + P.Bytes);
  }
}
