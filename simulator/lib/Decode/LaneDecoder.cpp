//===- LaneDecoder.cpp - Vector ALU instructions --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DPP, SDWA and the other modifiers become parts of Inst here.
//
//===----------------------------------------------------------------------===//

#include "Core/Environment.h"
#include "Decode/Decoders.h"

#include "lnbwd/ISA/InstructionRecord.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

static bool isPacked16(OperandType T) {
  return T == OperandType::PkF16 || T == OperandType::PkI16 ||
         T == OperandType::PkBF16;
}
static bool isShort(OperandType T) {
  return T == OperandType::F16 || T == OperandType::I16 ||
         T == OperandType::BF16;
}
static bool isFloatType(OperandType T) {
  return T == OperandType::F16 || T == OperandType::F32 ||
         T == OperandType::F64 || T == OperandType::PkF16 ||
         T == OperandType::PkF32;
}
/// Whether a source of the type may be negated: what a mask chooses are floats.
static bool isSigned(const LaneOpInfo &Info, OperandType T) {
  const bool Selects =
      Info.Src[2] == OperandType::Mask && !(Info.Flags & LaneExtraMask);
  return T == OperandType::F16 || T == OperandType::F32 ||
         T == OperandType::F64 || T == OperandType::BF16 || Selects;
}

uint64_t LaneDecoder::dppEnabled(unsigned RowMask, unsigned BankMask) const {
  uint64_t Enabled = 0;
  for (unsigned L = 0; L < N; ++L)
    if ((RowMask >> (L / 16) & 1) && (BankMask >> (L % 16 / 4) & 1))
      Enabled |= 1ull << L;
  return Enabled;
}

template <typename T> void LaneDecoder::permute(Inst &I, T From) {
  DppPattern P = {};
  P.WithinRows = true;
  for (int L = 0; L < int(N); ++L) {
    const int Source = From(L);
    if (Source < 0 || Source >= int(N))
      continue;
    P.From[L] = uint8_t(Source);
    P.Valid |= 1ull << L;
    P.WithinRows &= Source / 16 == L / 16;
  }
  DppPatterns.push_back(P);
  I.Dpp = &DppPatterns.back();
}

/// Of the values of dpp_ctrl those that the chip has.
bool LaneDecoder::permuteBy(unsigned Control, bool WholeRegisters, Inst &I) {
  const bool Gfx9 = Chip.Generation == 9;
  const int D = int(Control & 15);
  auto Fill = [&](auto From) {
    permute(I, From);
    return true;
  };
  const bool Shares = !Gfx9 || Chip.MatrixGeneration >= 2;
  if (Control >> 4 == 0x15 && Shares)
    return Fill([&](int L) { return (L & ~15) + D; });
  // Pairs of registers know no other.
  if (!WholeRegisters && Gfx9 && Shares)
    return false;
  if (Control < 0x100)
    return Fill(
        [&](int L) { return (L & ~3) + int(Control >> 2 * (L & 3) & 3); });
  if (Control == 0x140)
    return Fill([](int L) { return L ^ 15; });
  if (Control == 0x141)
    return Fill([](int L) { return L ^ 7; });
  if (Control >> 4 == 0x10 && D)
    return Fill([&](int L) { return (L & 15) + D < 16 ? L + D : -1; });
  if (Control >> 4 == 0x11 && D)
    return Fill([&](int L) { return (L & 15) - D >= 0 ? L - D : -1; });
  if (Control >> 4 == 0x12 && D)
    return Fill([&](int L) { return (L & ~15) + ((L - D) & 15); });
  if (Control >> 4 == 0x16 && !Gfx9)
    return Fill([&](int L) { return L ^ D; });
  if (!Gfx9)
    return false;
  switch (Control) {
  case 0x142:
    return Fill([](int L) { return L < 16 ? -1 : (L & ~15) - 1; });
  case 0x143:
    return Fill([](int L) { return L < 32 ? -1 : 31; });
  case 0x130:
    return Fill([](int L) { return L + 1; });
  case 0x138:
    return Fill([](int L) { return L - 1; });
  case 0x134:
    return Fill([&](int L) { return (L + 1) & int(N - 1); });
  case 0x13c:
    return Fill([&](int L) { return (L - 1) & int(N - 1); });
  default:
    return false;
  }
}

