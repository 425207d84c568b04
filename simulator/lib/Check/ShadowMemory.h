//===- ShadowMemory.h - What is known of each byte --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside each buffer of global memory: which bytes have been written since it
// was allocated, and, during a launch, which waves have accessed them. Pages
// are locked one by one, so that host threads can run workgroups side by side.
//
// A shadow cell holds the accesses to a few bytes that later ones may
// race with: the last plain store, or several that have stored the same without
// an order, and the reads and atomics since then that are not ordered among
// each other. Mostly that is one of each kind or none, so that a look at a cell
// is one comparison. LDS has cells as well.
//
// The cells of a page are as large as its accesses allow: of a page that waves
// stream over they have 1 KiB, and become smaller, with what they hold, as soon
// as an access covers a part of one.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H
#define LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H

#include "Check/VectorClock.h"
#include "Core/Memory.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// A read set, also of stores and of atomics: the accesses of a cell that are
/// not ordered among each other. Cells of LDS share them, since waves mostly
/// read the same as their neighbours do; who changes one has it alone. One host
/// thread runs a workgroup, so that nothing guards Users.
struct AccessSet {
  static constexpr unsigned Most = 32;
  /// No longer keeps an access by itself.
  void addToOthers(uint64_t M);
  llvm::SmallVector<uint64_t, 4> Epochs;
  /// The waves of those that are too many, with their numbers as Write.
  ClockTree Others;
  /// The latest one of Others: what its instruction is taken for all of theirs.
  uint64_t OneOfOthers = 0;
  ClockTree Given; ///< what those have released
  uint32_t Users = 1;
};

/// No access, the epoch of one, or a set of several.
class Accesses {
public:
  Accesses() = default;
  Accesses(Accesses &&O) noexcept : Bits(std::exchange(O.Bits, 0)) {}
  Accesses &operator=(Accesses &&O) noexcept {
    std::swap(Bits, O.Bits);
    return *this;
  }
  ~Accesses() { clear(); }
  bool empty() const { return !Bits; }
  bool single() const { return Bits && !(Bits & 1); }
  uint64_t epoch() const { return Bits; }
  AccessSet *accessSet() const {
    return Bits & 1 ? reinterpret_cast<AccessSet *>(Bits & ~1ull) : nullptr;
  }
  bool operator==(const Accesses &O) const { return Bits == O.Bits; }
  void clear() {
    if (Bits & 1)
      drop(accessSet());
    Bits = 0;
  }
  void set(uint64_t New) {
    clear();
    Bits = New;
  }
  /// The same where there is no set.
  void put(uint64_t New) { Bits = New; }
  /// Adds an access after those that IsOrdered says are before it, which then
  /// need not be kept. GaveUp is called for each that finds no room.
  void add(uint64_t New, llvm::function_ref<bool(uint64_t)> IsOrdered,
           llvm::function_ref<void(uint64_t, AccessSet &)> GaveUp);
  Accesses copy() const;
  /// Becomes the same as another one, with which it shares its set.
  void share(const Accesses &O) {
    if (AccessSet *C = O.accessSet())
      ++C->Users;
    clear();
    Bits = O.Bits;
  }
  /// Its set, if it has one, after which nobody shares it.
  AccessSet *own();

private:
  static void drop(AccessSet *C) {
    if (--C->Users == 0)
      delete C;
  }
  uint64_t Bits = 0;
};

struct ShadowCell {
  Accesses Writes, Reads, Atomics;
  ShadowCell copy() const;
};

/// The memory that cells of global memory take in this process, and how much
/// that may be: LNBWD_SIM_RACES_MB in the environment, or 4096 MiB.
struct CellBudget {
  std::atomic<uint64_t> Bytes{0};
  uint64_t Most;
  static CellBudget &get();
};

/// Cells side by side.
struct CellRun {
  ShadowCell *Cells;
  uint32_t Count;
  unsigned Granule; ///< log2 of the bytes of one
  uint64_t Address; ///< of the first one's first byte
  /// What the last plain store has stored in each byte, where that is kept.
  uint8_t *Values;
};

class ShadowPage {
public:
  static constexpr unsigned PageLog = 12;
  static constexpr uint32_t PageBytes = 1u << PageLog;

  ~ShadowPage() { uncount(); }
  /// Forgets all accesses; the size of the cells stays.
  void forget();
  /// The cells of the bytes [From, To), which they cover exactly, and their
  /// number. Null: there is no memory left for the page; Counted: there may be
  /// none. WithValues: values() has room for what will be stored.
  ShadowCell *cells(uint32_t From, uint32_t To, uint32_t &Count, bool Counted,
                    bool WithValues = false) {
    const unsigned Need =
        unsigned(__builtin_ctz(From | To | 1u << LargestGranule));
    if (__builtin_expect(!Cells || Granule > Need || (WithValues && !Values),
                         0) &&
        !grow(Need, Counted, WithValues))
      return nullptr;
    Count = (To - From) >> Granule;
    return &Cells[From >> Granule];
  }
  /// The cells that hold bytes of [From, To), as they are; null: there is none.
  ShadowCell *present(uint32_t From, uint32_t To, uint32_t &Count);
  void prefetch(uint32_t Byte) const {
    if (Cells)
      __builtin_prefetch(&Cells[Byte >> Granule], /*rw=*/1);
  }
  /// Null, or the values of the page's bytes, as far as stores have left them.
  uint8_t *values() { return Values.get(); }
  /// Whether cells() has given up on the page since the last call.
  bool isNewlyLeftOut() { return std::exchange(IsNew, false); }
  /// log2 of the bytes of a cell.
  unsigned granule() const { return Granule; }

private:
  static constexpr unsigned LargestGranule = 10;
  uint32_t count() const { return PageBytes >> Granule; }
  bool grow(unsigned Need, bool Counted, bool WithValues);
  void uncount();
  std::unique_ptr<ShadowCell[]> Cells;
  std::unique_ptr<uint8_t[]> Values;
  uint64_t BytesCounted = 0;
  uint8_t Granule = 0;
  bool LeftOut = false, IsNew = false;
};

