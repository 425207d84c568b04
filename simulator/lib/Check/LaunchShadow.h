//===- LaunchShadow.h - What the checks of a launch share -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shadow of a launch and of each of its workgroups: which checks there are,
// what their waves have in common, and who touched LDS. The first two classes
// hold what may be a race and is decided when the launch is executed again.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_LAUNCHSHADOW_H
#define LNBWD_LIB_SIMULATOR_CHECK_LAUNCHSHADOW_H

#include "Check/CodeAnalysis.h"
#include "Check/Effects.h"
#include "Check/Resources.h"
#include "Check/ShadowMemory.h"
#include "Check/VectorClock.h"
#include "Core/Launch.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// Where a block has fewer elements than the workgroup has lanes, several waves
/// load it and one of them stores it. A load that happens to come before the
/// store is a race if its value is used, which shows only later. So the launch
/// is executed again, and what such a load gives counts as undefined there.
class EarlyReads {
public:
  /// A wave's index in its workgroup and the number of a memory instruction.
  using Access = std::pair<uint32_t, uint16_t>;
  /// Bytes that are read and then stored, by another wave of the workgroup.
  struct Case {
    uint64_t Address, Bytes;
    Access Store;
  };
  /// False: the race is to be reported at once.
  bool note(Access Load, const Case &Of);
  bool hasCases() const { return !Cases.empty(); }
  /// The launch is executed again: its loads are looked for, and no others
  /// noted.
  void follow() { Follows = true; }
  void forget();
  /// A case that a load is part of, or null.
  const Case *find(Access Load, uint64_t Address, uint64_t Bytes) const;

private:
  static constexpr size_t Most = 1024;
  bool Follows = false;
  std::mutex Lock; ///< of what follows, until the launch is executed again
  std::map<Access, std::vector<Case>> Cases;
};

/// Triton has all lanes store the result of a reduction to one place of LDS,
/// and each has combined it in another order. Whether two f32 values are such
/// results, or no more than near each other, shows when the launch is executed
/// again and rounds up: results of arithmetic then move by about as much as
/// they differ.
class RoundingJudge {
public:
  /// Two stores of one instruction to one place, at one time of their waves.
  struct Place {
    uint16_t Instruction = 0;
    uint32_t Wave = 0, Clock = 0, Address = 0;
    uint16_t Lanes = 0; ///< of one wave; 0: of several
    bool operator==(const Place &O) const {
      return Instruction == O.Instruction && Wave == O.Wave &&
             Clock == O.Clock && Address == O.Address && Lanes == O.Lanes;
    }
  };
  /// Whether two values that are stored there count as one. The first time all
  /// numbers do, to be judged later.
  bool accepts(const Place &At, uint32_t X, uint32_t Y);
  bool hasCases() const { return !Cases.empty(); }
  /// Values count that are the same, too: rounded up, others are.
  bool wantsAll() const { return TheStage == Stage::Compares; }
  /// The launch is executed again, and rounds up.
  void expectOthers() { TheStage = Stage::Compares; }
  /// Whether all cases are results of arithmetic that differ in rounding; those
  /// that do not move say nothing, if others of their instruction do. From now
  /// on the instructions of the others are not accepted.
  bool judge();

private:
  enum class Stage : uint8_t { Gathers, Compares, Judged };
  struct Case {
    Place At;
    float X, Y;               ///< as usual
    float UpX = 0, UpY = 0;   ///< rounded up
    bool IsThere = false;     ///< also when rounded up
    float difference() const; ///< of X and Y, relative
    bool differsInRounding() const;
    bool isUnmoved() const;
  };
  Stage TheStage = Stage::Gathers;
  std::mutex Lock; ///< of what follows
  std::vector<Case> Cases;
  std::set<uint16_t> Good;
};

/// When what is stored in LDS is read: nobody knows, before long, or some time
/// later; but in the last two cases not again behind a barrier.
enum class LdsUse : uint8_t { Unknown, Soon, Later };

/// What all waves of a checked launch share.
struct LaunchShadow {
  LaunchShadow(const Launch &L, const CodeAnalysis &Code, unsigned Checks);

