//===- Effects.h - What an instruction does ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checker's view of an instruction: the registers it reads and writes, the
// memory it touches, the caches it looks into, the wait counter it is counted
// by or waits for. Found out once for an object, when a checked launch first
// executes it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_EFFECTS_H
#define LNBWD_LIB_SIMULATOR_CHECK_EFFECTS_H

#include "Core/Instruction.h"
#include "Core/InstructionTable.h"
#include "SimulatedChip.h"

#include "lnbwd/ISA/InstructionFacts.h"
#include "lnbwd/ISA/InstructionRecord.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lnbwd::sim {

// The caches between a wave and the memory that all compute units share, by
// LLVM's memory model of each family ("Memory Model" in AMDGPUUsage):
//
//   gfx9          one cache for each compute unit, and so for a workgroup
//   gfx942, 950   besides, one L2 for each XCD, which keeps stores until they
//                 are written back
//   gfx10 to 12   an L0 for each compute unit, two of which may share a
//                 workgroup, and, up to gfx11, an L1 for several of them
//
// Besides, on all of them, one for scalar loads, which several compute units
// share and which none of the above drops.
//
// A cache "near" is one that the waves of a workgroup may have one by one, a
// cache "far" one that other workgroups do not share.

/// What an instruction's text says of caches.
struct CacheUse {
  // Of a memory instruction.
  bool PassesNear = false; ///< a load that does not look into the near cache
  bool PassesFar = false;  ///< nor into the far one
  bool Coherent = false;   ///< looks like an atomic access of the whole device
  bool WritesThrough = false; ///< a store that other XCDs see when it is over
  // Of cache control.
  bool DropsNear = false, DropsFar = false;
  bool DropsScalar = false;
  bool WritesBack = false; ///< what the L2 of an XCD has kept
  bool isControl() const {
    return DropsNear || DropsFar || DropsScalar || WritesBack;
  }
};

/// The caches of a chip, as a kernel finds them.
struct CacheModel {
  /// WorkgroupProcessors: the kernel asks for two compute units a workgroup.
  CacheModel(const SimulatedChip &Chip, bool WorkgroupProcessors);
  bool SharedNear;   ///< the waves of a workgroup have one near cache
  bool KeepsStores;  ///< other XCDs do not see stores until written back
  bool HasNear;      ///< there is a near cache beside the far one
  bool MarksStores;  ///< the bits of a store say whether it is an atomic one
  bool MarksAtomics; ///< and those of an atomic whose it is
};

/// Reads what the bits in an instruction's text say.
CacheUse cacheUse(const Inst &I, const SimulatedChip &Chip);

/// What of one object's code has been executed, for the list of
/// scripts/coverage.py: with LNBWD_SIM_COVERAGE=FILE, each instruction's name
/// is appended to the file when it is first executed, or, if it is in a code
/// object and cannot be executed, when that is first used.
class Coverage {
public:
  /// Null if nobody asks.
  static std::unique_ptr<Coverage> create(const InstructionTable &P);
  explicit Coverage(const InstructionTable &P);
  void note(const Inst *I) {
    std::atomic<bool> &S = Seen[size_t(I - Begin)];
    if (!S.load(std::memory_order_relaxed) && !S.exchange(true) &&
        P.problem(I).empty())
      write(I, "executed");
  }

private:
  void write(const Inst *I, const char *State);
  const InstructionTable &P;
  const Inst *Begin;
  std::unique_ptr<std::atomic<bool>[]> Seen;
};

/// Consecutive vector rows or scalar slots.
struct RegisterSpan {
  uint16_t First = 0;
  uint8_t Count = 0;
};

/// The registers of a span as bits, by their numbers modulo 64.
inline uint64_t bitsOf(RegisterSpan S) {
  const uint64_t Bits = S.Count < 64 ? (1ull << S.Count) - 1 : ~0ull;
  const unsigned By = S.First % 64;
  return By ? Bits << By | Bits >> (64 - By) : Bits;
}

inline bool overlap(RegisterSpan A, RegisterSpan B) {
  return A.Count && B.Count && A.First < B.First + B.Count &&
         B.First < A.First + A.Count;
}

/// Scalar registers that vector and scalar ALU share, VCC included.
constexpr unsigned NumSharedScalars = SlotVCC + 2;

using isa::BarrierKind;
using isa::CountClass;
using isa::Flow;
using isa::MemoryAccess;
using isa::MemorySpace;
using isa::WaitKind;

inline const char *verbOf(MemoryAccess Access) {
  return Access == MemoryAccess::Load    ? "read"
         : Access == MemoryAccess::Store ? "write"
                                         : "atomic";
}

/// The counters that s_waitcnt and its successors wait for. Chips before gfx12
/// count scalar loads under Lds; gfx9 counts stores under Load.
enum WaitCounter : uint8_t {
  WaitLoad,
  WaitStore,
  WaitLds,
  WaitScalar,
  WaitAsync,  ///< CDNA5's copies between memory and LDS
  WaitTensor, ///< and those of tensors
  NumWaits
};

