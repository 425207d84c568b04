//===- ConversionDecoder.h - Conversions of 4 to 8 bits ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions to and from fp8, bf8, fp6, bf6 and fp4, and those that round by a
// random number.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_CONVERSIONDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_CONVERSIONDECODER_H

#include "Core/Operation.h"
#include "Core/SmallConversion.h"
#include "Decode/OperandDecoder.h"
#include "SimulatedChip.h"

#include <deque>
#include <string>

namespace lnbwd::sim {

class ConversionDecoder {
public:
  ConversionDecoder(const SimulatedChip &Chip, const ExecTable &Table,
                    OperandDecoder &Operands)
      : Chip(Chip), Table(Table), Operands(Operands) {}
  /// Whether an instruction is one of these.
  static bool knows(llvm::StringRef Name);
  std::string decode(const MachineOperands &From, Inst &I);

private:
  const SimulatedChip &Chip;
  const ExecTable &Table;
  OperandDecoder &Operands;
  std::deque<SmallConversion> Conversions;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_CONVERSIONDECODER_H