/// A launch that is executed in several orders begins each time with the same
/// memory. The journal keeps the pages that a run stores to, and what is known
/// of them, as they were.
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

/// What an access did wrong.
struct ShadowProblem {
  enum Kind : uint8_t { None, NeverWritten, ReadOnly } What = None;
  uint64_t Address = 0;
};

class BufferShadow final : public BufferNotes {
public:
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

  /// One access of [Address, Address + Bytes). PartlyWritten: a scalar load may
  /// run over the end of what it is for.
  ShadowProblem access(uint64_t Address, uint64_t Bytes, bool Reads,
                       bool Writes, bool PartlyWritten);

  /// Something will be stored there: what is there now is kept.
  void keep(uint64_t Address, uint64_t Bytes, MemoryJournal &Journal);

  /// Calls Function for the cells of the bytes in a launch; false if one of the
  /// calls was. WithValues: with room for what is stored there. LeftOut counts
  /// pages that have no cells.
  bool cells(uint64_t Address, uint64_t Bytes, uint32_t LaunchNumber,
             bool WithValues, std::atomic<uint64_t> &LeftOut,
             llvm::function_ref<bool(const CellRun &)> Function);
  /// For those that there are.
  void presentCells(uint64_t Address, uint64_t Bytes, uint32_t LaunchNumber,
                    llvm::function_ref<void(ShadowCell *, uint32_t)> Function);
  /// What a launch has left out between the first and the last byte that it has
  /// written, or, of a buffer where it has written none, read.
  struct Gaps {
    bool Writes = false;
    uint64_t Bytes = 0; ///< left out
    uint64_t Begin = 0, End = 0;
  };
  Gaps gaps(uint32_t LaunchNumber) const;
  /// What a launch has done to each byte: 1 read, 2 written.
  void accesses(uint64_t Address, uint64_t Bytes, uint32_t LaunchNumber,
                uint8_t *Ways) const;
  /// The number, plus 1, of the workgroup that has read, or (Writes) written,
  /// the first byte of each element; 0: none has. Of several it is One if that
  /// is among them, otherwise SeveralGroups.
  void accessors(uint64_t Address, uint64_t Count, uint64_t ElementBytes,
                 uint32_t LaunchNumber, bool Writes, unsigned WavesPerWorkgroup,
                 uint32_t One, uint32_t *Groups) const;
  static constexpr uint32_t SeveralGroups = ~0u;
  /// An access to the byte, or none.
  Epoch accessAt(uint64_t Address, uint32_t LaunchNumber, bool Writes) const;
  /// "write of 4 bytes at 0x1000, byte 0 of the buffer 'x' of 64 bytes".
  std::string describe(const char *Verb, uint64_t Bytes,
                       uint64_t Address) const;

  bool ReadOnly = false; ///< kernels must not write to it
  /// Nor to these parts: begin and end addresses.
  std::vector<std::pair<uint64_t, uint64_t>> ReadOnlyParts;

private:
  static constexpr unsigned PageLog = ShadowPage::PageLog;
  static constexpr uint64_t PageBytes = 1u << PageLog;
  struct Page {
    std::atomic_flag Lock = ATOMIC_FLAG_INIT;
    uint32_t LaunchNumber = 0;
    uint64_t KeptIn = 0; ///< the last journal that has kept it
    uint64_t Written[PageBytes / 64] = {};
    ShadowPage Cells;
  };
  class PageGuard;
  /// The page of an offset, made on first use.
  Page &page(uint64_t Offset);
  /// The first byte of [Address, End) that is, or is not, written; End if there
  /// is none.
  uint64_t nextByte(uint64_t Address, uint64_t End, bool Written) const;
  /// Calls Function(offset, bytes, cell) for the cells of a launch, in their
  /// order, on the pages of these offsets.
  template <typename F>
  void forAccesses(uint32_t LaunchNumber, uint64_t Begin, uint64_t End,
                   F Function) const;
  /// Calls Function(page, its address, From, To) for the parts of the bytes.
  template <typename F>
  bool forPages(uint64_t Address, uint64_t Count, F Function);

  bool Default; ///< whether bytes of pages not made yet are written
  std::unique_ptr<std::atomic<Page *>[]> Pages;
};

/// A BufferShadow for each buffer of a process while its memory is checked. Not
/// synchronised, as the memory is not: the caller holds a lock.
class DeviceShadows {
public:
  explicit DeviceShadows(DeviceMemory &Memory) : Memory(Memory) {}
  /// From now on buffers have shadows.
  void setChecked(bool On);
  /// The shadow of the buffer that holds the address, or null.
  BufferShadow *shadowAt(uint64_t Address) const;

  /// The host has written the bytes; From: they are a copy of those there.
  void wrote(uint64_t Address, uint64_t Bytes, uint64_t From = 0);
  /// Says what the bytes, all of them in one buffer, are to kernels. From then
  /// on, kernels may access these bytes only. False: there is no such buffer.
  bool describe(uint64_t Address, uint64_t Bytes, const std::string &Name,
                bool ReadOnly, bool Unwritten);
  /// Makes the bytes, a part of a buffer that stays accessible, read-only to
  /// kernels, and names the buffer.
  void protect(uint64_t Address, uint64_t Bytes, const std::string &Name);

private:
  DeviceMemory &Memory;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_SHADOWMEMORY_H
