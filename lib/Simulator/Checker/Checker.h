//===- Checker.h - The checks of a launch -----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What AMD's users have no compute-sanitizer for. A checked launch carries,
// beside the state of each wave, what is known of it: which lanes of which
// register were ever written, which loads have not been waited for, and who
// touched LDS and global memory last. One object for the launch, one for each
// workgroup, one for each wave.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECKER_CHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECKER_CHECKER_H

#include "Counts.h"
#include "Effects.h"
#include "ShadowMemory.h"

#include "../Wave.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <string>
#include <vector>

namespace lnbwd::sim {

struct Kernel;

/// What all waves of a checked launch share.
struct LaunchChecker {
  LaunchChecker(const Launch &L, const ProgramEffects &Effects,
                unsigned Checks);

  const ProgramEffects &TheEffects;
  unsigned Checks;
  uint32_t Epoch; ///< numbers the launches of the process
  GlobalOrder Order;
  unsigned Generation;
  /// What the kernel descriptor allocates.
  unsigned VgprLimit, AgprLimit, SgprLimit;
  unsigned LdsBanks;
  bool memory() const { return Checks & LNBWD_SIM_CHECK_MEMORY; }
  bool registers() const { return Checks & LNBWD_SIM_CHECK_REGISTERS; }
  bool races() const { return Checks & LNBWD_SIM_CHECK_RACES; }
  bool waits() const { return Checks & LNBWD_SIM_CHECK_WAITS; }
  bool limits() const { return Checks & LNBWD_SIM_CHECK_LIMITS; }
  bool alignment() const { return Checks & LNBWD_SIM_CHECK_ALIGNMENT; }
  bool counts() const { return Checks & LNBWD_SIM_CHECK_COUNTS; }
};

/// What a kernel's descriptor and metadata say that the chip cannot run, or
/// that contradicts itself; empty if nothing.
std::string checkKernelLimits(const ChipInfo &Chip, const Kernel &K,
                              const uint32_t Block[3], uint64_t LdsBytes);

/// Numbers of vector and scalar registers that a descriptor allocates.
void allocatedRegisters(const ChipInfo &Chip, const Kernel &K, unsigned &Vgprs,
                        unsigned &Agprs, unsigned &Sgprs);

/// Who last touched a piece of LDS. A stamp is the wave's number plus 1, the
/// barriers it had signalled, and whether it was by an atomic.
struct LdsCell {
  static constexpr uint32_t AtomicBit = 0x80000000;
  static constexpr uint32_t WaveBits = 0x7f000000;
  static constexpr uint32_t SignalBits = 0x00ffffff;
  uint32_t Writer = 0;
  uint32_t OtherWriter = 0; ///< another wave's atomic before the writer's
  uint32_t Reader[2] = {};  ///< the latest two different waves
};

/// The bytes [Begin, End) of LDS.
struct LdsPiece {
  LdsPiece(uint32_t Begin, uint32_t End) : Begin(Begin), End(End) {}
  uint32_t Begin, End;
};

class WaveChecker;

/// A part of global memory that an instruction accesses.
struct GlobalPiece {
  BufferShadow *Shadow;
  uint64_t Address, Bytes;
};

/// Pieces that an atomic of the workgroup has handed on before the store that
/// wrote them, number `Store` of a wave, had been waited for.
struct EarlyRelease {
  const WaveChecker *Wave;
  uint64_t Store;
  std::vector<GlobalPiece> Pieces;
};

struct WorkgroupChecker {
  WorkgroupChecker(LaunchChecker &L, uint32_t LdsBytes);
  void start(WorkgroupMark Number);

  LaunchChecker &L;
  WorkgroupMark Me = 1;
  WorkgroupSet Seen;
  unsigned Granule;
  std::vector<EarlyRelease> Early;
  std::vector<uint8_t> Written; ///< for each byte of LDS
  std::vector<LdsCell> Cells;
};

class WaveChecker {
public:
  WaveChecker(LaunchChecker &L, WorkgroupChecker &WG, Wave &W);
  /// A new wave starts with the first scalar and vector registers set.
  void start(unsigned ScalarsSet, unsigned VectorsSet);
  /// False: the wave has been stopped.
  bool before(const Inst *I, const Effects &E);
  void after(const Effects &E, const Inst *I);
  /// The wave has ended; false: others wait for it at a barrier.
  bool ended(const Inst *I);

  // What the memory instructions report once they know their addresses.
  bool global(const Inst *I, const uint64_t *A, uint64_t Mask, unsigned Bytes);
  bool lds(const Inst *I, const uint32_t *A, uint64_t Mask, unsigned Bytes);
  bool ldsRange(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane,
                MemoryAccess Access);
  bool scratch(const Inst *I, const uint64_t *A, uint64_t Mask, unsigned Bytes);
  bool flat(const Inst *I, uint64_t Address, unsigned Lane, unsigned Bytes);
  bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                  uint64_t Asked);

