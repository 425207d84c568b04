//===- InstructionRecord.cpp - All known of an instruction ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings together what the name says and what LLVM's description says.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/ISA/InstructionRecord.h"

#include "lnbwd/ISA/FactTable.h"
#include "lnbwd/ISA/Mnemonics.h"

using namespace llvm;
using namespace lnbwd::isa;

InstructionRecord::InstructionRecord(StringRef Mnemonic,
                                     const InstructionDescription &Description)
    : Mnemonic(withoutEncoding(Mnemonic)), Name(canonicalMnemonic(Mnemonic)),
      Facts(factsOf(Mnemonic)), Description(Description) {
  // LLVM knows best what branches.
  if (Facts.Where == Unit::Scalar &&
      (Description.IsBranch || Description.IsCall))
    Facts.Class = CountClass::Branch;
}