  const CodeEffects &TheEffects;
  const CodeHazards &Hazards;
  unsigned Checks;
  uint32_t LaunchNumber; ///< numbers the launches of the process
  /// What keeps the memory that the launch stores to, or null.
  MemoryJournal *Journal = nullptr;
  /// Takes values in LDS for one that differ in rounding, or null.
  RoundingJudge *Rounding = nullptr;
  /// Loads that come before a store without an order, or null: they are
  /// reported at once.
  EarlyReads *Early = nullptr;
  /// Each workgroup whose number is a multiple of it is checked, and the last.
  /// Of others only the stores are noted, so that memory counts as written.
  uint64_t Sample = 1, LastWorkgroup = 0;
  const bool
      IsInterleaved; ///< other waves may go on wherever this wants them to
  CacheModel Caches;
  WaveLogs Logs;
  /// What the check of races has left out: waves beyond the number that can be
  /// told apart, pages of memory beyond the limit.
  std::atomic<uint64_t> WavesLeftOut{0}, PagesLeftOut{0};
  /// Whether what is stored in global memory has to be kept beside it: the
  /// check comes before the store, and another host thread may look in between.
  bool KeepsValues;
  unsigned Generation;
  /// What the kernel descriptor allocates.
  unsigned VgprLimit, AgprLimit, SgprLimit;
  /// An instruction of the program uses more, though maybe not the kernel's.
  bool MayExceed;
  unsigned LdsBanks;
  std::mutex Lock; ///< of what follows
  CheckCounts Counts;
  /// What is told at the barriers of a cluster, by its number and theirs.
  std::map<std::pair<uint64_t, unsigned>, ClockTree> ClusterClocks;
  /// By the number of an instruction, as Launch says.
  std::vector<LdsUse> LdsUses;
  LdsUse ldsUse(const Effects &E) const {
    return E.Use.Id < LdsUses.size() ? LdsUses[E.Use.Id] : LdsUse::Unknown;
  }
  bool memory() const { return Checks & LNBWD_SIM_CHECK_MEMORY; }
  bool registers() const { return Checks & LNBWD_SIM_CHECK_REGISTERS; }
  bool races() const { return Checks & LNBWD_SIM_CHECK_RACES; }
  bool waits() const { return Checks & LNBWD_SIM_CHECK_WAITS; }
  bool limits() const { return Checks & LNBWD_SIM_CHECK_LIMITS; }
  bool alignment() const { return Checks & LNBWD_SIM_CHECK_ALIGNMENT; }
  bool hazards() const { return Checks & LNBWD_SIM_CHECK_HAZARDS; }
  bool counts() const { return Checks & LNBWD_SIM_CHECK_COUNTS; }
};

/// What a byte of LDS holds.
enum LdsContents : uint8_t {
  LdsNeverWritten,
  LdsDefined,
  LdsUndefined, ///< a register was stored there that was not defined
  /// From here on: stored for Soon or Later after a number of barriers, or read
  /// then (LdsChecker).
  LdsForOnce
};

/// What is said of a byte that ought to have been stored again.
inline constexpr const char *LdsUsedText =
    "what it holds is of an earlier operation: it was stored, and perhaps "
    "read, before other barriers than the last one";

/// The bytes [Begin, End) of LDS.
struct LdsPiece {
  LdsPiece(uint32_t Begin, uint32_t End) : Begin(Begin), End(End) {}
  uint32_t Begin, End;
};

/// Lanes that access LDS side by side, or read one place.
struct LdsRun {
  uint32_t Address, Bytes;
  unsigned Lane; ///< the first one
};

/// The part of an instruction's accesses that lies together.
struct AccessRange {
  const Inst *I;
  const Effects *E;
  MemoryAccess Access;
  uint64_t Address; ///< of the first byte, in LDS or global
  uint64_t Bytes;
  unsigned LaneBytes;              ///< what a lane accesses
  int Lane = -1;                   ///< the first one; -1: none
  BufferShadow *Shadow = nullptr;  ///< of global memory; null: LDS
  const uint32_t *Data = nullptr;  ///< rows of what a store stores
  const uint8_t *Copied = nullptr; ///< or what a wave's copy does
  bool isLds() const { return !Shadow; }
};

/// What the waves of a workgroup share.
struct WorkgroupShadow {
  WorkgroupShadow(LaunchShadow &L, unsigned NumWaves, uint32_t LdsBytes);
  /// Another workgroup begins.
  void start(uint64_t Number);

  /// Calls Function for the cells of a range, as BufferShadow::cells does.
  template <typename F> bool cells(const AccessRange &R, F Function) {
    if (!R.isLds())
      return R.Shadow->cells(R.Address, R.Bytes, L.LaunchNumber,
                             L.KeepsValues && R.Access == MemoryAccess::Store,
                             L.PagesLeftOut, Function);
    for (uint64_t At = R.Address, End = At + R.Bytes; At < End;) {
      const CellRun Run = ldsCells(uint32_t(At), uint32_t(End));
      if (!Function(Run))
        return false;
      At += Run.Count << Run.Granule;
    }
    return true;
  }
  /// The cells of the bytes [From, To) of LDS, or of those in its first page.
  CellRun ldsCells(uint32_t From, uint32_t To) {
    const uint32_t Begin = From % ShadowPage::PageBytes;
    ShadowPage &P = Pages[From >> ShadowPage::PageLog];
    uint32_t Count;
    ShadowCell *Cells = P.cells(
        Begin, std::min(ShadowPage::PageBytes, Begin + To - From), Count,
        /*Counted=*/false);
    return {Cells, Count, P.granule(), From, nullptr};
  }
  void prefetchLds(uint32_t Address) const {
    Pages[Address >> ShadowPage::PageLog].prefetch(Address %
                                                   ShadowPage::PageBytes);
  }
  void presentCells(const AccessRange &R,
                    llvm::function_ref<void(ShadowCell *, uint32_t)> Function);

  LaunchShadow &L;
  uint64_t Number = 0;           ///< of the workgroup in the launch
  bool IsChecked = true;         ///< else only its stores are noted
  std::vector<uint8_t> Written;  ///< LdsContents, for each byte of LDS
  std::vector<ShadowPage> Pages; ///< of LDS
  BarrierClocks Barriers;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LAUNCHSHADOW_H
