//===- ShadowMemory.h - What is known of each byte of a buffer --*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside each buffer of global memory: which bytes have been written since it
// was allocated, and, during a launch, which workgroup wrote or read each piece
// of it. Pages are locked one by one, so that host threads can run workgroups
// side by side.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H
#define LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H

#include "Core/Memory.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// What kind of access a race is judged by.
enum class GlobalAccess : uint8_t {
  Read,
  CoherentRead,
  Write,
  Atomic,
  CompareSwap ///< an atomic that checks a value read before
};

/// The number of a workgroup in its launch, plus 1.
using WorkgroupMark = uint32_t;

/// The workgroups that have handed on their writes to another one.
using WorkgroupSet = std::vector<uint64_t>;

/// Orders that workgroups of one launch have made through memory: an atomic
/// hands on everything its workgroup has seen, one that returns a value takes
/// what was handed on at its address.
class GlobalOrder {
public:
  GlobalOrder(uint64_t NumWorkgroups, bool Synchronises)
      : Words(Synchronises && NumWorkgroups <= MostWorkgroups
                  ? size_t(NumWorkgroups / 64 + 1)
                  : 0),
        Synchronises(Synchronises) {}
  void atomic(uint64_t Address, WorkgroupMark Me, WorkgroupSet &Seen,
              bool Takes);
  static bool contains(const WorkgroupSet &Set, WorkgroupMark W) {
    return W / 64 < Set.size() && (Set[W / 64] >> W % 64 & 1);
  }
  bool tracks() const { return Words != 0; }
  /// Too many workgroups to follow what they hand on.
  bool gaveUp() const { return Synchronises && !Words; }
  size_t words() const { return Words; }

private:
  static constexpr uint64_t MostWorkgroups = 1 << 16;
  size_t Words;
  bool Synchronises;
  std::mutex Lock;
  std::unordered_map<uint64_t, WorkgroupSet> Released;
};

/// What an access did wrong.
struct ShadowProblem {
  enum Kind : uint8_t { None, NeverWritten, ReadOnly, Race } What = None;
  uint64_t Address = 0;
  WorkgroupMark Other = 0; ///< Many: several
  bool OtherWrote = false;
  bool NotWaited = false; ///< the other's store was under way when it was
                          ///< handed on
};

class BufferShadow final : public BufferNotes {
public:
  static constexpr WorkgroupMark Many = 0x1fffffff;

  /// Written: the contents count as written already.
  BufferShadow(uint64_t Begin, uint64_t Bytes, bool Written);
  ~BufferShadow() override;

  /// Bytes that the host has written, or (false) given back.
  void mark(uint64_t Address, uint64_t Bytes, bool Written);
  bool written(uint64_t Address) const;
  /// How many of the elements of so many bytes from Address on have a byte that
  /// was never written, and the number of the first one.
  uint64_t countUnwritten(uint64_t Address, uint64_t Elements,
                          uint64_t ElementBytes, uint64_t &First) const;

  /// One access of [Address, Address + Bytes) by a workgroup of the launch that
  /// Epoch numbers; Granule is log2 of the pieces that races are told by.
  /// PartlyWritten: a scalar load may run over the end of what it is for.
  struct Access {
    GlobalAccess Kind;
    WorkgroupMark Me;
    uint32_t Epoch;
    unsigned Granule;
    bool CheckWritten, CheckRaces, PartlyWritten;
    GlobalOrder *Order;
    WorkgroupSet *Seen;
  };
  ShadowProblem access(uint64_t Address, uint64_t Bytes, const Access &A);

  /// Whether what A.Me has last written there was still under way when an
  /// atomic handed it on.
  void markUnderWay(uint64_t Address, uint64_t Bytes, const Access &A,
                    bool UnderWay);

  bool ReadOnly = false; ///< kernels must not write to it
  /// Nor to these parts: begin and end addresses.
  std::vector<std::pair<uint64_t, uint64_t>> ReadOnlyParts;

private:
  static constexpr unsigned PageLog = 12;
  static constexpr uint64_t PageBytes = 1u << PageLog;
  struct Page {
    std::atomic_flag Lock = ATOMIC_FLAG_INIT;
    uint32_t Epoch = 0;
    uint64_t Written[PageBytes / 64] = {};
    std::unique_ptr<uint64_t[]> Cells;
    unsigned CellsGranule = 0;
  };
  class PageGuard;
  /// The page of an offset, made on first use.
  Page &page(uint64_t Offset);
  /// The first byte of [Address, End) that is, or is not, written; End if there
  /// is none.
  uint64_t nextByte(uint64_t Address, uint64_t End, bool Written) const;
  ShadowProblem accessPage(Page &P, uint64_t PageAddress, uint64_t From,
                           uint64_t To, const Access &A);

  bool Default; ///< whether bytes of pages not made yet are written
  std::unique_ptr<std::atomic<Page *>[]> Pages;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H
