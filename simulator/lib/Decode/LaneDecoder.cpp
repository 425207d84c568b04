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

#include "Decode/LaneDecoder.h"
#include "Core/Environment.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

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
static std::optional<Sdwa> parseSdwa(StringRef S) {
  static const char *const Names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                      "WORD_0", "WORD_1", "DWORD"};
  for (unsigned I = 0; I < 7; ++I)
    if (S == Names[I])
      return Sdwa(I);
  return std::nullopt;
}

uint64_t LaneDecoder::dppEnabled(unsigned RowMask, unsigned BankMask) const {
  uint64_t Enabled = 0;
  for (unsigned L = 0; L < N; ++L)
    if ((RowMask >> (L / 16) & 1) && (BankMask >> (L % 16 / 4) & 1))
      Enabled |= 1ull << L;
  return Enabled;
}

bool LaneDecoder::dppModifier(StringRef Name, StringRef Value, Inst &I) {
  SmallVector<unsigned, 8> List;
  unsigned X = 0;
  bool HasNumber = !Value.empty() && !Value.getAsInteger(0, X);
  auto Fill = [&](auto Function) {
    DppPattern P = {};
    P.WithinRows = true;
    for (int L = 0; L < int(N); ++L) {
      int From = Function(L);
      if (From < 0 || From >= int(N))
        continue;
      P.From[L] = uint8_t(From);
      P.Valid |= 1ull << L;
      P.WithinRows &= From / 16 == L / 16;
    }
    DppPatterns.push_back(P);
    I.Dpp = &DppPatterns.back();
    I.Flags |= FlagDpp;
    return true;
  };
  int D = int(X);
  if (Name == "quad_perm" && parseBitList(Value, List) && List.size() == 4)
    return Fill([&](int L) { return (L & ~3) + int(List[unsigned(L & 3)]); });
  if (Name == "dpp8" && parseBitList(Value, List) && List.size() == 8) {
    I.Flags |= FlagDppBoundCtrl;
    return Fill([&](int L) { return (L & ~7) + int(List[unsigned(L & 7)]); });
  }
  if (Name == "row_mirror")
    return Fill([](int L) { return L ^ 15; });
  if (Name == "row_half_mirror")
    return Fill([](int L) { return L ^ 7; });
  if (!HasNumber)
    return false;
  if (Name == "row_shl")
    return Fill([&](int L) { return (L & 15) + D < 16 ? L + D : -1; });
  if (Name == "row_shr")
    return Fill([&](int L) { return (L & 15) - D >= 0 ? L - D : -1; });
  if (Name == "row_ror")
    return Fill([&](int L) { return (L & ~15) + ((L - D) & 15); });
  if (Name == "row_share" || Name == "row_newbcast")
    return Fill([&](int L) { return (L & ~15) + (D & 15); });
  if (Name == "row_xmask")
    return Fill([&](int L) { return L ^ (D & 15); });
  if (Name == "row_bcast" && D == 15)
    return Fill([](int L) { return L < 16 ? -1 : (L & ~15) - 1; });
  if (Name == "row_bcast" && D == 31)
    return Fill([](int L) { return L < 32 ? -1 : 31; });
  if (Name == "wave_shl" && D == 1)
    return Fill([](int L) { return L + 1; });
  if (Name == "wave_shr" && D == 1)
    return Fill([](int L) { return L - 1; });
  if (Name == "wave_rol" && D == 1)
    return Fill([&](int L) { return (L + 1) & int(N - 1); });
  if (Name == "wave_ror" && D == 1)
    return Fill([&](int L) { return (L - 1) & int(N - 1); });
  return false;
}

