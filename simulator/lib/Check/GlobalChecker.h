//===- GlobalChecker.h - Accesses to global memory --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory that was never written or must not be.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_GLOBALCHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_GLOBALCHECKER_H

#include "Check/LaunchShadow.h"
#include "Check/RaceChecker.h"
#include "Check/RegisterChecker.h"
#include "Core/Wave.h"

namespace lnbwd::sim {

/// What a wave does to global memory. What returns a bool returns false if it
/// has stopped the wave.
class GlobalChecker {
public:
  GlobalChecker(WorkgroupShadow &WG, Wave &W, RegisterChecker &Registers,
                RaceChecker &Races, CheckCounts &Counts)
      : L(WG.L), W(W), Registers(Registers), Races(Races), Counts(Counts) {}
  /// Another instruction is about to access memory.
  void startAccess() { BytesSeen = 0; }
  bool global(const Inst *I, const Effects &E, const uint64_t *A, uint64_t Mask,
              unsigned Bytes);
  bool scalarLoad(const Inst *I, const Effects &E, uint64_t Address,
                  unsigned Bytes, uint64_t Asked);

private:
  bool problemFault(const Inst *I, const Effects &E, int Lane, unsigned Bytes,
                    const ShadowProblem &P, const BufferShadow &S);
  bool accessGlobal(const Inst *I, const Effects &E, const Region &R,
                    uint64_t Address, uint64_t Bytes, int Lane,
                    unsigned LaneBytes);
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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_GLOBALCHECKER_H
