//===- InstDecoder.h - From assembly text to Inst ---------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the execution function of an instruction and resolves its operands.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_INSTDECODER_H
#define LNBWD_LIB_SIMULATOR_INSTDECODER_H

#include "AsmText.h"
#include "ChipInfo.h"
#include "Exec/ExecTable.h"

#include "llvm/ADT/StringMap.h"

#include <array>
#include <deque>
#include <map>
#include <string>

namespace lnbwd::sim {

/// What a mnemonic without its encoding suffix is called in the tables; the
/// names of gfx11 and gfx12 become those of gfx9 where the operation is the
/// same.
std::string canonicalMnemonic(llvm::StringRef Mnemonic);

class InstDecoder {
public:
  InstDecoder(const ChipInfo &Chip, unsigned WaveSize, const ExecTable &Table);

  /// Appends the instruction (several Inst if it has to be taken apart) to Out.
  /// Base has address, size and encoding already. Returns why it cannot be
  /// executed, or an empty string.
  std::string decode(llvm::StringRef Text, const Inst &Base,
                     llvm::SmallVectorImpl<Inst> &Out);

private:
  std::string decodeOne(llvm::StringRef Text, Inst &I);
  std::string decodeDual(llvm::StringRef X, llvm::StringRef Y, const Inst &Base,
                         llvm::SmallVectorImpl<Inst> &Out);
  std::string decodeLane(const AsmText &Asm, const LaneOpInfo &Info, Inst &I);
  std::string laneModifiers(const AsmText &Asm, const LaneOpInfo &Info, Inst &I,
                            bool &Slow);
  bool dppModifier(llvm::StringRef Name, llvm::StringRef Value, Inst &I);
  uint64_t dppEnabled(unsigned RowMask, unsigned BankMask) const;
  std::string decodeScalar(const AsmText &Asm, llvm::StringRef Name, Inst &I);
  std::string decodeCrossLane(const AsmText &Asm, llvm::StringRef Name,
                              Inst &I);
  /// In MatrixDecoder.cpp.
  std::string decodeMatrix(const AsmText &Asm, llvm::StringRef Name, Inst &I);
  /// In MemoryDecoder.cpp.
  std::string decodeMemory(const AsmText &Asm, llvm::StringRef Name, Inst &I);
  std::string decodeVectorMemory(const AsmText &Asm, llvm::StringRef Space,
                                 llvm::StringRef Name, Inst &I);
  std::string decodeLds(const AsmText &Asm, llvm::StringRef Name, Inst &I);
  std::string decodeScalarLoad(const AsmText &Asm, llvm::StringRef Name,
                               Inst &I);
  std::string memoryModifiers(const AsmText &Asm, Inst &I);

  std::string source(llvm::StringRef Text, OperandType Type, Operand &O);
  std::string scalarDestination(llvm::StringRef Text, Operand &O);
  const uint32_t *constantRow(uint64_t Value);

  /// Between s_set_gpr_idx_on and s_set_gpr_idx_off.
  bool Indexed = false;
  const ChipInfo &Chip;
  const unsigned N;
  const ExecTable &Table;
  llvm::StringMap<const LaneOpInfo *> LaneOps;
  llvm::StringMap<Handler> CrossLaneOps;
  llvm::StringMap<Handler> ScalarHandlers;
  std::map<uint64_t, std::unique_ptr<std::array<uint32_t, 128>>> Constants;
  std::deque<DppPattern> DppPatterns;
  std::deque<MatrixShape> MatrixShapes;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_INSTDECODER_H
