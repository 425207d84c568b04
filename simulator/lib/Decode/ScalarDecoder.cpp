//===- ScalarDecoder.cpp - Scalar instructions ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not scalar loads, which are in MemoryDecoder.cpp.
//
//===----------------------------------------------------------------------===//

#include "Decode/ScalarDecoder.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include <optional>

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

std::string ScalarDecoder::decode(const AsmText &Asm, Inst &I) {
  const isa::InstructionDescription &Description = I.Record->Description;
  const isa::OperandForm Form = I.Record->Facts.Form;
  I.Class = InstClass::Scalar;
  I.Imm = I.Encoding & 0xffff;
  if (Form == isa::OperandForm::Ignored)
    return "";
  if (!Asm.Modifiers.empty())
    return quoted("the modifier", Asm.Modifiers[0]) + " is not modelled";

  unsigned Next = 0;
  std::string Error;
  if (Description.Results || Form == isa::OperandForm::FirstWritten) {
    if (Asm.Operands.empty())
      return "it has no operands";
    Error = Operands.scalarDestination(Asm.Operands[Next++], I.Dst);
    if (!Error.empty())
      return Error;
  }
  const unsigned Left = unsigned(Asm.Operands.size()) - Next;
  switch (Form) {
  case isa::OperandForm::Ignored:
  case isa::OperandForm::ResultOnly:
    return "";
  case isa::OperandForm::GprIndex:
    I.NumSrc = 1;
    // What is indexed is coded as the second source of a compare.
    I.Imm = I.Encoding >> 8 & 0xff;
    return Operands.source(Asm.Operands.empty() ? "" : Asm.Operands[0],
                           OperandType::B32, I.Src[0]);
  case isa::OperandForm::SetRegister:
    if (Left != 2)
      return OperandCount;
    I.NumSrc = 1;
    return Operands.source(Asm.Operands[1], OperandType::B32, I.Src[0]);
  case isa::OperandForm::Immediate:
  case isa::OperandForm::Unsigned: {
    if (Left == 0 || Left > 2)
      return OperandCount;
    unsigned Place = 0;
    if (Left == 2)
      Error =
          Operands.source(Asm.Operands[Next], OperandType::B32, I.Src[Place++]);
    Operand &O = I.Src[Place];
    O.Kind = OperandKind::Constant;
    O.Dwords = 1;
    O.Value = Form == isa::OperandForm::Unsigned
                  ? uint64_t(I.Imm)
                  : uint64_t(uint32_t(int32_t(int16_t(I.Imm))));
    I.NumSrc = uint8_t(Place + 1);
    return Error;
  }
  case isa::OperandForm::Listed:
  case isa::OperandForm::FirstWritten:
    break;
  }
  if (Left > 4)
    return OperandCount;
  // What an inline constant means depends on the type.
  const bool IsHalf = I.Record->Facts.Flags & isa::FactSourcesF16;
  const unsigned First = Form == isa::OperandForm::FirstWritten ? 1 : 0;
  for (unsigned K = 0; Next < Asm.Operands.size(); ++K, ++Next) {
    const OperandType Type = IsHalf ? OperandType::F16
                             : Description.sourceDwords(First + K) > 1
                                 ? OperandType::B64
                                 : OperandType::B32;
    std::optional<Operand> P = parseOperand(Asm.Operands[Next], Type);
    if (!P || P->Kind == OperandKind::VGPR || P->Kind == OperandKind::None)
      return quoted("the operand", Asm.Operands[Next]) + " is not modelled";
    I.Src[K] = *P;
    I.NumSrc = uint8_t(K + 1);
  }
  return "";
}
