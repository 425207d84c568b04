//===- ScalarDecoder.h - Scalar instructions --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of instructions on scalar registers, and of those that control a
// wave.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_SCALARDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_SCALARDECODER_H

#include "Core/Instruction.h"
#include "Decode/OperandDecoder.h"

#include <string>

namespace lnbwd::sim {

class ScalarDecoder {
public:
  explicit ScalarDecoder(OperandDecoder &Operands) : Operands(Operands) {}
  /// The handler is set already.
  std::string decode(const MachineOperands &From, Inst &I);

private:
  OperandDecoder &Operands;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_SCALARDECODER_H