std::string LaneDecoder::dpp(const MachineOperands &From,
                             const LaneOpInfo &Info, Inst &I) {
  const uint32_t Word = From.dppWord();
  I.Flags |= FlagDpp;
  // DPP8 has two codes, DPP16 one.
  const unsigned Form = From.firstSource();
  if (Form == 0xe9 || Form == 0xea) {
    I.Flags |= FlagDppBoundCtrl;
    if (Form == 0xea)
      I.Flags |= FlagDppFetchInactive;
    permute(I, [&](int L) {
      return (L & ~7) + int(Word >> (8 + 3 * (L & 7)) & 7);
    });
    return "";
  }
  const bool Whole = rowsOf(Info.Dst) < 2 && rowsOf(Info.Src[0]) < 2;
  if (!permuteBy(Word >> 8 & 0x1ff, Whole, I))
    return notModelled("this DPP control");
  if (Word >> 19 & 1)
    I.Flags |= FlagDppBoundCtrl;
  if (Chip.Generation >= 10 && (Word >> 18 & 1))
    I.Flags |= FlagDppFetchInactive;
  I.DppEnabled = dppEnabled(Word >> 28, Word >> 24 & 15);
  return "";
}

/// The halves of registers that are read and written, and packed signs.
std::string LaneDecoder::halves(const MachineOperands &From,
                                const LaneOpInfo &Info, Inst &I, bool &Slow) {
  const bool Packed = From.Coded == isa::Encoding::Vop3P;
  const bool SignsInName = I.Record->Facts.Flags & isa::FactSignsByNegLo;
  bool AnyPacked = false;
  for (OperandType T : Info.Src)
    AnyPacked |= isPacked16(T) || T == OperandType::PkF32;
  const uint8_t DefaultHigh = AnyPacked ? 15 : 0;
  const uint8_t Used = uint8_t((1u << I.NumSrc) - 1);
  I.OpSelHi = Packed ? uint8_t((From.HalfHigh & Used) | (DefaultHigh & ~Used))
                     : DefaultHigh;
  Slow |= I.OpSelHi != DefaultHigh;
  for (unsigned K = 0; K < I.NumSrc; ++K) {
    const OperandType T = Info.Src[K];
    const bool Halves = isPacked16(T) || T == OperandType::PkF32;
    // True 16-bit operands are a register's half: that is the same bit, not
    // another one.
    if ((From.Half >> K & 1) && !(I.Src[K].Mods & ModHigh)) {
      if (!isShort(T) && !Halves && T != OperandType::PkB32 &&
          T != OperandType::Mix)
        return notModelled("op_sel");
      I.OpSel |= uint8_t(1u << K);
      Slow = true;
    }
    if (T == OperandType::Mix)
      continue; // The signs are the operand's.
    const unsigned Signs =
        SignsInName ? From.NegHigh : From.NegLow | From.NegHigh;
    if ((Signs >> K & 1) && !Halves)
      return notModelled("neg_lo or neg_hi");
  }
  if (!SignsInName && AnyPacked) {
    I.NegLo = From.NegLow;
    I.NegHi = From.NegHigh;
    Slow |= I.NegLo || I.NegHi;
  }
  if (From.ResultHigh && !(I.Dst.Mods & ModHigh)) {
    if (!isShort(Info.Dst))
      return notModelled("op_sel of the result");
    I.Flags |= FlagDstHigh;
    Slow = true;
  }
  return "";
}

