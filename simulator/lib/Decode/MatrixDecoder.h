//===- MatrixDecoder.h - Matrix instructions --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands and modifiers of matrix instructions.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_MATRIXDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_MATRIXDECODER_H

#include "Core/MatrixShape.h"
#include "Core/Operation.h"
#include "Decode/OperandDecoder.h"
#include "SimulatedChip.h"

#include <deque>
#include <string>

namespace lnbwd::sim {

class MatrixDecoder {
public:
  MatrixDecoder(const SimulatedChip &Chip, unsigned WaveSize,
                const ExecTable &Table, OperandDecoder &Operands)
      : Chip(Chip), N(WaveSize), Table(Table), Operands(Operands) {}
  std::string decode(const MachineOperands &From, Inst &I);

private:
  const SimulatedChip &Chip;
  const unsigned N;
  const ExecTable &Table;
  OperandDecoder &Operands;
  std::deque<MatrixShape> Shapes;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_MATRIXDECODER_H
