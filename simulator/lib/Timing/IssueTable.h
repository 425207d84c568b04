//===- IssueTable.h - How long instructions occupy what ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compute unit in time needs to know of each instruction of a program,
// found out once: where it goes, how long it is in the way of others, and when
// its result is there.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_ISSUETABLE_H
#define LNBWD_LIB_SIMULATOR_TIMING_ISSUETABLE_H

#include "Check/CodeAnalysis.h"
#include "Check/Effects.h"
#include "Timing/ClockInfo.h"

#include <vector>

namespace lnbwd::sim {

/// Where an instruction is issued to. A SIMD issues one of each in a turn, from
/// different waves.
enum class Port : uint8_t {
  Vector, ///< vector ALU and matrices
  Scalar,
  ScalarMemory,
  VectorMemory,
  Lds,
  Branch,
  Internal, ///< waits, hints, barriers, the end
  Count
};

struct IssueFacts {
  Port To = Port::Internal;
  /// Clocks in which the port (of a SIMD) takes no other instruction.
  uint16_t Busy = 4;
  /// Clocks until the wave can issue its next instruction.
  uint16_t Gap = 4;
  /// Clocks until another instruction can use the result.
  uint16_t Result = 4;
  bool Permutes = false; ///< exchanges lanes through LDS hardware
  bool IsBarrier = false, IsEnd = false, IsBranch = false;
  bool HasAccess = false; ///< goes to memory and is counted
  WaitLimits Waits;
  bool IsWait = false;
};

/// For all instructions of a program, in its order.
struct IssueTable {
  IssueTable(const InstructionTable &P, const ClockInfo &C);
  const IssueFacts &of(uint32_t Instruction) const { return List[Instruction]; }
  const Effects &effects(uint32_t Instruction) const {
    return TheEffects.List[Instruction];
  }
  /// The number of the line of code that an instruction begins in.
  uint64_t codeLine(uint32_t Instruction) const {
    return Code[Instruction].Address / CodeLineBytes;
  }
  static constexpr uint64_t CodeLineBytes = 64;
  llvm::ArrayRef<Inst> Code;
  const CodeEffects &TheEffects;
  std::vector<IssueFacts> List;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_ISSUETABLE_H
