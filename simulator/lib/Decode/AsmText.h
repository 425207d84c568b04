//===- AsmText.h - Printed instructions, taken apart ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's public interface gives a decoded AMDGPU instruction as numbers whose
// meaning (which operand is which, how a modifier is coded) is private to the
// backend. Its assembly text says it all in a documented form that is the same
// for all chips, so the decoder works from the text.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_ASMTEXT_H
#define LNBWD_LIB_SIMULATOR_DECODE_ASMTEXT_H

#include "Core/Instruction.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace lnbwd::sim {

/// The parts of "mnemonic operand, operand modifier modifier:value". They point
/// into the text.
struct AsmText {
  llvm::StringRef Mnemonic;
  llvm::SmallVector<llvm::StringRef, 6> Operands;
  llvm::SmallVector<llvm::StringRef, 6> Modifiers;

  static AsmText parse(llvm::StringRef Text);
};

/// Reads an operand. The type decides the bits of a constant. Nothing if the
/// operand is of a kind the simulator does not know; "off" gives an operand of
/// kind None.
std::optional<Operand> parseOperand(llvm::StringRef Text, OperandType Type);

/// The numbers of "name:[0,1,0]", or nothing if it is something else.
bool parseBitList(llvm::StringRef Value, llvm::SmallVectorImpl<unsigned> &Out);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_ASMTEXT_H
