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

/// What LLVM's description of an instruction says that its text does not.
struct InstructionDescription {
  static constexpr unsigned MostOperands = 8;
  bool ReadsScc = false, WritesScc = false;
  bool ReadsVcc = false;
  bool ReadsM0 = false, WritesM0 = false;
  bool ReadsExec = false, WritesExec = false;
  bool ReadsResult = false; ///< the destination is a source, too
  bool IsBranch = false;    ///< not calls
  bool IsCall = false;
  bool MayLoad = false, MayStore = false; ///< both: an atomic
  uint8_t Results = 0;
  /// Of results and then sources; 0 for what is no register.
  uint8_t OperandDwords[MostOperands] = {};

  /// Dwords of the K-th source.
  unsigned sourceDwords(unsigned K) const {
    return Results + K < MostOperands ? OperandDwords[Results + K] : 0;
  }
};

struct InstructionRecord {
  std::string Name; ///< canonical
  InstructionFacts Facts;
  InstructionDescription Description;

  InstructionRecord() = default;
  InstructionRecord(llvm::StringRef Mnemonic,
                    const InstructionDescription &Description);
};

} // namespace lnbwd::isa

#endif // LNBWD_ISA_INSTRUCTIONRECORD_H
