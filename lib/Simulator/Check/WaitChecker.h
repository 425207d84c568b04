//===- WaitChecker.h - Results used before they were waited for -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory instructions of a wave that are under way, by counter.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_WAITCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_WAITCHECKER_H

#include "Check/LaunchChecks.h"
#include "Core/Wave.h"

#include <vector>

namespace lnbwd::sim {

/// What the ISA documents call a counter.
const char *counterName(WaitCounter C, unsigned Generation);

/// The counters of a wave. What returns a bool returns false if it has stopped
/// the wave.
class WaitChecker {
public:
  WaitChecker(WorkgroupChecks &WG, Wave &W) : L(WG.L), WG(WG), W(W) {}
  void start();
  /// Before an instruction: whether what it reads and writes is there.
  bool checkPending(const Inst *I, const Effects &E);
  /// An instruction that waits.
  void waitInstruction(const Inst *I, const Effects &E);
  /// Counts an instruction that has been issued, with what it has accessed.
  void issue(const Inst *I, const Effects &E, std::vector<LdsPiece> &Lds,
             std::vector<GlobalPiece> &Stored);
  /// The wave signals a barrier: what its unfinished accesses write to LDS is
  /// not yet there for those who pass it, and what they read must not be
  /// overwritten yet.
  void barrierSignalled();
  /// An access to LDS that a load may still be filling.
  bool unfinishedLds(const Inst *I, uint32_t Address, unsigned Bytes,
                     unsigned Lane);
  bool anything() const { return Outstanding != 0; }
  bool anyLoadToLds() const { return OutstandingLds != 0; }
  /// Whether the memory instruction of that number has not been waited for.
  bool isUnderWay(uint64_t Store) const;
  WaitCounter storeCounter() const {
    return L.Generation == 9 ? WaitLoad : WaitStore;
  }
  /// A store that has not been waited for: its number, what it has written.
  struct UnfinishedStore {
    uint64_t Number;
    std::vector<GlobalPiece> Pieces;
  };
  /// Takes what unfinished stores have written outside of [Begin, End); they
  /// are not named again. Accesses to one address reach memory in order.
  std::vector<UnfinishedStore> takeUnfinishedStores(uint64_t Begin,
                                                    uint64_t End);

private:
  enum EventType : uint8_t {
    VectorLoad,
    VectorStore,
    FlatAccess,
    LdsAccess,
    ScalarAccess,
    NumTypes
  };
  struct Event {
    EventType Type;
    RegisterSpan Vector, Scalar;
    const Inst *I;
    std::vector<LdsPiece> Lds;       ///< what it accesses there
    bool LdsLoad;                    ///< and only reads
    std::vector<GlobalPiece> Stored; ///< in global memory, if that is followed
    uint64_t Number;
  };
  struct EventQueue {
    static constexpr unsigned Size = 64;
    Event Events[Size];
    unsigned First = 0, Count = 0;
    unsigned Types[NumTypes] = {};
    Event &at(unsigned K) { return Events[(First + K) % Size]; }
    void drop() {
      First = Count = 0;
      for (unsigned &N : Types)
        N = 0;
    }
  };

  bool pendingFault(const Inst *I, unsigned Register, bool Scalar, bool Write);
  bool outOfOrder(WaitCounter C) const;
  void retire(WaitCounter C);
  void wait(WaitCounter C, unsigned Most);
  void push(WaitCounter C, const Event &Ev);

  LaunchChecks &L;
  WorkgroupChecks &WG;
  Wave &W;
  EventQueue Queues[NumWaits];
  unsigned Outstanding = 0;
  unsigned OutstandingLds = 0; ///< loads on their way to LDS
  uint8_t PendingVector[NumVectorRows];
  uint8_t PendingScalar[NumScalarSlots];
  uint64_t NextNumber = 0; ///< of the memory instructions issued
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_WAITCHECKER_H
