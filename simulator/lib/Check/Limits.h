//===- Limits.h - What a chip cannot run ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of a kernel's descriptor and metadata before anything executes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_LIMITS_H
#define LNBWD_LIB_SIMULATOR_CHECK_LIMITS_H

#include "Core/Kernel.h"
#include "SimulatedChip.h"

#include <cstdint>
#include <string>

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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_LIMITS_H
