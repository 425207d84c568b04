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
#include "Decode/AsmText.h"
#include "Decode/OperandDecoder.h"

#include <string>

namespace lnbwd::sim {

class MemoryDecoder {
public:
  MemoryDecoder(const ExecTable &Table, OperandDecoder &Operands)
      : Table(Table), Operands(Operands) {}
  std::string decode(const AsmText &Asm, Inst &I);

private:
  std::string decodeVector(const AsmText &Asm, const isa::MemoryFacts &Facts,
                           Inst &I);
  std::string decodeLds(const AsmText &Asm, const isa::MemoryFacts &Facts,
                        Inst &I);
  std::string decodeScalarLoad(const AsmText &Asm,
                               const isa::MemoryFacts &Facts, Inst &I);
  std::string modifiers(const AsmText &Asm, Inst &I);

  const ExecTable &Table;
  OperandDecoder &Operands;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_MEMORYDECODER_H
