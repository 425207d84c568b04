//===- OperandDecoder.cpp - Operands of instructions ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers and constants.
//
//===----------------------------------------------------------------------===//

#include "Decode/OperandDecoder.h"

#include "Decode/AsmText.h"

#include <optional>

using namespace llvm;
using namespace lnbwd::sim;

std::string lnbwd::sim::quoted(const char *What, StringRef Text) {
  return std::string(What) + " '" + Text.str() + "'";
}

const uint32_t *OperandDecoder::constantRow(uint64_t Value) {
  auto &Row = Constants[Value];
  if (!Row) {
    Row = std::make_unique<std::array<uint32_t, 128>>();
    for (unsigned L = 0; L < N; ++L) {
      (*Row)[L] = uint32_t(Value);
      (*Row)[L + N] = uint32_t(Value >> 32);
    }
  }
  return Row->data();
}

std::string OperandDecoder::source(StringRef Text, OperandType Type,
                                   Operand &O) {
  std::optional<Operand> P = parseOperand(Text, Type);
  if (!P)
    return quoted("the operand", Text) + " is not modelled";
  O = *P;
  if (Type == OperandType::Mask) {
    if (O.Kind == OperandKind::SGPR)
      O.Kind = OperandKind::Mask;
    else
      return quoted("the lane mask", Text) + " is not modelled";
    return "";
  }
  if (O.Kind == OperandKind::Constant)
    O.Lanes = constantRow(O.Value);
  // A 32-bit scalar in the place of a 64-bit value has no second register.
  if (O.Kind == OperandKind::SGPR && rowsOf(Type) > O.Dwords)
    return quoted("the operand", Text) + " is narrower than the instruction";
  return "";
}

std::string OperandDecoder::scalarDestination(StringRef Text, Operand &O) {
  std::optional<Operand> P = parseOperand(Text, OperandType::B32);
  if (!P)
    return quoted("the destination", Text) + " is not modelled";
  O = *P;
  if (O.Kind == OperandKind::Constant && Text == "null")
    O.Kind = OperandKind::SGPR; // Writes to null go to a slot nobody reads.
  if (O.Kind != OperandKind::SGPR)
    return quoted("the destination", Text) + " is not a scalar register";
  return "";
}
