//===- ChipInfo.h - The simulated devices -----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each simulated device. Differences between chips are asked here.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHIPINFO_H
#define LNBWD_LIB_SIMULATOR_CHIPINFO_H

#include <cstdint>

namespace lnbwd::sim {

struct ChipInfo {
  const char *Chip;      ///< as the compiler names it
  const char *ArchName;  ///< as hipDeviceProp_t::gcnArchName has it
  const char *Name;      ///< product name
  unsigned Generation;   ///< 9, 11 or 12
  unsigned ElfMachine;   ///< EF_AMDGPU_MACH value of e_flags
  unsigned WaveSize;     ///< the usual one; gfx11 and gfx12 run both
  unsigned ComputeUnits; ///< not what HIP calls multiprocessors
  unsigned LdsBytes;     ///< per workgroup
  unsigned VgprsPerLane; ///< registers of a SIMD, for one wave's lane
  unsigned VgprGranule;  ///< wave64, or the usual wave size
  unsigned MaxWavesPerSimd;
  unsigned SimdsPerCU;
  unsigned ClockKHz;
  unsigned MemoryClockKHz;
  unsigned MemoryBusBits;
  unsigned L2Bytes;
  bool ArchitectedScratch; ///< FLAT_SCRATCH is set up by the hardware
  bool UnifiedVgprs;       ///< AGPRs are the upper part of one register file

  /// Compute units that share a workgroup: from gfx10 on, two of them make a
  /// workgroup processor.
  unsigned unitsTogether() const { return Generation >= 10 ? 2 : 1; }
};

constexpr unsigned NumChips = 5;
extern const ChipInfo Chips[NumChips];

/// The chip with this e_flags machine number, or null.
const ChipInfo *chipByMachine(unsigned Machine);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHIPINFO_H
