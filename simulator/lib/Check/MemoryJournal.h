//===- MemoryJournal.h - What memory held before a run ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch that is executed in several orders begins each time with the same
// memory. The journal keeps the pages that a run stores to, as they were.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_MEMORYJOURNAL_H
#define LNBWD_LIB_SIMULATOR_CHECK_MEMORYJOURNAL_H

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace lnbwd::sim {

/// Memory and what is known of it, both by the bytes of a page.
class MemoryJournal {
public:
  MemoryJournal();
  /// Tells this one from all others, also from those that are no more.
  uint64_t number() const { return Number; }
  /// Keeps what is there now; Known: bits of the same bytes, in whole words.
  /// Called once for a page, before anything is stored to it.
  void keep(void *Memory, uint32_t Bytes, uint64_t *Known, uint32_t Words);
  /// There is a store of which nothing was kept.
  void giveUp();
  /// Whether the pages kept are all there are.
  bool isWhole() const { return Whole; }
  /// Exchanges what was kept and what is there now.
  void swap();

private:
  struct Page {
    uint8_t *Memory;
    uint32_t Bytes;
    uint64_t *Known;
    uint32_t Words;
    std::unique_ptr<uint8_t[]> Kept;
  };
  const uint64_t Number;
  std::mutex Lock; ///< of what follows
  std::vector<Page> Pages;
  uint64_t BytesKept = 0;
  bool Whole = true;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_MEMORYJOURNAL_H
