//===- ClockInfo.h - Parameters of the timing model -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for a product, or for a chip without one that was measured. Members
// and rows are made of Clocks.json; simulator/docs/simulator.md has them
// with their units and origins.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_CLOCKINFO_H
#define LNBWD_LIB_SIMULATOR_TIMING_CLOCKINFO_H

#include "Check/CodeAnalysis.h"
#include "Check/Effects.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace lnbwd::sim {

struct ClockInfo {
  const char *Chip;    ///< as the compiler names it
  const char *Product; ///< as the model is named
  bool Calibrated;     ///< fitted to times of this product
#define GET_CLOCK_MEMBERS
#include "lnbwd/Chips/SimulatorClocks.inc"

  /// The product and how far the model is off on it, or that it is
  /// "uncalibrated": what stands beside every figure.
  std::string label() const;
  /// Nanoseconds of so many clocks.
  double nanoseconds(double Clocks) const { return Clocks * 1e3 / Megahertz; }
  /// Bytes of a clock at a rate in 10^9 bytes a second.
  double bytesPerClock(double Gigabytes) const {
    return Gigabytes * 1e3 / Megahertz;
  }
};

llvm::ArrayRef<ClockInfo> clocks();

/// The parameters of a chip: those of the product of that name, which has to
/// carry the chip, or without a name the first ones. Null if there are none.
const ClockInfo *clockOf(llvm::StringRef Chip, llvm::StringRef Product = "");

/// Replaces parameters, given as "name=number,...". Returns what is wrong with
/// the text, or nothing.
std::string replaceParameters(ClockInfo &C, llvm::StringRef Text);

// Facts of each instruction of a program, found out once for the compute unit
// in time: where it goes, how long it is in the way of others, and when its
// result is there.

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

#endif // LNBWD_LIB_SIMULATOR_TIMING_CLOCKINFO_H
