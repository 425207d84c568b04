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

#include "Check/LaunchShadow.h"
#include "Core/Wave.h"

#include <vector>

namespace lnbwd::sim {

/// What the ISA documents call a counter.
const char *counterName(WaitCounter C, unsigned Generation);

/// The counters of a wave. What returns a bool returns false if it has stopped
/// the wave.
class WaitChecker {
public:
  WaitChecker(WorkgroupShadow &WG, Wave &W) : L(WG.L), W(W) {}
  void start();
  /// Before an instruction: whether what it reads and writes is there.
  bool checkPending(const Inst *I, const Effects &E);
  /// An instruction that waits.
  void waitInstruction(const Inst *I, const Effects &E);
  /// Counts an instruction that has been issued, by its number among the wave's
  /// memory instructions, with what it fills of LDS. IsPrivate: no lane has
  /// accessed other memory than its own.
  void issue(const Inst *I, const Effects &E, uint32_t Number,
             std::vector<LdsPiece> &Filled, bool IsPrivate);
  /// An access to LDS where a copy may still be under way.
  bool unfinishedLds(const Inst *I, uint32_t Address, unsigned Bytes,
                     unsigned Lane, bool IsStore);
  bool anything() const { return Outstanding != 0 || !Translations.empty(); }
  /// Whether it may read or write a register that waits for its value.
  bool mayTouch(const Effects &E) const {
    return (E.VectorsUsed & VectorsPending) | (E.ScalarsUsed & ScalarsPending);
  }
  /// Whether it may overwrite a source of an access that hardware may repeat.
  bool mayOverwrite(const Effects &E) const {
    return !Translations.empty() &&
           ((E.VectorsUsed & VectorsTranslating) |
            (E.ScalarsUsed & ScalarsTranslating) | uint64_t(E.WritesExec));
  }
  /// Drops the accesses that hardware repeats no more after the instruction.
  void endReplay(const Inst *I, const Effects &E) {
    if (!Translations.empty())
      dropTranslations(I, E);
  }
  bool checkTranslated(const Inst *I, const Effects &E);
  bool anyLoadToLds() const { return OutstandingLds != 0; }
  /// Whether the memory instruction of that number has not been waited for.
  bool isUnderWay(uint32_t Number) const;
  /// The numbers of the oldest instructions that have not been waited for; 0:
  /// none. Atomics are not among the others. Lds: accesses to it but for
  /// copies, ToLds and Tensor, which other counters count; FlatLds: those that
  /// do not go through its queue.
  struct UnderWay {
    uint32_t Lds = 0, FlatLds = 0, ToLds = 0, Tensor = 0;
    uint32_t Read = 0, Store = 0, Atomic = 0;
  };
  UnderWay underWay() const;
  WaitCounter storeCounter() const {
    return L.Generation == 9 ? WaitLoad : WaitStore;
  }

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
    EventType Type = VectorLoad;
    bool IsLds = false;    ///< whether it accesses LDS
    bool FillsLds = false; ///< with what it loads, or stores what is there
    MemoryAccess Global = MemoryAccess::None; ///< what it does to global memory
    RegisterSpan Vector, Scalar;
    const Inst *I;
    uint32_t Number;
    uint64_t Issued; ///< among the wave's memory instructions
    std::vector<LdsPiece> Filled;
  };
  /// The sources of an access whose addresses may still be translated.
  struct Translation {
    const Inst *I;
    const Effects *E;
    uint64_t Issued;
  };
  struct EventQueue {
    /// More than a counter counts: of events in any order, more may have to be
    /// kept than are under way.
    static constexpr unsigned Most = 256;
    std::vector<Event> Events; ///< the oldest first
    unsigned Types[NumTypes] = {};
  };

  bool pendingFault(const Inst *I, unsigned Register, bool Scalar, bool Write,
                    uint32_t Bits = ~0u);
  /// The bits of a vector register that an instruction in flight, or any, will
  /// write.
  uint32_t bitsInFlight(const Event &Ev, unsigned Register) const;
  uint32_t bitsInFlight(unsigned Register) const;
  /// Whether events of a type finish in the order in which they were issued.
  bool keepsOrder(EventType Type) const;
  bool outOfOrder(WaitCounter C) const;
  /// Events of the queue have finished.
  void retire(WaitCounter C, size_t Begin, size_t End);
  void translated(uint64_t Issued, bool Scalar);
  void translate(const Inst *I, const Effects &E);
  void dropTranslations(const Inst *I, const Effects &E);
  void makeRoom(WaitCounter C);
  void wait(WaitCounter C, unsigned Most);
  void push(WaitCounter C, Event &&New);

  LaunchShadow &L;
  Wave &W;
  unsigned Outstanding = 0;
  unsigned OutstandingLds = 0; ///< copies in flight to or from LDS
  uint64_t Issued = 0;
  std::vector<Translation> Translations; ///< all vector or all scalar
  uint64_t VectorsTranslating = 0, ScalarsTranslating = 0; ///< or more
  unsigned RegistersPending = 0;
  uint64_t VectorsPending = 0, ScalarsPending = 0; ///< all of them, if not more
  uint8_t PendingVector[NumVectorRows];
  uint8_t PendingScalar[NumScalarSlots];
  EventQueue Queues[NumWaits];
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_WAITCHECKER_H
