//===- FactTable.h - What a name says of an instruction ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts of an instruction, looked up by its name: the table of declared
// instructions (lib/ISA/Instructions), families of the others, traits that go
// across families, and for memory instructions the grammar of their names
// (lib/ISA/MemoryNames.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ISA_FACTTABLE_H
#define LNBWD_ISA_FACTTABLE_H

#include "lnbwd/ISA/InstructionFacts.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace lnbwd::isa {

/// A mnemonic without the assembler's suffixes for its encoding, which say
/// nothing of the operation.
llvm::StringRef withoutEncoding(llvm::StringRef Mnemonic);

/// What a mnemonic is called in the tables: without its encoding, one of a pair
/// as if it were alone, and the names of gfx11 and gfx12 become those of gfx9
/// where the operation is the same.
std::string canonicalMnemonic(llvm::StringRef Mnemonic);

/// What follows from the name, encoding or not, of any generation.
InstructionFacts factsOf(llvm::StringRef Mnemonic);

/// The canonical names in the row of a table (lib/ISA/FactTable.cpp).
std::vector<llvm::StringRef> canonicalNames(llvm::StringRef Row);

/// All names of instructions that are declared.
std::vector<llvm::StringRef> listedNames();

/// The patterns of names that the table of traits lists, with "*" for anything.
std::vector<llvm::StringRef> listedPatterns();

/// Whether a canonical name is of a pattern.
bool matchesPattern(llvm::StringRef Pattern, llvm::StringRef Name);

} // namespace lnbwd::isa

#endif // LNBWD_ISA_FACTTABLE_H