  CheckCounts Counts;
  unsigned Signals = 0; ///< barriers that the wave has signalled
  unsigned Passed = 0;  ///< barriers that it has passed

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
    void clear() {
      First = Count = 0;
      for (unsigned &N : Types)
        N = 0;
    }
  };
  struct Source { ///< why a register is not defined
    const Inst *I = nullptr;
    uint16_t Register = 0;
    bool Scalar = false;
    bool Scratch = false; ///< loaded from scratch that was never written
  };

  // Waits (WaitChecker.cpp).
  bool checkPending(const Inst *I, const Effects &E);
  bool pendingFault(const Inst *I, unsigned Register, bool Scalar, bool Write);
  bool outOfOrder(WaitCounter C) const;
  void retire(WaitCounter C);
  void wait(WaitCounter C, unsigned Most);
  void waitInstruction(const Inst *I, const Effects &E);
  void issue(const Inst *I, const Effects &E);
  void push(WaitCounter C, const Event &Ev);
  void barrierSignalled();
  bool unfinishedLds(const Inst *I, uint32_t Address, unsigned Bytes,
                     unsigned Lane);
  /// An atomic at [Begin, End) hands on what the workgroup has stored.
  void releaseStores(uint64_t Begin, uint64_t End);
  bool isUnderWay(uint64_t Store) const;
  WaitCounter storeCounter() const {
    return L.Generation == 9 ? WaitLoad : WaitStore;
  }

  // Registers (RegisterChecker.cpp).
  bool checkDefined(const Inst *I, const Effects &E, uint64_t Exec);
  /// The data of a store or atomic whose address is known to be global.
  bool checkStored(const Inst *I, const Effects &E, uint64_t Lanes);
  bool requireVector(const Inst *I, RegisterSpan S, uint64_t Exec,
                     const char *Use);
  bool requireScalar(const Inst *I, RegisterSpan S, const char *Use);
  bool propagate(const Inst *I, const Effects &E, uint64_t Exec);
  uint64_t definedLanes(const Inst *I, const Effects &E, unsigned K,
                        uint64_t Exec, uint64_t &Writable) const;
  bool scalarDefined(RegisterSpan S) const;
  void define(RegisterSpan S, uint64_t Lanes, uint64_t Defined, const Inst *I,
              const Effects &E);
  void define(RegisterSpan S, uint64_t Lanes, uint64_t Defined,
              const Source &Reason);
  void defineScalar(RegisterSpan S, bool Defined, const Inst *I,
                    const Effects &E);
  Source blame(const Inst *I, const Effects &E, uint64_t Exec) const;
  Source blameRow(const Inst *I, unsigned Register) const;
  void propagateMoves(const Inst *I, const Effects &E, uint64_t Exec);
  void propagateMatrix(const Inst *I, const Effects &E);
  std::string explain(const Source &S, unsigned Register, bool Scalar) const;

  bool limitFault(const Inst *I, const Effects &E);
  BufferShadow::Access accessOf(const Effects &E) const;
  bool problemFault(const Inst *I, int Lane, unsigned Bytes,
                    const ShadowProblem &P, const BufferShadow &S);
  bool accessGlobal(const Inst *I, const Effects &E, const Region &R,
                    uint64_t Address, uint64_t Bytes, int Lane,
                    unsigned LaneBytes);
  void takeAgain(const Effects &E);
  void countGlobal(const Effects &E, const Region &R, const uint64_t *A,
                   uint64_t Mask, unsigned Bytes, bool Consecutive);

  LaunchChecker &L;
  WorkgroupChecker &WG;
  Wave &W;
  const Effects *Current = nullptr;

  uint64_t Defined[NumVectorRows];
  uint8_t ScalarIsDefined[NumScalarSlots];
  Source Why[NumVectorRows];
  Source ScalarWhy[NumScalarSlots];
  std::vector<uint64_t> ScratchDefined; ///< lanes, for each dword
  bool LoadedScratch = false;
  uint64_t ScratchLoaded[4]; ///< lanes that the present load found defined

  EventQueue Queues[NumWaits];
  unsigned Outstanding = 0;
  unsigned OutstandingLds = 0; ///< loads on their way to LDS
  uint8_t PendingVector[NumVectorRows];
  uint8_t PendingScalar[NumScalarSlots];
  std::vector<LdsPiece> LdsTouched; ///< by the present instruction
  std::vector<GlobalPiece> Stored;  ///< likewise
  /// Where the present instruction takes what other workgroups hand on.
  std::vector<GlobalPiece> TakenFrom;
  uint64_t NextNumber = 0; ///< of the memory instructions issued
};

/// What the ISA documents call a counter.
const char *counterName(WaitCounter C, unsigned Generation);

/// "v5" or "s[4:5]"-like name of one register.
std::string registerName(unsigned Register, bool Scalar);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECKER_CHECKER_H