std::string LaneDecoder::modifiers(const MachineOperands &From,
                                   const LaneOpInfo &Info, Inst &I,
                                   bool &Slow) {
  std::string Error = halves(From, Info, I, Slow);
  if (!Error.empty())
    return Error;
  const bool HasTable = I.Record->Facts.Flags & isa::FactBitTable;
  if (HasTable) {
    if (From.Immediates.empty())
      return OperandCount;
    Operands.constant(I.Src[I.NumSrc - 1], uint64_t(From.Immediates[0]));
  }
  const bool IsMask = Info.Flags & LaneMaskResult;
  if (From.Coded == isa::Encoding::Sdwa) {
    const uint32_t Word = From.Words[1];
    if (!IsMask) {
      I.DstSel = Sdwa(Word >> 8 & 7);
      const unsigned Unused = Word >> 11 & 3;
      I.Flags |= Unused == 2 ? FlagPreserve : Unused == 1 ? FlagSdwaSext : 0u;
    }
    I.Src[0].Sel = Sdwa(Word >> 16 & 7);
    if (From.sources() > 1)
      I.Src[1].Sel = Sdwa(Word >> 24 & 7);
  }
  // The fields of the result are another thing where that is a mask, or where
  // a table is.
  const bool HasSdwaMask = IsMask && From.Coded == isa::Encoding::Sdwa;
  if (From.isClamped() && !HasSdwaMask) {
    if (isFloatType(Info.Dst)) {
      I.Flags |= FlagClamp;
      Slow = true;
    } else if (Info.Clamped) {
      I.Kernel = Info.Clamped;
    } else {
      return notModelled("clamp");
    }
  }
  if (const int Shift = From.outputShift();
      Shift && !HasSdwaMask && !HasTable) {
    if (Info.Dst != OperandType::F32 && Info.Dst != OperandType::F16 &&
        Info.Dst != OperandType::F64)
      return notModelled("a factor of the result");
    I.Omod = int8_t(Shift);
    Slow = true;
  }
  I.DppEnabled = dppEnabled(15, 15);
  if (From.IsDpp) {
    Error = dpp(From, Info, I);
    if (!Error.empty())
      return Error;
  }
  // No document says what the high half of a constant is. LLVM folds a pair of
  // equal constants into one, with and without op_sel_hi, so both are equal.
  for (unsigned K = 0; K < I.NumSrc; ++K)
    if (Operand &O = I.Src[K];
        Info.Src[K] == OperandType::PkF32 && O.Kind == OperandKind::Constant)
      O.Lanes = Operands.constantRow(O.Value | O.Value << 32);
  return "";
}

std::string LaneDecoder::decode(const MachineOperands &From,
                                const LaneOpInfo &Info, Inst &I) {
  I.Lane = &Info;
  I.Kernel = Info.Kernel;
  I.Class = InstClass::Vector;
  bool Slow = false;

  unsigned Listed = 0; // sources that are operands
  while (Listed < 4 && Info.Src[Listed] != OperandType::None)
    ++Listed;
  I.NumSrc = uint8_t(Listed);
  if (Info.Flags & (LaneAccumulate | LaneImplicitVCC))
    --Listed;
  const bool IsBitop = I.Record->Facts.Flags & isa::FactBitTable;
  if (IsBitop)
    --Listed;

  unsigned Next = 0;
  std::string Error;
  const isa::InstructionDescription &Description = I.Record->Description;
  const bool MaskResult = Info.Flags & LaneMaskResult;
  // Short encodings have VCC in a place of its own.
  auto Mask = [&](unsigned Place) -> std::string {
    if (From.Results > Place)
      return Operands.scalarDestination(From.List[Next++], I.Dst2);
    if (Description.WritesVcc)
      I.Dst2 = Operands.vcc();
    else if (!(Info.Flags & LaneExecResult))
      return OperandCount;
    return "";
  };
  if (MaskResult) {
    Error = Mask(0);
  } else {
    if (From.List.empty() || From.List[0].Kind != OperandKind::VGPR)
      return "its destination is not a vector register";
    I.Dst = From.List[Next++];
    if (I.Dst.Mods & ModHigh) {
      I.Flags |= FlagDstHigh;
      Slow = true;
    }
    if (Info.Flags & LaneExtraMask)
      Error = Mask(1);
  }
  if (!Error.empty())
    return Error;

  const unsigned Left = unsigned(From.List.size()) - Next;
  const bool HiddenMask =
      Left + 1 == Listed && Info.Src[Listed - 1] == OperandType::Mask;
  if (Left != Listed && !HiddenMask)
    return OperandCount;
  for (unsigned K = 0; K < Left; ++K) {
    Error = Operands.source(From.List[Next + K], Info.Src[K], I.Src[K]);
    if (!Error.empty())
      return Error;
    if ((I.Src[K].Mods & (ModNeg | ModAbs)) && isPacked16(Info.Src[K]))
      return notModelled("the sign of a packed source");
    // Of integers these bits of the encoding mean nothing.
    if (!isSigned(Info, Info.Src[K]))
      I.Src[K].Mods &= uint8_t(~(ModNeg | ModAbs));
    if (Info.Src[K] == OperandType::Mix)
      I.Src[K].Mods |= uint8_t((From.NegLow >> K & 1 ? ModNeg : 0) |
                               (From.NegHigh >> K & 1 ? ModAbs : 0));
    if (I.Src[K].Mods)
      Slow = true;
    if (Info.Src[K] == OperandType::Mix || Info.Src[K] == OperandType::PkB32)
      Slow = true;
  }
  if (HiddenMask || (Info.Flags & LaneImplicitVCC)) {
    Operand &O = I.Src[I.NumSrc - 1];
    O = Operand();
    O.Kind = OperandKind::Mask;
    O.Reg = SlotVCC;
    O.Dwords = N == 64 ? 2 : 1;
  }
  if (Info.Flags & LaneAccumulate) {
    I.Src[I.NumSrc - 1] = I.Dst;
    if (I.Dst.Mods)
      Slow = true;
  }

  if (From.Coded == isa::Encoding::Sdwa) {
    I.Flags |= FlagSdwa;
    Slow = true;
  }
  if (isShort(Info.Dst)) {
    if (Info.Flags & LaneHighResult) {
      I.Flags |= FlagDstHigh;
      Slow = true;
    } else if (Chip.Generation == 9 && !(Info.Flags & LanePreservesHigh)) {
      I.Flags |= FlagDstZeroHigh;
    } else {
      Slow = true;
    }
  }
  if ((Info.Flags & LaneMatrixUnit) && Chip.MatrixFlushesSubnormals) {
    I.Flags |= FlagFlushes;
    Slow = true;
  }
  if (I.Record->Facts.Class == isa::CountClass::Transcendental &&
      RoundingVariable.read().value_or(0)) {
    I.Flags |= FlagRoundsDown;
    Slow = true;
  }
  Error = modifiers(From, Info, I, Slow);
  if (!Error.empty())
    return Error;
  // What a constant stands for depends on the type that op_sel_hi chooses: of
  // f16 it is in the low half, with zeros (or the sign of an integer) above.
  for (unsigned K = 0; K < I.NumSrc; ++K)
    if (Info.Src[K] == OperandType::Mix &&
        I.Src[K].Kind == OperandKind::Constant && I.Src[K].Reg != SlotNull)
      if (auto Value = From.inlineFloat(
              K, (I.OpSelHi >> K & 1) && !(Info.Flags & LaneMixesBFloat)
                     ? OperandType::F16
                     : OperandType::F32)) // the upper half of it is bf16
        Operands.constant(I.Src[K], *Value);
  const bool Wide = rowsOf(Info.Dst) > 1 || (Info.Flags & LaneExtraMask);
  if (I.Flags & FlagDpp) {
    if (I.Src[0].Kind != OperandKind::VGPR)
      return "DPP of an operand that is not a vector register";
    Slow |= MaskResult || Wide || rowsOf(Info.Src[0]) > 1;
  }

  I.Run = Slow                ? Table.RunLaneSlow
          : MaskResult        ? Table.RunMask
          : Wide              ? Table.RunWide
          : I.Flags & FlagDpp ? Table.RunLaneDpp[I.NumSrc]
                              : Table.RunLane[I.NumSrc];
  return "";
}