std::string LaneDecoder::modifiers(const AsmText &Asm, const LaneOpInfo &Info,
                                   Inst &I, bool &Slow) {
  bool AnyPacked = false;
  for (OperandType T : Info.Src)
    AnyPacked |= isPacked16(T) || T == OperandType::PkF32;
  unsigned RowMask = 15, BankMask = 15;
  const uint8_t DefaultHigh = AnyPacked ? 15 : 0;
  I.OpSelHi = DefaultHigh;
  bool HasClampedKernel = Info.Clamped != nullptr;
  for (StringRef M : Asm.Modifiers) {
    auto [Name, Value] = M.split(':');
    SmallVector<unsigned, 8> List;
    unsigned X = 0;
    bool HasNumber = !Value.empty() && !Value.getAsInteger(0, X);
    if (Name == "clamp") {
      if (isFloatType(Info.Dst)) {
        I.Flags |= FlagClamp;
        Slow = true;
      } else if (HasClampedKernel) {
        I.Kernel = Info.Clamped;
      } else {
        return "clamp is not modelled here";
      }
    } else if (M == "mul:2" || M == "mul:4" || M == "div:2") {
      if (Info.Dst != OperandType::F32 && Info.Dst != OperandType::F16 &&
          Info.Dst != OperandType::F64)
        return quoted("the modifier", M) + " is not modelled here";
      I.Omod = M == "mul:2" ? 1 : M == "mul:4" ? 2 : -1;
      Slow = true;
    } else if (Name == "op_sel" && parseBitList(Value, List)) {
      for (unsigned K = 0; K < List.size(); ++K) {
        if (!List[K])
          continue;
        // True 16-bit operands are printed with their half as well ("v128.h"):
        // that is the same bit, not another one.
        if (K < I.NumSrc && (I.Src[K].Mods & ModHigh))
          continue;
        if (K < I.NumSrc) {
          OperandType T = Info.Src[K];
          if (!isShort(T) && !isPacked16(T) && T != OperandType::PkF32 &&
              T != OperandType::PkB32 && T != OperandType::Mix)
            return quoted("the modifier", M) + " is not modelled here";
          I.OpSel |= uint8_t(1u << K);
        } else if (isShort(Info.Dst)) {
          I.Flags |= FlagDstHigh;
        } else {
          return quoted("the modifier", M) + " is not modelled here";
        }
        Slow = true;
      }
    } else if (Name == "op_sel_hi" && parseBitList(Value, List)) {
      I.OpSelHi = 0;
      for (unsigned K = 0; K < List.size(); ++K)
        I.OpSelHi |= uint8_t(List[K] << K);
      // Bits of sources that are not there do not matter.
      uint8_t Used = uint8_t((1u << I.NumSrc) - 1);
      if ((I.OpSelHi ^ DefaultHigh) & Used)
        Slow = true;
    } else if ((Name == "neg_lo" || Name == "neg_hi") &&
               parseBitList(Value, List)) {
      for (unsigned K = 0; K < List.size(); ++K) {
        if (List[K] && K < I.NumSrc && !isPacked16(Info.Src[K]) &&
            Info.Src[K] != OperandType::PkF32)
          return quoted("the modifier", M) + " is not modelled here";
        (Name == "neg_lo" ? I.NegLo : I.NegHi) |= uint8_t(List[K] << K);
      }
      Slow = true;
    } else if (Name == "dst_sel" && parseSdwa(Value)) {
      I.DstSel = *parseSdwa(Value);
    } else if (Name == "src0_sel" && parseSdwa(Value)) {
      I.Src[0].Sel = *parseSdwa(Value);
    } else if (Name == "src1_sel" && parseSdwa(Value)) {
      I.Src[1].Sel = *parseSdwa(Value);
    } else if (M == "dst_unused:UNUSED_PAD") {
    } else if (M == "dst_unused:UNUSED_PRESERVE") {
      I.Flags |= FlagPreserve;
    } else if (M == "dst_unused:UNUSED_SEXT") {
      I.Flags |= FlagSdwaSext;
    } else if (Name == "row_mask" && HasNumber) {
      RowMask = X;
    } else if (Name == "bank_mask" && HasNumber) {
      BankMask = X;
    } else if (Name == "bound_ctrl") {
      I.Flags |= FlagDppBoundCtrl;
    } else if (Name == "fi") {
      if (X)
        I.Flags |= FlagDppFetchInactive;
    } else if (Name == "bitop3" && HasNumber) {
      I.Src[3] = Operand();
      I.Src[3].Kind = OperandKind::Constant;
      I.Src[3].Value = X;
      I.Src[3].Lanes = Operands.constantRow(X);
    } else if (!dppModifier(Name, Value, I)) {
      return quoted("the modifier", M) + " is not modelled";
    }
  }
  I.DppEnabled = dppEnabled(RowMask, BankMask);
  // No document says what the high half of a constant is. LLVM folds a pair of
  // equal constants into one, with and without op_sel_hi, so both are equal.
  for (unsigned K = 0; K < I.NumSrc; ++K)
    if (Operand &O = I.Src[K];
        Info.Src[K] == OperandType::PkF32 && O.Kind == OperandKind::Constant)
      O.Lanes = Operands.constantRow(O.Value | O.Value << 32);
  return "";
}

