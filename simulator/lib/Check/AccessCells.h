//===- AccessCells.h - Who accessed which bytes -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell holds the accesses to a few bytes that later ones may race with: the
// last plain store, or several that have stored the same without an order, and
// the reads and atomics since then that are not ordered among each other.
// Mostly that is one of each kind or none, so that a look at a cell is one
// comparison.
//
// The cells of a page are as large as its accesses allow: of a page that waves
// stream over they have 1 KiB, and become smaller, with what they hold, as soon
// as an access covers a part of one.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_ACCESSCELLS_H
#define LNBWD_LIB_SIMULATOR_CHECK_ACCESSCELLS_H

#include "Check/VectorClock.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace lnbwd::sim {

/// Several accesses that are not ordered among each other. Cells of LDS share
/// them, since waves mostly read the same as their neighbours do; who changes
/// one has it alone. One host thread runs a workgroup, so that nothing guards
/// Users.
struct Crowd {
  static constexpr unsigned Most = 32;
  /// No longer keeps an access by itself.
  void addToOthers(uint64_t M);
  llvm::SmallVector<uint64_t, 4> Moments;
  /// The waves of those that are too many, with their numbers as Write.
  ClockTree Others;
  /// The latest one of Others: what its instruction is taken for all of theirs.
  uint64_t OneOfOthers = 0;
  ClockTree Given; ///< what those have released
  uint32_t Users = 1;
};

/// No access, one, or a crowd.
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
  uint64_t moment() const { return Bits; }
  Crowd *crowd() const {
    return Bits & 1 ? reinterpret_cast<Crowd *>(Bits & ~1ull) : nullptr;
  }
  bool operator==(const Accesses &O) const { return Bits == O.Bits; }
  void clear() {
    if (Bits & 1)
      drop(crowd());
    Bits = 0;
  }
  void set(uint64_t Moment) {
    clear();
    Bits = Moment;
  }
  /// Adds an access after those that IsOrdered says are before it, which then
  /// need not be kept. GaveUp is called for each that finds no room.
  void add(uint64_t Moment, llvm::function_ref<bool(uint64_t)> IsOrdered,
           llvm::function_ref<void(uint64_t, Crowd &)> GaveUp);
  Accesses copy() const;
  /// Becomes the same as another one, with which it shares its crowd.
  void share(const Accesses &O) {
    if (Crowd *C = O.crowd())
      ++C->Users;
    clear();
    Bits = O.Bits;
  }
  /// Its crowd, if it has one, after which nobody shares it.
  Crowd *own();

private:
  static void drop(Crowd *C) {
    if (--C->Users == 0)
      delete C;
  }
  uint64_t Bits = 0;
};

struct Cell {
  Accesses Writes, Reads, Atomics;
  Cell copy() const;
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
  Cell *Cells;
  uint32_t Count;
  unsigned Granule; ///< log2 of the bytes of one
  uint64_t Address; ///< of the first one's first byte
  /// What the last plain store has stored in each byte, where that is kept.
  uint8_t *Values;
};

class CellPage {
public:
  static constexpr unsigned PageLog = 12;
  static constexpr uint32_t PageBytes = 1u << PageLog;

  ~CellPage() { uncount(); }
  /// Forgets all accesses; the size of the cells stays.
  void forget();
  /// The cells of the bytes [From, To), which they cover exactly, and their
  /// number. Null: there is no memory left for the page; Counted: there may be
  /// none. WithValues: values() has room for what will be stored.
  Cell *cells(uint32_t From, uint32_t To, uint32_t &Count, bool Counted,
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
  Cell *present(uint32_t From, uint32_t To, uint32_t &Count);
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
  std::unique_ptr<Cell[]> Cells;
  std::unique_ptr<uint8_t[]> Values;
  uint64_t BytesCounted = 0;
  uint8_t Granule = 0;
  bool LeftOut = false, IsNew = false;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_ACCESSCELLS_H
