//===- CodeDecoder.h - From machine code to Inst ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes whole sections of code through LLVM's MC disassembler.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_CODEDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_CODEDECODER_H

#include "Core/InstructionTable.h"
#include "Core/Operation.h"
#include "Decode/InstDecoder.h"
#include "SimulatedChip.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <string>

namespace lnbwd::sim {

/// Code, and what its instructions point to.
class DecodedCode final : public InstructionTable {
public:
  /// Decodes all code. Instructions that are not known become ones that stop
  /// the wave that executes them.
  DecodedCode(const SimulatedChip &Chip, unsigned WaveSize,
              llvm::ArrayRef<CodeRange> Ranges, const ExecTable &Table,
              bool HasScratch = true);

private:
  struct Opcode {
    isa::InstructionDescription Description;
    std::string SecondName; ///< of a pair
  };
  std::map<unsigned, Opcode> Opcodes;
  InstDecoder Decode;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_CODEDECODER_H
