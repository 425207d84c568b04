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

#include "Decode/Decoders.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
using namespace llvm;
using namespace lnbwd::sim;

std::string lnbwd::sim::notModelled(StringRef What) {
  return What.str() + " is not modelled here";
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

void OperandDecoder::constant(Operand &O, uint64_t Value) {
  O.Kind = OperandKind::Constant;
  O.Value = Value;
  O.Lanes = constantRow(Value);
}

static std::string unknownOperand(const MachineOperand &From) {
  return "the operand '" + From.Name.lower() + "' is not modelled";
}

/// A half takes of a literal no more than the low half; inline integers are
/// negative or small.
static bool isLiteralOfHalf(const MachineOperand &From, OperandType Type) {
  return isUInt<32>(From.Value) &&
         (Type == OperandType::F16 || Type == OperandType::BF16 ||
          Type == OperandType::I16);
}

std::string OperandDecoder::source(const MachineOperand &From, OperandType Type,
                                   Operand &O) {
  O = From;
  switch (O.Kind) {
  case OperandKind::None:
    return unknownOperand(From);
  case OperandKind::Constant:
    O.Dwords = uint8_t(std::max(1u, rowsOf(Type)));
    constant(O, O.Dwords == 2                 ? From.Value
                : isLiteralOfHalf(From, Type) ? uint16_t(From.Value)
                                              : uint32_t(From.Value));
    break;
  case OperandKind::SGPR:
    // A 32-bit scalar in the place of a 64-bit value has no second register.
    if (rowsOf(Type) > O.Dwords)
      return "the operand '" + From.Name.lower() +
             "' is narrower than the instruction";
    if (Type == OperandType::Mask)
      O.Kind = OperandKind::Mask;
    break;
  default:
    break;
  }
  if (Type == OperandType::Mask && O.Kind != OperandKind::Mask)
    return "a lane mask that is not in scalar registers is not modelled";
  return "";
}

std::string OperandDecoder::scalarDestination(const MachineOperand &From,
                                              Operand &O) {
  O = From;
  if (O.Kind == OperandKind::Constant && O.Reg == SlotNull)
    O.Kind = OperandKind::SGPR; // Writes to null go to a slot nobody reads.
  if (O.Kind != OperandKind::SGPR)
    return "the destination '" + From.Name.lower() +
           "' is not a scalar register";
  return "";
}

Operand OperandDecoder::vcc() const {
  Operand O;
  O.Kind = OperandKind::SGPR;
  O.Reg = SlotVCC;
  O.Dwords = N == 64 ? 2 : 1;
  return O;
}
