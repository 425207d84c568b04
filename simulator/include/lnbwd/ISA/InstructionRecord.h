//===- InstructionRecord.h - All known of an instruction --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One record for an instruction, for all who read machine code. Its facts
// follow from the name (FactTable.h), its description from LLVM's tables.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ISA_INSTRUCTIONRECORD_H
#define LNBWD_ISA_INSTRUCTIONRECORD_H

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace lnbwd::isa {

/// What an operand of LLVM's instruction is.
enum class OperandRole : uint8_t {
  Immediate, ///< a modifier or an offset
  Result,
  Source,
  Register,  ///< a source that is no constant
  Tied,      ///< a source that is a result, too, and is not written twice
  Modifiers, ///< of the source that follows: SourceModifier
};

/// Bits of such modifiers, of which packed instructions have others.
enum SourceModifier : uint8_t {
  ModifierNeg = 1, ///< packed: negates the low half
  ModifierAbs = 2, ///< packed: negates the high half
  ModifierHalf = 4,
  ModifierHalfHigh = 8, ///< packed; of the first source, the result's half
  ModifierSext = 16,
};

/// How an instruction is encoded, where decoding depends on it.
enum class Encoding : uint8_t {
  Other,
  Vop3,
  Vop3P, ///< packed
  Mai,   ///< v_mfma, v_smfmac and their accumulation registers
  Sdwa,
  Vopd, ///< two instructions
};

/// What LLVM's description of an instruction says that its name does not.
struct InstructionDescription {
  static constexpr unsigned MostOperands = 24;
  Encoding Coded = Encoding::Other;
  bool IsDpp = false;
  bool ReadsScc = false, WritesScc = false;
  bool ReadsVcc = false, WritesVcc = false;
  bool ReadsM0 = false, WritesM0 = false;
  bool ReadsExec = false, WritesExec = false;
  bool ReadsResult = false; ///< the destination is a source, too
  bool IsBranch = false;    ///< not calls
  bool IsDirect = false;    ///< a branch to a place that it names
  bool IsBarrier = false;   ///< nothing flows on to the next instruction
  bool EndsWave = false;
  bool IsCall = false;
  bool MayLoad = false, MayStore = false; ///< both: an atomic
  uint8_t Results = 0;
  /// Of a matrix instruction, in passes of four cycles, as LLVM's scheduler has
  /// it; twice as many, if PassesVary, where a factor has 8 bits.
  uint8_t Passes = 0;
  bool PassesVary = false;
  /// Of results and then sources; 0 for what is no register.
  uint8_t OperandDwords[MostOperands] = {};
  OperandRole Roles[MostOperands] = {};
  int16_t RegisterClasses[MostOperands] = {}; ///< LLVM's numbers; none: -1

  /// Dwords of the K-th source.
  unsigned sourceDwords(unsigned K) const {
    return Results + K < MostOperands ? OperandDwords[Results + K] : 0;
  }
};

struct InstructionRecord {
  std::string Mnemonic; ///< LLVM's, without its encoding
  std::string Name;     ///< canonical
  InstructionFacts Facts;
  InstructionDescription Description;

  InstructionRecord() = default;
  InstructionRecord(llvm::StringRef Mnemonic,
                    const InstructionDescription &Description);
};

} // namespace lnbwd::isa

#endif // LNBWD_ISA_INSTRUCTIONRECORD_H
