//===- WaveChecker.h - The checks of a wave ---------------------*- C++ -*-===//
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
// touched LDS and global memory last.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_WAVECHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_WAVECHECKER_H

#include "Check/HazardChecker.h"
#include "Check/LaunchShadow.h"
#include "Check/MemoryChecker.h"
#include "Check/RaceChecker.h"
#include "Check/RegisterChecker.h"
#include "Check/WaitChecker.h"
#include "Core/Observer.h"
#include "Core/Wave.h"

namespace lnbwd::sim {

/// All checks, in their order for each instruction.
class WaveChecker final : public WaveObserver {
public:
  WaveChecker(WorkgroupShadow &WG, Wave &W);
  ~WaveChecker() override;
  void started(unsigned ScalarsSet, unsigned VectorsSet) override;
  bool before(const Inst *I) override;
  void after(const Inst *I) override;
  void ended(const Inst *I) override;
  const Region *argumentOf(const Inst *I) const override;
  bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                    unsigned Bytes) override;
  bool ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                 unsigned Bytes) override;
  bool scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                     unsigned Bytes) override;
  bool flatAccess(const Inst *I, uint64_t Address, unsigned Lane,
                  unsigned Bytes) override;
  bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                  uint64_t Asked) override;

private:
  bool limitFault(const Inst *I, const Effects &E);
  void barrier(const Inst *I, const Effects &E);
  /// Of a launch with interleaved waves: who may go on behind an access to
  /// shared memory.
  void letOthersGoOn(const Inst *I, const Effects &E);
  bool ldsRange(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane,
                MemoryAccess Access);

  LaunchShadow &L;
  WorkgroupShadow &WG;
  Wave &W;
  bool flatLds(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane);
  bool ldsRaces(const Inst *I, const uint32_t *A, uint64_t Mask,
                const LdsPattern &P, unsigned Bytes, MemoryAccess Access);
  bool ldsLanes(const Inst *I, const uint32_t *A, uint64_t Mask, unsigned Bytes,
                MemoryAccess Access, uint64_t Undefined);
  /// Whether a wave that ends there has done anything since it was sent there.
  bool leftAtOnce(const Inst *I) const;

  const Effects *Current = nullptr;
  unsigned LdsPart = 0;  ///< accesses to LDS that the instruction has made
  bool IsPrivate = true; ///< of the instruction's accesses, all
  const Inst *Previous = nullptr;
  const Inst *Branched = nullptr; ///< where the wave came to by a branch
  CheckCounts Counts;
  RegisterChecker Registers;
  LdsChecker Lds;
  WaitChecker Waits;
  RaceChecker Races;
  GlobalChecker Global;
  HazardChecker Hazards;
  SymbolBorders Borders;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_WAVECHECKER_H
