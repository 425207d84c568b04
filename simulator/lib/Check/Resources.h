//===- Resources.h - What a launch takes of a chip --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel asks for before anything executes, which may be more than the
// chip has: registers, LDS, waves. And what a checked launch counts beyond the
// counters of SimulatorAPI.h: classes of instructions, bytes and cache lines of
// each buffer, LDS bank conflicts, and how many lanes were active.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_RESOURCES_H
#define LNBWD_LIB_SIMULATOR_CHECK_RESOURCES_H

#include "Core/InstructionTable.h"
#include "SimulatedChip.h"

#include "lnbwd/ISA/InstructionFacts.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// What a kernel's descriptor and metadata say that the chip cannot run, or
/// that contradicts itself; empty if nothing.
std::string checkKernelLimits(const SimulatedChip &Chip, const Kernel &K,
                              const uint32_t Block[3], uint64_t LdsBytes);

/// Numbers of vector and scalar registers that a descriptor allocates.
void allocatedRegisters(const SimulatedChip &Chip, const Kernel &K,
                        unsigned &Vgprs, unsigned &Agprs, unsigned &Sgprs);

/// How many waves of a kernel fit on a SIMD.
struct WaveRoom {
  unsigned Registers; ///< vector registers that a wave takes
  unsigned PerSimd;   ///< waves
};
WaveRoom roomForWaves(const SimulatedChip &Chip, const Kernel &K);

/// Cycles that the banks of LDS need for an access: lanes are served in groups
/// that ask for a dword of each bank at most; two dwords of one bank in a group
/// take two cycles, the same dword is handed to all.
unsigned bankCycles(const uint32_t *A, uint64_t Mask, unsigned Bytes,
                    unsigned N, unsigned Banks, unsigned &Least);

using isa::CountClass;

/// Whether instructions of a class have lanes.
constexpr bool isVector(CountClass C) {
  return C <= CountClass::CrossLane || C >= CountClass::GlobalLoad;
}

struct BufferCounts {
  uint64_t Accesses = 0; ///< instructions of waves
  uint64_t BytesRead = 0, BytesWritten = 0;
  uint64_t Lines64 = 0, Lines128 = 0; ///< touched, summed over instructions
  void add(const BufferCounts &Other);
};

struct CheckCounts {
  uint64_t Issued[unsigned(CountClass::Count)] = {};
  uint64_t PossibleLanes = 0;        ///< of vector instructions
  uint64_t InactiveLanes = 0;        ///< of these
  uint64_t PartialInstructions = 0;  ///< with inactive lanes
  uint64_t LdsCycles = 0;            ///< of accesses to LDS, bank by bank
  uint64_t LdsConflictCycles = 0;    ///< beyond those without conflicts
  std::vector<BufferCounts> Buffers; ///< by Region::Index
  void add(const CheckCounts &Other);
};

/// The counts of a device since the last reset; buffers by name, or by address.
struct NamedCounts {
  CheckCounts Total;
  std::map<std::string, BufferCounts> Buffers;
  std::string json() const;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_RESOURCES_H
