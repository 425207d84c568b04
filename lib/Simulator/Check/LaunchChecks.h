//===- LaunchChecks.h - What the checks of a launch share -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One object for the launch, one for each workgroup: which checks there are,
// and who touched LDS last.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_LAUNCHCHECKS_H
#define LNBWD_LIB_SIMULATOR_CHECK_LAUNCHCHECKS_H

#include "Check/CodeChecks.h"
#include "Check/Counts.h"
#include "Check/ShadowMemory.h"
#include "Core/Launch.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <mutex>
#include <vector>

namespace lnbwd::sim {

class WaitChecker;

/// What all waves of a checked launch share.
struct LaunchChecks {
  LaunchChecks(const Launch &L, const CodeChecks &Code, unsigned Checks);

  const CodeEffects &TheEffects;
  const CodeHazards &Hazards;
  unsigned Checks;
  uint32_t Epoch; ///< numbers the launches of the process
  GlobalOrder Order;
  unsigned Generation;
  /// What the kernel descriptor allocates.
  unsigned VgprLimit, AgprLimit, SgprLimit;
  unsigned LdsBanks;
  std::mutex Lock; ///< of what follows
  CheckCounts Counts;
  bool memory() const { return Checks & LNBWD_SIM_CHECK_MEMORY; }
  bool registers() const { return Checks & LNBWD_SIM_CHECK_REGISTERS; }
  bool races() const { return Checks & LNBWD_SIM_CHECK_RACES; }
  bool waits() const { return Checks & LNBWD_SIM_CHECK_WAITS; }
  bool limits() const { return Checks & LNBWD_SIM_CHECK_LIMITS; }
  bool alignment() const { return Checks & LNBWD_SIM_CHECK_ALIGNMENT; }
  bool hazards() const { return Checks & LNBWD_SIM_CHECK_HAZARDS; }
  bool counts() const { return Checks & LNBWD_SIM_CHECK_COUNTS; }
};

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

/// What a byte of LDS holds.
enum LdsContents : uint8_t {
  LdsNeverWritten,
  LdsDefined,
  LdsUndefined ///< a register was stored there that was not defined
};

/// The bytes [Begin, End) of LDS.
struct LdsPiece {
  LdsPiece(uint32_t Begin, uint32_t End) : Begin(Begin), End(End) {}
  uint32_t Begin, End;
};

/// A part of global memory that an instruction accesses.
struct GlobalPiece {
  BufferShadow *Shadow;
  uint64_t Address, Bytes;
};

/// Pieces that an atomic of the workgroup has handed on before the store that
/// wrote them, number `Store` of a wave, had been waited for.
struct EarlyRelease {
  const WaitChecker *Wave;
  uint64_t Store;
  std::vector<GlobalPiece> Pieces;
};

/// What the waves of a workgroup share.
struct WorkgroupChecks {
  WorkgroupChecks(LaunchChecks &L, unsigned NumWaves, uint32_t LdsBytes);
  /// Another workgroup begins.
  void start(WorkgroupMark Number);

  LaunchChecks &L;
  WorkgroupMark Me = 1;
  WorkgroupSet Seen;
  unsigned Granule;
  std::vector<EarlyRelease> Early;
  std::vector<uint8_t> Written; ///< LdsContents, for each byte of LDS
  std::vector<LdsCell> Cells;
  std::vector<unsigned> Signals; ///< barriers that each wave has signalled
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LAUNCHCHECKS_H