std::string LaneDecoder::decodeCrossLane(const MachineOperands &From, Inst &I) {
  const isa::InstructionFacts &Facts = I.Record->Facts;
  I.Class = Facts.Where == isa::Unit::Lds ? InstClass::LDS : InstClass::Vector;
  bool ScalarResult = Facts.How == isa::Flow::ReadLane;
  bool OnlySideEffect = From.List.empty() || (Facts.Flags & isa::FactNoEffect);
  if (!OnlySideEffect) {
    std::string Error;
    if (ScalarResult) {
      Error = Operands.scalarDestination(From.List[0], I.Dst);
    } else {
      Error = Operands.source(From.List[0], OperandType::B32, I.Dst);
      if (Error.empty() && I.Dst.Kind != OperandKind::VGPR)
        Error = "its destination is not a vector register";
      if (I.Dst.Mods & ModHigh)
        I.Flags |= FlagDstHigh;
    }
    if (!Error.empty())
      return Error;
    if (From.List.size() > 5)
      return OperandCount;
    I.NumSrc = uint8_t(From.List.size() - 1);
    for (unsigned K = 0; K < I.NumSrc; ++K) {
      Error = Operands.source(From.List[K + 1], OperandType::B32, I.Src[K]);
      if (!Error.empty())
        return Error;
    }
  }
  if (I.Class == InstClass::LDS) {
    I.Imm = I.Encoding & 0xffff;
    if (I.Record->Facts.Flags & isa::FactFetchesInactive)
      I.Flags |= FlagDppFetchInactive;
    return "";
  }
  if (From.IsDpp || From.Coded == isa::Encoding::Sdwa)
    return notModelled("DPP or SDWA");
  I.OpSel = From.Half & 3;
  return "";
}
