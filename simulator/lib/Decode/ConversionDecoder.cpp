//===- ConversionDecoder.cpp - Conversions of 4 to 8 bits -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names are systematic: v_cvt_[scalef32_|scale_][sr_][PACKED_]TO_FROM,
// where PACKED is pk, pk8, pk16, pk32 or 2xpk16. The half or byte of a register
// comes from op_sel, from byte_sel (gfx12) or from SDWA.
//
//===----------------------------------------------------------------------===//

#include "Decode/Decoders.h"

#include "lnbwd/ISA/InstructionRecord.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

namespace {
/// What the name says.
struct ConversionName {
  bool Scaled, ScaledByBytes, Stochastic, Halves;
  unsigned Count;
  StringRef To, From;

  explicit ConversionName(StringRef Name) {
    Name.consume_front("v_cvt_");
    ScaledByBytes = Name.consume_front("scale_");
    Scaled = ScaledByBytes || Name.consume_front("scalef32_");
    Stochastic = Name.consume_front("sr_");
    Halves = Name.consume_front("2xpk16_");
    Count = Halves || Name.consume_front("pk32_") ? 32
            : Name.consume_front("pk16_")         ? 16
            : Name.consume_front("pk8_")          ? 8
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

/// The first byte that a field of the encoding says of a register; nothing if
/// there is more in the field.
static std::optional<unsigned> firstByte(const MachineOperands &From,
                                         bool HasByteField) {
  if (From.Coded == isa::Encoding::Sdwa) {
    const uint32_t Word = From.Words[1];
    const Sdwa Source = Sdwa(Word >> 16 & 7), Result = Sdwa(Word >> 8 & 7);
    if (Result != Sdwa::Dword || (Word >> 11 & 3))
      return std::nullopt;
    return Source <= Sdwa::Byte3   ? unsigned(Source)
           : Source == Sdwa::Word1 ? 2
                                   : 0;
  }
  const bool Has = HasByteField && From.Coded == isa::Encoding::Vop3 &&
                   !From.Immediates.empty();
  return Has ? unsigned(From.Immediates[0]) : 0;
}

std::string ConversionDecoder::decode(const MachineOperands &From, Inst &I) {
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
  C.TwoSources = Name.Halves || (Pair && !(Name.Stochastic && Name.Scaled));
  Sources += C.TwoSources;
  if (Name.Stochastic)
    C.Random = int8_t(Sources++);
  if (Name.Scaled)
    C.Scale = int8_t(Sources++);
  C.ScaleBytes = Name.ScaledByBytes;
  if (C.ScaleBytes && !From.Immediates.empty() && From.Immediates[0])
    return notModelled("scale_sel");

  const auto Byte = firstByte(From, Chip.Generation >= 12 && !C.ScaleBytes);
  if (!Byte || From.IsDpp || From.isClamped() || From.outputShift())
    return notModelled("a modifier");
  if (From.List.size() != Sources + 1)
    return OperandCount;
  if (From.List[0].Kind != OperandKind::VGPR)
    return "its destination is not a vector register";
  I.Dst = From.List[0];
  I.NumSrc = uint8_t(Sources);
  for (unsigned K = 0; K < Sources; ++K) {
    const bool Value = K < 1u + C.TwoSources;
    std::string Error = Operands.source(
        From.List[K + 1],
        int(K) == C.Random || (C.ScaleBytes && int(K) == C.Scale)
            ? OperandType::B32
            : OperandType::F32,
        I.Src[K]);
    if (!Error.empty())
      return Error;
    const bool Signs = int(K) != C.Random && (I.Src[K].Mods & ~ModHigh);
    if (Signs && (!Value || C.From != MatrixType::F32 || Name.Count > 2))
      return notModelled("the sign of a source");
    if (I.Src[K].Dwords > 2 && I.Src[K].Kind != OperandKind::VGPR)
      return "an operand is not a vector register";
  }

  // Which part of a register is read or written.
  const unsigned Read = Name.Count * bitsOf(C.From),
                 Written = Name.Count * bitsOf(C.To);
  auto Half = [&](unsigned K) { return unsigned(From.Half >> K & 1); };
  const unsigned ResultHalf = From.ResultHigh || (I.Dst.Mods & ModHigh);
  unsigned ReadAt = *Byte, WrittenAt = *Byte;
  if (Narrows) {
    ReadAt = Read == 16 ? 2 * Half(0) : 0;
    if (Written == 16)
      WrittenAt = 2 * ResultHalf;
    else if (Written == 8)
      WrittenAt += Half(2) + 2 * ResultHalf;
  } else {
    WrittenAt = Written == 16 ? 2 * ResultHalf : 0;
    if (Read == 8)
      ReadAt += Half(0) + 2 * Half(1);
    else if (Read == 16)
      ReadAt += 2 * Half(0);
    if (I.Src[0].Mods & ModHigh)
      ReadAt = 2;
  }
  C.SourceBit = uint8_t(8 * ReadAt);
  C.ResultBit = uint8_t(8 * WrittenAt);
  Conversions.push_back(C);
  I.Conversion = &Conversions.back();
  I.Run = Table.RunConversion;
  return "";
}
