//===- Mnemonics.h - Names of instructions ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One name for an operation, whatever its encoding and generation.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ISA_MNEMONICS_H
#define LNBWD_ISA_MNEMONICS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace lnbwd::isa {

/// A mnemonic without the assembler's suffixes for its encoding, which say
/// nothing of the operation.
llvm::StringRef withoutEncoding(llvm::StringRef Mnemonic);

/// What a mnemonic is called in the tables: without its encoding, one of a pair
/// as if it were alone, and the names
/// of gfx11 and gfx12 become those of gfx9 where the operation is the same.
std::string canonicalMnemonic(llvm::StringRef Mnemonic);

} // namespace lnbwd::isa

#endif // LNBWD_ISA_MNEMONICS_H