std::string LaneDecoder::decode(const AsmText &Asm, const LaneOpInfo &Info,
                                Inst &I) {
  I.Lane = &Info;
  I.Kernel = Info.Kernel;
  I.Class = InstClass::Vector;
  bool Slow = false;

  unsigned Listed = 0; // sources that the text has
  while (Listed < 4 && Info.Src[Listed] != OperandType::None)
    ++Listed;
  I.NumSrc = uint8_t(Listed);
  if (Info.Flags & (LaneAccumulate | LaneImplicitVCC))
    --Listed;
  bool IsBitop = I.Record->Facts.Flags & isa::FactBitTable;
  if (IsBitop)
    --Listed;

  unsigned Next = 0;
  std::string Error;
  bool MaskResult = Info.Flags & LaneMaskResult;
  if (MaskResult) {
    if (Asm.Operands.size() == Listed + 1) {
      Error = Operands.scalarDestination(Asm.Operands[Next++], I.Dst2);
    } else if (!(Info.Flags & LaneExecResult)) {
      return OperandCount;
    }
  } else {
    if (Asm.Operands.empty())
      return "it has no operands";
    std::optional<Operand> D = parseOperand(Asm.Operands[Next++], Info.Dst);
    if (!D || D->Kind != OperandKind::VGPR)
      return "its destination is not a vector register";
    I.Dst = *D;
    if (I.Dst.Mods & ModHigh) {
      I.Flags |= FlagDstHigh;
      Slow = true;
    }
    if (Info.Flags & LaneExtraMask) {
      if (Next >= Asm.Operands.size())
        return OperandCount;
      Error = Operands.scalarDestination(Asm.Operands[Next++], I.Dst2);
    }
  }
  if (!Error.empty())
    return Error;

  unsigned Left = unsigned(Asm.Operands.size()) - Next;
  // The dual-issue form of v_cndmask does not print its VCC.
  bool HiddenMask =
      Left + 1 == Listed && Info.Src[Listed - 1] == OperandType::Mask;
  if (Left != Listed && !HiddenMask)
    return OperandCount;
  for (unsigned K = 0; K < Left; ++K) {
    Error = Operands.source(Asm.Operands[Next + K], Info.Src[K], I.Src[K]);
    if (!Error.empty())
      return Error;
    if (I.Src[K].Kind == OperandKind::None)
      return "it has an unexpected operand";
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
  if (IsBitop) {
    I.Src[3].Kind = OperandKind::Constant;
    I.Src[3].Lanes = Operands.constantRow(0);
  }

  if (Asm.Mnemonic.ends_with("_sdwa")) {
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
  Error = modifiers(Asm, Info, I, Slow);
  if (!Error.empty())
    return Error;
  // What a constant stands for depends on the type that op_sel_hi chooses: of
  // f16 it is in the low half, with zeros (or the sign of an integer) above.
  for (unsigned K = 0; K < I.NumSrc; ++K)
    if (Info.Src[K] == OperandType::Mix && (I.OpSelHi >> K & 1) &&
        I.Src[K].Kind == OperandKind::Constant) {
      Error =
          Operands.source(Asm.Operands[Next + K], OperandType::F16, I.Src[K]);
      if (!Error.empty())
        return Error;
    }
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

std::string LaneDecoder::decodeCrossLane(const AsmText &Asm, Inst &I) {
  const isa::InstructionFacts &Facts = I.Record->Facts;
  I.Class = Facts.Where == isa::Unit::Lds ? InstClass::LDS : InstClass::Vector;
  bool ScalarResult = Facts.How == isa::Flow::ReadLane;
  bool OnlySideEffect =
      Asm.Operands.empty() || (Facts.Flags & isa::FactNoEffect);
  if (!OnlySideEffect) {
    std::string Error;
    if (ScalarResult) {
      Error = Operands.scalarDestination(Asm.Operands[0], I.Dst);
    } else {
      Error = Operands.source(Asm.Operands[0], OperandType::B32, I.Dst);
      if (Error.empty() && I.Dst.Kind != OperandKind::VGPR)
        Error = "its destination is not a vector register";
      if (I.Dst.Mods & ModHigh)
        I.Flags |= FlagDstHigh;
    }
    if (!Error.empty())
      return Error;
    if (Asm.Operands.size() > 5)
      return OperandCount;
    I.NumSrc = uint8_t(Asm.Operands.size() - 1);
    for (unsigned K = 0; K < I.NumSrc; ++K) {
      Error = Operands.source(Asm.Operands[K + 1], OperandType::B32, I.Src[K]);
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
  for (StringRef M : Asm.Modifiers) {
    auto [Key, Value] = M.split(':');
    SmallVector<unsigned, 4> List;
    if (Key == "op_sel" && parseBitList(Value, List)) {
      for (unsigned K = 0; K < List.size(); ++K)
        I.OpSel |= uint8_t(List[K] << K);
    } else if (Key == "bound_ctrl" || Key == "fi") {
      // Of lane swaps with one of two lanes active, which stop the launch.
    } else {
      return quoted("the modifier", M) + " is not modelled";
    }
  }
  return "";
}
