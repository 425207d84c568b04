//===- ConversionDecoder.cpp - Conversions of 4 to 8 bits -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names are systematic: v_cvt_[scalef32_][sr_][pk_|pk32_|2xpk16_]TO_FROM.
// The half or byte of a register comes from op_sel, from byte_sel (gfx12) or
// from SDWA.
//
//===----------------------------------------------------------------------===//

#include "Decode/ConversionDecoder.h"

#include "Decode/MatrixLayout.h"

#include "lnbwd/ISA/InstructionRecord.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

namespace {
/// What the name says.
struct ConversionName {
  bool Scaled, Stochastic, Halves;
  unsigned Count;
  StringRef To, From;

  explicit ConversionName(StringRef Name) {
    Name.consume_front("v_cvt_");
    Scaled = Name.consume_front("scalef32_");
    Stochastic = Name.consume_front("sr_");
    Halves = Name.consume_front("2xpk16_");
    Count = Halves || Name.consume_front("pk32_") ? 32
            : Name.consume_front("pk_")           ? 2
                                                  : 1;
    std::tie(To, From) = Name.split('_');
  }
};
} // namespace

bool ConversionDecoder::knows(StringRef Name) {
  if (!Name.starts_with("v_cvt_"))
    return false;
  const ConversionName N(Name);
  const auto To = matrixType(N.To, false), From = matrixType(N.From, false);
  return To && From &&
         (N.Stochastic || N.Scaled || bitsOf(*To) <= 8 || bitsOf(*From) <= 8);
}

namespace {
/// The parts of registers that modifiers choose.
struct Parts {
  SmallVector<unsigned, 4> OpSel;
  unsigned Byte = 0;
  bool Saturates = false;
  std::string read(const AsmText &Asm);
};
} // namespace

std::string Parts::read(const AsmText &Asm) {
  for (StringRef M : Asm.Modifiers) {
    auto [Key, Value] = M.split(':');
    if (Key == "op_sel" && parseBitList(Value, OpSel))
      continue;
    if (Key == "byte_sel" && !Value.getAsInteger(0, Byte))
      continue;
    if (Key == "src0_sel" && Value.consume_front("BYTE_") &&
        !Value.getAsInteger(10, Byte))
      continue;
    if (M == "src0_sel:WORD_0" || M == "src0_sel:DWORD" ||
        M == "dst_sel:DWORD" || M == "dst_unused:UNUSED_PAD")
      continue;
    if (M == "src0_sel:WORD_1") {
      Byte = 2;
      continue;
    }
    return quoted("the modifier", M) + " is not modelled here";
  }
  OpSel.resize(4);
  return "";
}

std::string ConversionDecoder::decode(const AsmText &Asm, Inst &I) {
  I.Class = InstClass::Vector;
  const ConversionName Name(I.Record->Name);
  const bool OneZero = Chip.MatrixGeneration == 3;
  SmallConversion C;
  C.To = *matrixType(Name.To, OneZero);
  C.From = *matrixType(Name.From, OneZero);
  C.Count = uint8_t(Name.Count);
  const bool Narrows = bitsOf(C.To) < bitsOf(C.From);

  // The values: of f32 a pair is two operands, if nothing is random.
  unsigned Sources = 1;
  const bool Pair = Name.Count == 2 && C.From == MatrixType::F32 && Narrows;
  C.TwoSources = Name.Halves || (Pair && !Name.Stochastic);
  Sources += C.TwoSources;
  if (Name.Stochastic)
    C.Random = int8_t(Sources++);
  if (Name.Scaled)
    C.Scale = int8_t(Sources++);

  Parts P;
  std::string Error = P.read(Asm);
  if (!Error.empty())
    return Error;
  if (Asm.Operands.size() != Sources + 1)
    return OperandCount;
  std::optional<Operand> D = parseOperand(Asm.Operands[0], OperandType::B32);
  if (!D || D->Kind != OperandKind::VGPR)
    return "its destination is not a vector register";
  I.Dst = *D;
  I.NumSrc = uint8_t(Sources);
  for (unsigned K = 0; K < Sources; ++K) {
    const bool Value = K < 1u + C.TwoSources;
    Error = Operands.source(
        Asm.Operands[K + 1],
        int(K) == C.Random ? OperandType::B32 : OperandType::F32, I.Src[K]);
    if (!Error.empty())
      return Error;
    const bool Signs = I.Src[K].Mods & ~ModHigh;
    if (Signs && (!Value || C.From != MatrixType::F32 || Name.Count > 2))
      return quoted("the operand", Asm.Operands[K + 1]) + " is not modelled";
    if (I.Src[K].Dwords > 2 && I.Src[K].Kind != OperandKind::VGPR)
      return "an operand is not a vector register";
  }

  // Which part of a register is read or written.
  const unsigned Read = Name.Count * bitsOf(C.From),
                 Written = Name.Count * bitsOf(C.To);
  unsigned From = P.Byte, To = P.Byte;
  if (Narrows) {
    From = 0;
    // Two bits for a byte, the last one of the list for a half.
    if (Written == 16) {
      const unsigned Last = Sources;
      To = 2 * P.OpSel[std::min(Last, 3u)];
      if (I.Dst.Mods & ModHigh)
        To = 2;
    } else if (Written == 8) {
      To += P.OpSel[2] + 2 * P.OpSel[3];
    }
    if (Read == 16)
      From = 2 * P.OpSel[0];
  } else {
    To = 0;
    if (Read == 8)
      From += P.OpSel[0] + 2 * P.OpSel[1];
    else if (Read == 16)
      From += 2 * P.OpSel[0];
    if (I.Src[0].Mods & ModHigh)
      From = 2;
    if (Written == 16)
      To = 2 * P.OpSel[Sources];
  }
  C.SourceBit = uint8_t(8 * From);
  C.ResultBit = uint8_t(8 * To);
  Conversions.push_back(C);
  I.Conversion = &Conversions.back();
  I.Run = Table.RunConversion;
  return "";
}
