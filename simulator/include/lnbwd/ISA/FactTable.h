//===- FactTable.h - What a name says of an instruction ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts of an instruction, looked up by its name: a table of names and
// families, one of traits that go across families, and for memory instructions
// the grammar of their names (lib/ISA/MemoryNames.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ISA_FACTTABLE_H
#define LNBWD_ISA_FACTTABLE_H

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace lnbwd::isa {

/// What follows from the name, encoding or not, of any generation.
InstructionFacts factsOf(llvm::StringRef Mnemonic);

/// The names that the table of facts lists.
std::vector<llvm::StringRef> listedNames();

/// The patterns of names that the table of traits lists, with "*" for anything.
std::vector<llvm::StringRef> listedPatterns();

/// Whether a canonical name is of a pattern.
bool matchesPattern(llvm::StringRef Pattern, llvm::StringRef Name);

} // namespace lnbwd::isa

#endif // LNBWD_ISA_FACTTABLE_H