/// What a memory instruction is for, as CodeAnalysis finds it out.
struct MemoryUse {
  CacheUse Cache;
  /// Numbers the memory instructions of a program; LastId: all that are beyond.
  uint16_t Id = 0;
  /// A load or an atomic whose value decides a branch or becomes an address, or
  /// of which that cannot be told.
  bool Decides = false;
  /// One in a loop that does nothing but wait for that value.
  bool Spins = false;
  /// Whose loop drops the caches that the load looks into.
  bool Refreshes = false;
  /// A load whose value a compare-and-swap checks later.
  bool IsGuess = false;
  /// An atomic that spins without being given what it has returned: it waits
  /// for a value, a lock for example, instead of working on one.
  bool IsLock = false;
  /// A store of what was made of a load from the same place, with no barrier
  /// between: what all lanes have read before a barrier is one value.
  bool Changes = false;
  /// An atomic that puts a value in the place of another, and whose result
  /// decides: whoever is the first has the place for himself.
  bool Claims = false;
};
constexpr uint16_t LastMemoryId = (1u << 12) - 1; ///< Epoch::IdBits

/// What every instruction is asked for comes first, in one line of the host's
/// cache.
struct alignas(64) Effects {
  /// What it reads or writes (bitsOf).
  uint64_t VectorsUsed = 0, ScalarsUsed = 0;
  RegisterSpan VectorWrite[2];
  /// The bits of its result register that it leaves as they were.
  uint32_t KeptBits = 0;
  uint16_t MaxVgpr = 0, MaxAgpr = 0, MaxSgpr = 0; ///< highest number, plus 1
  /// Its result is defined in a lane, and nothing else changes, if all scalars
  /// that it reads are, and these rows in the lane.
  uint16_t PlainRows[6] = {};
  uint8_t PlainCount = 0;
  bool IsPlain = false;
  Flow How = Flow::None;
  MemorySpace Space = MemorySpace::None;
  MemoryAccess Access = MemoryAccess::None;
  WaitKind Waits = WaitKind::None;
  BarrierKind Barrier = BarrierKind::None;
  CountClass Counted = CountClass::ScalarAlu;
  bool Idles = false;         ///< does nothing but take time
  bool ControlsCache = false; ///< Use.Cache.isControl()
  bool ReadsScalars = false;  ///< has any of ScalarRead, or reads SCC
  bool WritesScalars = false; ///< has any of ScalarWrite
  bool MayNeed = false;       ///< something that has to be defined
  bool WritesExec = false;
  bool IsFollowed = false; ///< the checks ask what it has done
  bool IsScalar = false;   ///< no vector, nor a register whose number it reads
  bool WritesShared = false; ///< a scalar register that the vector ALU may read
  bool WritesUpper = false;  ///< one that an address may have its upper half in

  /// By source operand, then the second scale; Count 0: not a vector.
  RegisterSpan VectorRead[5];
  RegisterSpan ScalarRead[5]; ///< by source operand, then implicit ones
  RegisterSpan ScalarWrite[3];
  bool ReadsScc = false, WritesScc = false;
  bool BranchOnVcc = false, BranchOnScc = false;
  bool NeedsScalars = false; ///< all scalar sources must be defined
  bool ToLds = false;        ///< a load that goes to LDS
  bool FromLds = false;      ///< a store that comes from LDS
  bool Asynchronous = false; ///< counted by WaitAsync
  bool Tensor = false;       ///< counted by WaitTensor
  bool Uncounted = false;    ///< memory, but under no wait counter
  bool Returns = false;      ///< an atomic with a result
  bool CompareSwap = false;  ///< an atomic that is a compare-and-swap
  bool Swap = false;         ///< or one that exchanges values
  bool IndexedDst = false;   ///< ScalarIndexed: not the source but the result
  bool Scatters = false;     ///< lanes say where their values go
  bool CacheWrite = false;   ///< a write-back that is counted like a store
  bool CacheLoad = false;    ///< an invalidation that is counted like a load
  MemoryUse Use;             ///< filled in by CodeAnalysis
};
static_assert(offsetof(Effects, VectorRead) <= 64, "one line of the cache");

/// The bits of its result register that an instruction of the vector ALU leaves
/// as they were (RegisterFlow.cpp).
uint32_t bitsKept(const Inst *I);

/// The effects of all instructions of a program, and what follows from them.
struct CodeEffects {
  explicit CodeEffects(const InstructionTable &P);
  const Effects &of(const Inst *I) const { return List[size_t(I - Begin)]; }
  std::vector<Effects> List;
  const Inst *Begin;
  uint16_t MaxVgpr = 0, MaxAgpr = 0, MaxSgpr = 0; ///< of all
  std::vector<uint16_t> ScalarSlots;              ///< that any of them uses
  std::unique_ptr<Coverage> Covered;              ///< null if nobody asks
  // What follows is filled in by CodeAnalysis.
  /// Those that have a MemoryUse::Id of their own, by it.
  std::vector<const Inst *> MemoryInstructions;
  /// Waves may acquire what others release through memory.
  bool Takes = false;
  /// Waves wait for what others store in LDS.
  bool PollsLds = false;
};

/// How many accesses may be under way of each counter when a wait ends.
struct WaitLimits {
  static constexpr unsigned Any = ~0u;
  unsigned Most[NumWaits] = {Any, Any, Any, Any, Any, Any};
  unsigned MostTranslations = Any; ///< of s_wait_xcnt
};

/// The counter of an access to memory by lanes, or of a tensor's copy.
WaitCounter memoryCounter(const Effects &E, unsigned Generation);

/// What an instruction with E.Waits as its kind waits for.
WaitLimits waitLimits(const Inst &I, WaitKind Kind, unsigned Generation);

/// The bits of its data registers that a load writes or a store reads. Code of
/// gfx11 and gfx12 names the halves of a register, and memory instructions
/// access one without the other; to code of earlier chips a register is one.
uint32_t accessedBits(const Inst *I, unsigned Generation, bool IsStore);

/// The most accesses that a counter counts.
unsigned counterMaximum(WaitCounter C, unsigned Generation);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_EFFECTS_H
