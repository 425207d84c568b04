//===- LaneDecoder.h - Vector ALU instructions ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands and modifiers of vector instructions that do the same in each lane,
// and of those that cross lanes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_LANEDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_LANEDECODER_H

#include "Core/Operation.h"
#include "Decode/OperandDecoder.h"
#include "SimulatedChip.h"

#include <deque>
#include <string>

namespace lnbwd::sim {

class LaneDecoder {
public:
  LaneDecoder(const SimulatedChip &Chip, unsigned WaveSize,
              const ExecTable &Table, OperandDecoder &Operands)
      : Chip(Chip), N(WaveSize), Table(Table), Operands(Operands) {}
  std::string decode(const MachineOperands &From, const LaneOpInfo &Info,
                     Inst &I);
  /// The handler is set already.
  std::string decodeCrossLane(const MachineOperands &From, Inst &I);

private:
  std::string modifiers(const MachineOperands &From, const LaneOpInfo &Info,
                        Inst &I, bool &Slow);
  std::string halves(const MachineOperands &From, const LaneOpInfo &Info,
                     Inst &I, bool &Slow);
  std::string dpp(const MachineOperands &From, const LaneOpInfo &Info, Inst &I);
  template <typename T> void permute(Inst &I, T From);
  bool permuteBy(unsigned Control, bool WholeRegisters, Inst &I);
  uint64_t dppEnabled(unsigned RowMask, unsigned BankMask) const;

  const SimulatedChip &Chip;
  const unsigned N;
  const ExecTable &Table;
  OperandDecoder &Operands;
  std::deque<DppPattern> DppPatterns;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_LANEDECODER_H
