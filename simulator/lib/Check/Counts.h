//===- Counts.h - What a checked launch counts ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a checked launch counts beyond the counters of SimulatorAPI.h: classes
// of instructions, bytes and cache lines of each buffer, LDS bank conflicts,
// and how many lanes were active.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_COUNTS_H
#define LNBWD_LIB_SIMULATOR_CHECK_COUNTS_H

#include "lnbwd/ISA/InstructionFacts.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lnbwd::sim {

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

#endif // LNBWD_LIB_SIMULATOR_CHECK_COUNTS_H
