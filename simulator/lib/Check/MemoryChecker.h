//===- MemoryChecker.h - What a wave does to memory -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that was never written or must not be, and what accesses cost: LDS and
// global memory each have a checker, and so have the redzones of variables.
// Races are RaceChecker's, scratch memory is RegisterChecker's.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_MEMORYCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_MEMORYCHECKER_H

#include "Check/Effects.h"
#include "Check/LaunchShadow.h"
#include "Check/RaceChecker.h"
#include "Check/RegisterChecker.h"
#include "Core/InstructionTable.h"
#include "Core/Launch.h"
#include "Core/Wave.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <vector>

namespace lnbwd::sim {

/// The variables of a code object lie in its image without gaps, and all of it
/// may be accessed. All but the variable itself is a redzone to an address that
/// is made from its beginning. Such addresses are tainted in registers, through
/// additions and moves.
class SymbolRedzones {
public:
  explicit SymbolRedzones(Wave &W) : W(W) {}
  /// A new wave. Symbols are sorted by address.
  void start(llvm::ArrayRef<DataSymbol> Variables);
  bool anything() const { return !Symbols.empty(); }
  /// Whether an instruction may make or move an address of a variable.
  bool mayFollow(const Effects &E) const {
    return IsTainted || (E.WritesUpper && anything());
  }
  /// It has been executed, with these lanes.
  void follow(const Inst *I, const Effects &E, uint64_t Exec);
  /// Whether the lanes' accesses stay in the variable that their address is
  /// made from. False: the wave has been stopped.
  bool check(const Inst *I, const Effects &E, const uint64_t *A, uint64_t Mask,
             unsigned Bytes) const;
  /// Whether a scalar load, which compilers may widen, meets its variable.
  bool checkScalar(const Inst *I, const Effects &E, uint64_t Address,
                   unsigned Bytes) const;

private:
  /// The variable that the low half of an address belongs to: its number plus
  /// 1, or 0; of a vector row in these lanes.
  struct Owner {
    uint32_t Symbol = 0;
    uint64_t Lanes = 0;
  };
  bool mayBegin(const Effects &E) const;
  uint32_t startingAt(uint64_t Address) const;
  Owner ownerOf(const Effects &E) const;
  bool fault(const Inst *I, int Lane, uint64_t Address, unsigned Bytes,
             uint32_t Symbol) const;

  Wave &W;
  llvm::ArrayRef<DataSymbol> Symbols;
  bool IsTainted = false; ///< a register may have an owner
  std::vector<Owner> Rows;
  std::vector<uint32_t> Slots;
};

/// How the addresses of an access lie to each other.
struct LdsPattern {
  uint64_t Mask = 0;
  unsigned Bytes = 0; ///< of a lane
  bool IsLoad = false;
  bool Meet = false;              ///< two lanes store to a byte
  bool OnePlace = false;          ///< all store to the same bytes
  unsigned Cycles = 0, Least = 0; ///< what the access costs, where that counts
  uint32_t A[64] = {};            ///< when it was found
  uint32_t Step = 0;              ///< the present ones lie so much further on
  unsigned Count = 0;
  LdsRun Runs[64]; ///< of the present ones
  llvm::ArrayRef<LdsRun> runs() const { return {Runs, Count}; }
};

/// What a wave does to LDS, which is new for each workgroup: what no wave has
/// written must not be read.
class LdsChecker {
public:
  LdsChecker(WorkgroupShadow &WG, Wave &W);
  /// Before an instruction that accesses LDS.
  void start(const Effects &E);
  /// One lane's access. False: the wave has been stopped.
  bool access(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane,
              MemoryAccess Access);
  /// All lanes' access, if it is nothing that access() would have to look at.
  bool isPlain(const LdsPattern &P, MemoryAccess Access);
  /// The pattern of an access, until the next one; Part: which of two that an
  /// instruction makes.
  const LdsPattern &pattern(const Effects &E, const uint32_t *A, uint64_t Mask,
                            unsigned Bytes, bool IsLoad, unsigned Part);

