//===- MemoryDecoder.h - Memory instructions --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads, stores and atomics of all kinds of memory.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_MEMORYDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_MEMORYDECODER_H

#include "Core/Operation.h"
#include "Decode/OperandDecoder.h"
#include "SimulatedChip.h"

#include <string>

namespace lnbwd::sim {

class MemoryDecoder {
public:
  MemoryDecoder(const SimulatedChip &Chip, const ExecTable &Table,
                OperandDecoder &Operands)
      : Chip(Chip), Table(Table), Operands(Operands) {}
  std::string decode(const MachineOperands &From, Inst &I);

private:
  std::string decodeVector(const MachineOperands &From,
                           const isa::MemoryFacts &Facts, Inst &I);
  std::string decodeLds(const MachineOperands &From,
                        const isa::MemoryFacts &Facts, Inst &I);
  std::string decodeScalarLoad(const MachineOperands &From,
                               const isa::MemoryFacts &Facts, Inst &I);
  std::string modifiers(const MachineOperands &From, Inst &I) const;

  const SimulatedChip &Chip;
  const ExecTable &Table;
  OperandDecoder &Operands;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_MEMORYDECODER_H
