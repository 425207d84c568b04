//===- CacheModel.h - What bits and instructions do to caches ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
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
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_CACHEMODEL_H
#define LNBWD_LIB_SIMULATOR_CHECK_CACHEMODEL_H

#include "SimulatedChip.h"

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace lnbwd::sim {

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
CacheUse cacheUse(const isa::InstructionFacts &Facts, llvm::StringRef Text,
                  const SimulatedChip &Chip);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_CACHEMODEL_H
