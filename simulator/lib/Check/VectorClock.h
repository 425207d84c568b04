//===- VectorClock.h - What a wave knows of other waves ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Happens-before by vector clocks. A wave counts its memory instructions; the
// count and the wave are the epoch of an access. A wave's clock says for each
// other wave up to which count its accesses have completed before the wave's
// next one. Clocks are joined at barriers and where a wave acquires what
// another has released.
//
// A launch may have millions of waves. What is known of them is a tree of small
// vectors whose nodes are shared between clocks and copied when one of them
// changes, so that releasing a clock costs a pointer, and joining two that have
// much in common costs what they differ by.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_VECTORCLOCK_H
#define LNBWD_LIB_SIMULATOR_CHECK_VECTORCLOCK_H

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// What has come through of another wave: the numbers of the last of its memory
/// instructions that are over, reads and writes by themselves, and of the last
/// one that had been issued when it released that.
struct Known {
  uint32_t Read = 0, Write = 0, Issued = 0;
  bool operator==(const Known &O) const {
    return Read == O.Read && Write == O.Write && Issued == O.Issued;
  }
};

/// Known, by the number of the wave; all zeros where nothing is known.
class ClockTree {
public:
  ClockTree() = default;
  ClockTree(const ClockTree &O) : Root(O.Root), Levels(O.Levels) { keep(Root); }
  ClockTree(ClockTree &&O) noexcept : Root(O.Root), Levels(O.Levels) {
    O.Root = nullptr;
  }
  ClockTree &operator=(ClockTree O) noexcept {
    std::swap(Root, O.Root);
    std::swap(Levels, O.Levels);
    return *this;
  }
  ~ClockTree() { drop(Root, Levels); }

  bool empty() const { return !Root; }
  Known at(uint32_t Wave) const;
  /// Each number becomes the greater one.
  void raise(uint32_t Wave, const Known &To);
  /// Learns what Other knows. False: that was nothing new.
  bool join(const ClockTree &Other);
  /// Calls Function for all that is known, unless it lies in a part that is the
  /// same in Other, until that returns false. False if it did.
  bool forEachBeside(
      const ClockTree &Other,
      llvm::function_ref<bool(uint32_t, const Known &)> Function) const;

private:
  static constexpr unsigned Log = 4;
  static constexpr unsigned Fan = 1u << Log;
  struct Node {
    std::atomic<uint32_t> Users{1};
  };
  struct Leaf : Node {
    Known Entries[Fan];
  };
  struct Inner : Node {
    Node *Children[Fan] = {};
  };

  static Node *keep(Node *N) {
    if (N)
      N->Users.fetch_add(1, std::memory_order_relaxed);
    return N;
  }
  static void drop(Node *N, unsigned Level);
  static void own(Node *&N, unsigned Level);
  static void join(Node *&Mine, Node *Other, unsigned Level);
  static bool knows(const Node *Mine, const Node *Other, unsigned Level);
  bool knows(const ClockTree &Other) const;
  static bool forEach(const Node *N, const Node *Other, unsigned Level,
                      uint32_t First,
                      llvm::function_ref<bool(uint32_t, const Known &)> F);
  void grow(unsigned Level);

  Node *Root = nullptr;
  unsigned Levels = 0; ///< 0: the root is a leaf
};

struct Inst;

/// The wave of an access, its count of memory instructions and the instruction,
/// in one word; 0: none. The lowest bit is free.
class Epoch {
public:
  static constexpr unsigned IdBits = 12, ClockBits = 27, WaveBits = 24;
  static constexpr uint32_t LastClock = (1u << ClockBits) - 1;
  static constexpr uint32_t LastWave = (1u << WaveBits) - 1;
  Epoch() = default;
  /// Wave: its number in the launch plus 1.
  Epoch(uint32_t Wave, uint32_t Clock, uint16_t Id)
      : Bits(uint64_t(Wave) << (ClockBits + IdBits + 1) |
             uint64_t(Clock) << (IdBits + 1) | uint64_t(Id) << 1) {}
  static Epoch of(uint64_t Bits) {
    Epoch M;
    M.Bits = Bits;
    return M;
  }
  uint32_t wave() const { return uint32_t(Bits >> (ClockBits + IdBits + 1)); }
  uint32_t clock() const { return uint32_t(Bits >> (IdBits + 1)) & LastClock; }
  uint16_t id() const { return uint16_t(Bits >> 1 & ((1u << IdBits) - 1)); }
  /// All but the wave: epochs of one wave, in their order.
  uint64_t withinWave() const {
    return Bits & ((1ull << (ClockBits + IdBits + 1)) - 1);
  }
  uint64_t Bits = 0;
};

