//===- SimulatedChip.h - The simulated devices ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each simulated device. Differences between chips are asked here.
// Members and rows are made of lib/Chips/Chips.json (docs/reference/chips.md).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_SIMULATEDCHIP_H
#define LNBWD_LIB_SIMULATOR_SIMULATEDCHIP_H

#include <string>

namespace lnbwd::sim {

struct SimulatedChip {
  /// As the compiler names it.
  const char *Chip;
  /// The EF_AMDGPU_MACH value of e_flags.
  unsigned ElfMachine;
  /// That of the generic target that the chip belongs to; 0: none.
  unsigned GenericMachine;
#define GET_CHIP_MEMBERS
#include "lnbwd/Chips/SimulatorChips.inc"

  /// The name with the settings of the device, as hipDeviceProp_t::gcnArchName
  /// has it: "sramecc+:xnack-" follow where the chip knows them.
  std::string archName() const;

  /// CDNA5: gfx12's instructions with banks of vector registers, clusters and
  /// wider descriptors of buffers.
  bool isCdna5() const { return Generation == 12 && AddressableVgprs > 256; }

  /// Compute units that share a workgroup: where there are two, they make a
  /// workgroup processor.
  unsigned unitsTogether() const { return UnitsTogether; }
};

constexpr unsigned NumChips =
#define GET_CHIP_COUNT
#include "lnbwd/Chips/SimulatorChips.inc"
    ;
extern const SimulatedChip Chips[NumChips];

/// Whether devices repeat memory accesses after page faults, where they can:
/// HSA_XNACK=1 in the environment, as ROCm has it. There are no page faults
/// here; it only decides which code objects fit.
bool isXnackOn();

/// The chip of this name, or null.
const SimulatedChip *chipByName(const std::string &Name);

/// The names of all chips, separated by commas.
std::string namesOfChips();

/// The chip with this e_flags machine number, or null.
const SimulatedChip *chipByMachine(unsigned Machine);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_SIMULATEDCHIP_H