  uint32_t Missing = 0; ///< bytes of the lane's load that nobody has written
  bool Fresh = false;   ///< nor has anybody written any beside them
  bool SoFar = false;   ///< others may do so later
  bool Used = false;    ///< or it was read before an earlier barrier
  std::vector<LdsPiece> Filled; ///< by the present load to LDS

private:
  bool isPadding(uint32_t Address, unsigned Bytes) const;
  bool isThere(uint8_t &Known) const;
  uint32_t missingBytes(uint8_t *Known, unsigned Bytes) const;

  LaunchShadow &L;
  WorkgroupShadow &WG;
  Wave &W;
  uint8_t Stored = LdsDefined; ///< in Written, by the present instruction
  static constexpr size_t MostPatterns = 128;
  /// The latest ones, by instruction; a power of two of them.
  std::vector<std::unique_ptr<LdsPattern>> Patterns;
};

/// What a wave does to global memory. What returns a bool returns false if it
/// has stopped the wave.
class GlobalChecker {
public:
  GlobalChecker(WorkgroupShadow &WG, Wave &W, RegisterChecker &Registers,
                RaceChecker &Races, CheckCounts &Counts)
      : L(WG.L), W(W), Registers(Registers), Races(Races), Counts(Counts) {}
  /// Another instruction is about to access memory.
  void startAccess() { BytesSeen = 0; }
  /// An access of a workgroup that is not checked.
  bool noteStores(const Effects &E, const uint64_t *A, uint64_t Mask,
                  unsigned Bytes);
  bool global(const Inst *I, const Effects &E, const uint64_t *A, uint64_t Mask,
              unsigned Bytes);
  bool scalarLoad(const Inst *I, const Effects &E, uint64_t Address,
                  unsigned Bytes, uint64_t Asked);
  /// A wave's access to bytes side by side; what a store stores.
  bool block(const Inst *I, const Effects &E, uint64_t Address, uint64_t Bytes,
             const uint8_t *Stored);

private:
  bool problemFault(const Inst *I, const Effects &E, int Lane, unsigned Bytes,
                    const ShadowProblem &P, const BufferShadow &S);
  bool keepBytes(BufferShadow *Shadow, uint64_t Address, uint64_t Bytes);
  bool accessGlobal(const Inst *I, const Effects &E, const Region &R,
                    uint64_t Address, uint64_t Bytes, int Lane,
                    unsigned LaneBytes, const uint8_t *Copied = nullptr);
  /// A load has found bytes that nobody has written: an error if a lane finds
  /// no others, and else what its registers say from now on.
  bool partlyWritten(const Inst *I, const Effects &E, BufferShadow &Shadow,
                     uint64_t Address, uint64_t Bytes, int Lane,
                     unsigned LaneBytes, const ShadowProblem &P);
  /// Where a lane has stored what was not defined, nothing has been written.
  void takeBack(const Inst *I, const Effects &E, const uint64_t *A,
                uint64_t Lanes);
  /// Dwords that a scalar load has taken along and nobody has written.
  void noteScalarPadding(const BufferShadow &Shadow, uint64_t Address,
                         unsigned Bytes);
  bool globalLanes(const Inst *I, const Effects &E, const uint64_t *A,
                   uint64_t Mask, unsigned Bytes);
  /// The rows that lanes store.
  const uint32_t *storedRows(const Inst *I, const Effects &E) const;
  void countGlobal(const Effects &E, const Region &R, const uint64_t *A,
                   uint64_t Mask, unsigned Bytes, bool Consecutive);

  LaunchShadow &L;
  Wave &W;
  RegisterChecker &Registers;
  RaceChecker &Races;
  CheckCounts &Counts;
  /// What a lane of the present instruction has read, and found nothing wrong
  /// with, so that the next lanes need not look at it again; 0 bytes: nothing.
  uint64_t AddressSeen = 0, BytesSeen = 0;
};

/// The buffer of the argument that a memory instruction's address is the sum of
/// and of numbers. Null if there is none, or several, or it cannot be told.
/// Found out from the code, backwards, when a wrong address is reported, so
/// that correct launches do not pay for it.
const Region *argumentOf(const Launch &L, const CodeEffects &Code,
                         const Inst *I);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_MEMORYCHECKER_H
