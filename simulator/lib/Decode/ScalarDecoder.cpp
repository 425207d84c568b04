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

#include "Decode/Decoders.h"

#include "lnbwd/ISA/InstructionRecord.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

std::string ScalarDecoder::decode(const MachineOperands &From, Inst &I) {
  const isa::InstructionDescription &Description = I.Record->Description;
  const isa::OperandForm Form = I.Record->Facts.Form;
  I.Class = InstClass::Scalar;
  I.Imm = I.Encoding & 0xffff;
  if (Form == isa::OperandForm::Ignored) {
    if (I.Record->Facts.Cache != isa::CacheControl::None &&
        !From.Immediates.empty())
      I.CachePolicy = uint8_t(From.Immediates[0]);
    return "";
  }
  if (From.isClamped() || From.outputShift())
    return notModelled("a modifier of the result");

  unsigned Next = 0;
  std::string Error;
  if (Description.Results || Form == isa::OperandForm::FirstWritten) {
    if (From.List.empty())
      return OperandCount;
    Error = Operands.scalarDestination(From.List[Next++], I.Dst);
    if (!Error.empty())
      return Error;
  }
  const unsigned Left = unsigned(From.List.size()) - Next;
  switch (Form) {
  case isa::OperandForm::Ignored:
  case isa::OperandForm::ResultOnly:
    return "";
  case isa::OperandForm::GprIndex:
    // What is indexed is coded as the second source of a compare.
    I.Imm = I.Encoding >> 8 & 0xff;
    [[fallthrough]];
  case isa::OperandForm::SetRegister: {
    I.NumSrc = 1;
    // An immediate as wide as the register is none of the operands.
    MachineOperand Value;
    Operands.constant(
        Value, From.Immediates.empty() ? 0 : uint32_t(From.Immediates[0]));
    return Operands.source(Left ? From.List[Next] : Value, OperandType::B32,
                           I.Src[0]);
  }
  case isa::OperandForm::Immediate:
  case isa::OperandForm::Unsigned: {
    if (Left > 1)
      return OperandCount;
    if (Left)
      Error = Operands.source(From.List[Next], OperandType::B32, I.Src[0]);
    Operand &O = I.Src[Left];
    O.Kind = OperandKind::Constant;
    O.Dwords = 1;
    O.Value = Form == isa::OperandForm::Unsigned
                  ? uint64_t(I.Imm)
                  : uint64_t(uint32_t(int32_t(int16_t(I.Imm))));
    I.NumSrc = uint8_t(Left + 1);
    return Error;
  }
  case isa::OperandForm::Listed:
  case isa::OperandForm::FirstWritten:
    break;
  }
  if (Left > 4)
    return OperandCount;
  // Of barriers the number may be in M0, which is no operand then.
  if (Left == 0 && Description.ReadsM0) {
    I.Src[0].Kind = OperandKind::SGPR;
    I.Src[0].Reg = SlotM0;
    I.Src[0].Dwords = 1;
    I.NumSrc = 1;
  }
  const unsigned First = Form == isa::OperandForm::FirstWritten ? 1 : 0;
  for (unsigned K = 0; K < Left; ++K) {
    const MachineOperand &Source = From.List[Next + K];
    Operand &O = I.Src[K] = Source;
    if (O.Kind == OperandKind::VGPR || O.Kind == OperandKind::None)
      return "the operand '" + Source.Name.lower() + "' is not modelled";
    if (O.Kind == OperandKind::Constant) {
      O.Dwords = Description.sourceDwords(First + K) > 1 ? 2 : 1;
      O.Value = O.Dwords == 2 ? O.Value : uint32_t(O.Value);
      // LLVM takes the sources of conversions for integers.
      if (I.Record->Facts.Flags & isa::FactSourcesF16)
        O.Value = From.inlineFloat(K, OperandType::F16).value_or(O.Value);
    }
    I.NumSrc = uint8_t(K + 1);
  }
  return "";
}
