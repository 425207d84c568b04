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

#include "Core/Instruction.h"
#include "Core/InstructionTable.h"
#include "Decode/Decoders.h"
#include "SimulatedChip.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>
#include <utility>

namespace lnbwd::sim {

// Finds the execution function of an instruction and has its operands resolved.

class InstDecoder {
public:
  InstDecoder(const SimulatedChip &Chip, unsigned WaveSize,
              const ExecTable &Table);

  /// Appends the instruction (several Inst if it has to be taken apart) to Out.
  /// Base has address, size and encoding already. Returns why it cannot be
  /// executed, and appends one with its record then, or an empty string.
  /// The description, and the second name of a pair, live as long as this.
  /// From gets the banks of its registers.
  std::string decode(const isa::Disassembled &Read,
                     const isa::InstructionDescription &Description,
                     llvm::StringRef SecondName, MachineOperands &From,
                     const Inst &Base, llvm::SmallVectorImpl<Inst> &Out);

private:
  std::string decodeOne(llvm::StringRef Mnemonic,
                        const isa::InstructionDescription &Description,
                        const MachineOperands &From, Inst &I);
  std::string decodeDual(llvm::StringRef X, llvm::StringRef Y,
                         const MachineOperands &From, const Inst &Base,
                         llvm::SmallVectorImpl<Inst> &Out);
  unsigned sourcesOf(llvm::StringRef Mnemonic, bool WithMasks) const;

  /// Between s_set_gpr_idx_on and s_set_gpr_idx_off.
  bool Indexed = false;
  const SimulatedChip &Chip;
  const ExecTable &Table;
  OperandDecoder Operands;
  LaneDecoder Lanes;
  ScalarDecoder Scalars;
  MemoryDecoder Memory;
  MatrixDecoder Matrices;
  ConversionDecoder Conversions;
  /// By description, and by mnemonic, which one encoding may have several of.
  std::map<std::pair<const isa::InstructionDescription *, std::string>,
           isa::InstructionRecord>
      Records;
  llvm::StringMap<const LaneOpInfo *> LaneOps;
  llvm::StringMap<Handler> CrossLaneOps;
  llvm::StringMap<Handler> ScalarHandlers;
};

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