/// What a wave knows of another one of its workgroup: up to which number its
/// accesses are over, as the waves of the workgroup and (Done) as others see
/// it. ToLds: its copies between memory and LDS, which finish apart from Lds,
/// its other accesses there, and from Tensor, its copies of tensors.
struct ReleasedClocks {
  uint32_t Lds = 0, ToLds = 0, Tensor = 0, Read = 0, Write = 0;
  uint32_t DoneRead = 0, Done = 0;
  uint32_t Issued = 0; ///< number of its last one when it released that
  uint32_t Kept = 0;   ///< its last store that the L2 of its XCD may keep
  uint32_t Back = 0;   ///< up to which number the L2 has been written back
  /// False: it said no more than this.
  bool raise(const ReleasedClocks &To);
};
/// In place of a number: everything that had been issued by then.
constexpr uint32_t AllIssued = ~0u;

/// What is known of the waves of a workgroup, by their number in it. Those who
/// have passed a barrier know the same and share it. One host thread runs a
/// workgroup, so that nothing guards that.
class LocalClocks {
public:
  void reset(unsigned NumWaves);
  const ReleasedClocks &operator[](unsigned K) const {
    return Shared->Clocks[K];
  }
  /// To be changed: nobody shares it any more.
  ReleasedClocks &own(unsigned K) { return own().Clocks[K]; }
  bool join(const LocalClocks &Other);
  /// By wave, the last number up to which all accesses to LDS are over,
  /// whatever they are, as Epoch::withinWave gives it.
  const uint64_t *ldsLimits() const { return summed().LdsLimits.data(); }
  /// Whether anything has been written back.
  bool anyBack() const { return summed().AnyBack; }

private:
  struct Known : llvm::RefCountedBase<Known> {
    std::vector<ReleasedClocks> Clocks;
    std::vector<uint64_t> LdsLimits; ///< empty: not asked for so far
    bool AnyBack = false;            ///< the same
  };
  Known &own();
  const Known &summed() const;
  llvm::IntrusiveRefCntPtr<Known> Shared;
};

struct VectorClock {
  LocalClocks Local;
  ClockTree Remote; ///< waves of other workgroups, by number plus 1
  void reset(unsigned NumWaves);
  /// Learns what Other knows. False: that was nothing new.
  bool join(const VectorClock &Other);
};

/// What a wave would have released with each of its stores: found when
/// another one reads what was stored.
class WaveLog {
public:
  struct Entry {
    uint32_t Clock; ///< from here on
    ReleasedClocks Own;
    std::shared_ptr<const VectorClock> Others;
  };
  void add(Entry E);
  bool at(uint32_t Clock, Entry &Found) const;

private:
  static constexpr size_t Most = 4096;
  mutable std::mutex Lock;
  std::vector<Entry> Entries;
};

/// The logs of all waves of a launch.
class WaveLogs {
public:
  WaveLogs(uint64_t NumWaves, bool Wanted);
  ~WaveLogs();
  bool wanted() const { return Logs != nullptr; }
  /// That of the wave of this number plus 1, made on first use.
  WaveLog &of(uint32_t Wave);
  /// Null if the wave has stored nothing.
  const WaveLog *find(uint32_t Wave) const;

private:
  size_t Size;
  std::unique_ptr<std::atomic<WaveLog *>[]> Logs;
};

/// What the waves of a workgroup tell each other at barriers, and when they
/// end.
class BarrierClocks {
public:
  BarrierClocks(unsigned NumWaves);
  void start();
  struct Release {
    VectorClock All, Near, Far, Scalar;
    unsigned Barrier = 0;
    bool Idle = false; ///< an ended wave that had left before it did more
    /// It has all that the barrier before has told; and more than that.
    bool HasLast = false, HasMore = false;
  };
  /// A wave signals a barrier with an instruction: its part of what is told.
  Release &signal(unsigned Wave, const Inst *By);
  /// Whether a wave has gone on and ended without the last barrier that another
  /// one has passed, the Passed-th, though it had come to that instruction
  /// before: both went through the same barriers, one of them less often.
  bool hasMissed(unsigned Wave, unsigned Passed, const Inst *By) const {
    return Ended[Wave] && !Ended[Wave]->Idle && Signals[Wave] < Passed &&
           SignalledBy[Wave].contains(By);
  }
  /// What those who signal this barrier say.
  Release &releaseOf(unsigned Barrier);
  /// The signals of each named barrier.
  Release &named(unsigned Number);
  /// Whether a wave beside this one has not ended.
  bool othersRun(unsigned Wave) const;
  std::vector<unsigned> Signals;               ///< barriers, by wave
  std::vector<std::unique_ptr<Release>> Ended; ///< by wave
  bool AnyEnded = false;
  /// The instructions by which each wave has signalled.
  std::vector<llvm::SmallPtrSet<const Inst *, 16>> SignalledBy;

private:
  unsigned NumWaves;
  void forget(Release &T) const;
  Release Two[2]; ///< of the present barrier and of the one before it
  std::map<unsigned, Release> Named; ///< by number
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_VECTORCLOCK_H
