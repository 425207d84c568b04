//===- InstDecoder.cpp - From assembly text to Inst -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector ALU, cross-lane and scalar instructions; memory is in
// MemoryDecoder.cpp.
//
//===----------------------------------------------------------------------===//

#include "InstDecoder.h"

#include "ScalarOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace lnbwd::sim;

namespace {
struct Alias {
  const char *From;
  const char *To;
};
} // namespace

constexpr Alias Aliases[] = {
    {"v_mul_lo_i32", "v_mul_lo_u32"},
    {"v_add_nc_u32", "v_add_u32"},
    {"v_sub_nc_u32", "v_sub_u32"},
    {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_nc_i32", "v_add_i32"},
    {"v_sub_nc_i32", "v_sub_i32"},
    {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},
    {"v_add_nc_i16", "v_add_i16"},
    {"v_sub_nc_i16", "v_sub_i16"},
    {"v_add_nc_u64", "v_add_u64"},
    {"v_sub_nc_u64", "v_sub_u64"},
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_mad_co_u64_u32", "v_mad_u64_u32"},
    {"v_mad_co_i64_i32", "v_mad_i64_i32"},
    {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
    {"v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32"},
    {"v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32"},
    {"v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_i16_f16"},
    {"v_cvt_pk_norm_u16_f16", "v_cvt_pknorm_u16_f16"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_dot2acc_f32_f16", "v_dot2c_f32_f16"},
    {"v_dot2acc_f32_bf16", "v_dot2c_f32_bf16"},
    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
    {"s_and_not0_saveexec_b32", "s_andn1_saveexec_b32"},
    {"s_and_not0_saveexec_b64", "s_andn1_saveexec_b64"},
    {"s_and_not1_saveexec_b32", "s_andn2_saveexec_b32"},
    {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
    {"s_or_not0_saveexec_b32", "s_orn1_saveexec_b32"},
    {"s_or_not0_saveexec_b64", "s_orn1_saveexec_b64"},
    {"s_or_not1_saveexec_b32", "s_orn2_saveexec_b32"},
    {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
    {"s_and_not0_wrexec_b32", "s_andn1_wrexec_b32"},
    {"s_and_not0_wrexec_b64", "s_andn1_wrexec_b64"},
    {"s_and_not1_wrexec_b32", "s_andn2_wrexec_b32"},
    {"s_and_not1_wrexec_b64", "s_andn2_wrexec_b64"},
    {"s_ctz_i32_b32", "s_ff1_i32_b32"},
    {"s_ctz_i32_b64", "s_ff1_i32_b64"},
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_cls_i32", "s_flbit_i32"},
    {"s_cls_i32_i64", "s_flbit_i32_i64"},
    {"s_add_co_u32", "s_add_u32"},
    {"s_add_co_i32", "s_add_i32"},
    {"s_sub_co_u32", "s_sub_u32"},
    {"s_sub_co_i32", "s_sub_i32"},
    {"s_add_co_ci_u32", "s_addc_u32"},
    {"s_sub_co_ci_u32", "s_subb_u32"},
    {"s_add_nc_u64", "s_add_u64"},
    {"s_sub_nc_u64", "s_sub_u64"},
    {"s_addk_co_i32", "s_addk_i32"},
};

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
static unsigned dwordsOf(OperandType T) {
  return T == OperandType::B64 || T == OperandType::F64 ||
                 T == OperandType::PkF32 || T == OperandType::PkB32
             ? 2
             : 1;
}

static std::optional<Sdwa> parseSdwa(StringRef S) {
  static const char *const Names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                      "WORD_0", "WORD_1", "DWORD"};
  for (unsigned I = 0; I < 7; ++I)
    if (S == Names[I])
      return Sdwa(I);
  return std::nullopt;
}

static std::string quoted(const char *What, StringRef Text) {
  return std::string(What) + " '" + Text.str() + "'";
}

std::string lnbwd::sim::canonicalMnemonic(StringRef Mnemonic) {
  for (StringRef Suffix : {"_e64_dpp", "_dpp", "_sdwa", "_e32", "_e64"})
    if (Mnemonic.consume_back(Suffix))
      break;
  for (const Alias &A : Aliases)
    if (Mnemonic == A.From)
      return A.To;
  return Mnemonic.str();
}

InstDecoder::InstDecoder(const ChipInfo &Chip, unsigned WaveSize,
                         const ExecTable &Table)
    : Chip(Chip), N(WaveSize), Table(Table) {
  for (unsigned T = 0; T < Table.NumLaneOpTables; ++T)
    for (unsigned K = 0; K < Table.LaneOps[T].Size; ++K)
      LaneOps[Table.LaneOps[T].Begin[K].Name] = &Table.LaneOps[T].Begin[K];
  for (unsigned K = 0; K < Table.CrossLane.Size; ++K)
    CrossLaneOps[Table.CrossLane.Begin[K].Name] = Table.CrossLane.Begin[K].Run;
  for (TableRef<HandlerInfo> Ref :
       {scalarAluOps(), scalarFloatOps(), controlOps()})
    for (unsigned K = 0; K < Ref.Size; ++K)
      ScalarHandlers[Ref.Begin[K].Name] = Ref.Begin[K].Run;
}

const uint32_t *InstDecoder::constantRow(uint64_t Value) {
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

uint64_t InstDecoder::dppEnabled(unsigned RowMask, unsigned BankMask) const {
  uint64_t Enabled = 0;
  for (unsigned L = 0; L < N; ++L)
    if ((RowMask >> (L / 16) & 1) && (BankMask >> (L % 16 / 4) & 1))
      Enabled |= 1ull << L;
  return Enabled;
}

std::string InstDecoder::source(StringRef Text, OperandType Type, Operand &O) {
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
  if (O.Kind == OperandKind::SGPR && dwordsOf(Type) > O.Dwords)
    return quoted("the operand", Text) + " is narrower than the instruction";
  return "";
}

std::string InstDecoder::scalarDestination(StringRef Text, Operand &O) {
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

bool InstDecoder::dppModifier(StringRef Name, StringRef Value, Inst &I) {
  SmallVector<unsigned, 8> List;
  unsigned X = 0;
  bool HasNumber = !Value.empty() && !Value.getAsInteger(0, X);
  auto Fill = [&](auto Function) {
    DppPattern P = {};
    for (int L = 0; L < int(N); ++L) {
      int From = Function(L);
      if (From < 0 || From >= int(N))
        continue;
      P.From[L] = uint8_t(From);
      P.Valid |= 1ull << L;
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

std::string InstDecoder::laneModifiers(const AsmText &Asm,
                                       const LaneOpInfo &Info, Inst &I,
                                       bool &Slow) {
  bool AnyPacked = false, AnyMix = false;
  for (OperandType T : Info.Src) {
    AnyPacked |= isPacked16(T) || T == OperandType::PkF32;
    AnyMix |= T == OperandType::Mix;
  }
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
      for (unsigned K = 0; K < List.size(); ++K)
        (Name == "neg_lo" ? I.NegLo : I.NegHi) |= uint8_t(List[K] << K);
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
      I.Src[3].Lanes = constantRow(X);
    } else if (!dppModifier(Name, Value, I)) {
      return quoted("the modifier", M) + " is not modelled";
    }
  }
  I.DppEnabled = dppEnabled(RowMask, BankMask);
  if (AnyMix)
    for (unsigned K = 0; K < I.NumSrc; ++K)
      if (I.Src[K].Kind == OperandKind::Constant && (I.OpSelHi >> K & 1))
        return "a constant as an f16 operand is not modelled here";
  for (unsigned K = 0; K < I.NumSrc; ++K)
    if (Info.Src[K] == OperandType::PkF32 &&
        I.Src[K].Kind == OperandKind::Constant && (I.OpSelHi >> K & 1))
      return "a constant as the high half of a packed f32 operand is not "
             "modelled";
  return "";
}

std::string InstDecoder::decodeLane(const AsmText &Asm, const LaneOpInfo &Info,
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
  bool IsBitop = StringRef(Info.Name).starts_with("v_bitop3");
  if (IsBitop)
    --Listed;

  unsigned Next = 0;
  std::string Error;
  bool MaskResult = Info.Flags & LaneMaskResult;
  if (MaskResult) {
    if (Asm.Operands.size() == Listed + 1) {
      Error = scalarDestination(Asm.Operands[Next++], I.Dst2);
    } else if (!(Info.Flags & LaneExecResult)) {
      return "it has an unexpected number of operands";
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
        return "it has an unexpected number of operands";
      Error = scalarDestination(Asm.Operands[Next++], I.Dst2);
    }
  }
  if (!Error.empty())
    return Error;

  unsigned Left = unsigned(Asm.Operands.size()) - Next;
  // The dual-issue form of v_cndmask does not print its VCC.
  bool HiddenMask =
      Left + 1 == Listed && Info.Src[Listed - 1] == OperandType::Mask;
  if (Left != Listed && !HiddenMask)
    return "it has an unexpected number of operands";
  for (unsigned K = 0; K < Left; ++K) {
    Error = source(Asm.Operands[Next + K], Info.Src[K], I.Src[K]);
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
    I.Src[3].Lanes = constantRow(0);
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
  Error = laneModifiers(Asm, Info, I, Slow);
  if (!Error.empty())
    return Error;
  if (I.Flags & FlagDpp) {
    if (I.Src[0].Kind != OperandKind::VGPR)
      return "DPP of an operand that is not a vector register";
    Slow = true;
  }

  bool Wide = dwordsOf(Info.Dst) > 1 || (Info.Flags & LaneExtraMask);
  I.Run = Slow         ? Table.RunLaneSlow
          : MaskResult ? Table.RunMask
          : Wide       ? Table.RunWide
                       : Table.RunLane;
  return "";
}

std::string InstDecoder::decodeCrossLane(const AsmText &Asm, StringRef Name,
                                         Inst &I) {
  I.Class = Name.starts_with("ds_") ? InstClass::LDS : InstClass::Vector;
  bool ScalarResult = Name.starts_with("v_read");
  bool OnlySideEffect =
      Asm.Operands.empty() || Name == "v_nop" || Name == "ds_nop";
  if (!OnlySideEffect) {
    std::string Error;
    if (ScalarResult) {
      Error = scalarDestination(Asm.Operands[0], I.Dst);
    } else {
      Error = source(Asm.Operands[0], OperandType::B32, I.Dst);
      if (Error.empty() && I.Dst.Kind != OperandKind::VGPR)
        Error = "its destination is not a vector register";
      if (I.Dst.Mods & ModHigh)
        I.Flags |= FlagDstHigh;
    }
    if (!Error.empty())
      return Error;
    if (Asm.Operands.size() > 5)
      return "it has an unexpected number of operands";
    I.NumSrc = uint8_t(Asm.Operands.size() - 1);
    for (unsigned K = 0; K < I.NumSrc; ++K) {
      Error = source(Asm.Operands[K + 1], OperandType::B32, I.Src[K]);
      if (!Error.empty())
        return Error;
    }
  }
  if (I.Class == InstClass::LDS) {
    I.Imm = I.Encoding & 0xffff;
    if (Name == "ds_bpermute_fi_b32")
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
      // Only the lane swaps have these; they require all lanes to be active.
    } else {
      return quoted("the modifier", M) + " is not modelled";
    }
  }
  return "";
}

std::string InstDecoder::decodeScalar(const AsmText &Asm, StringRef Name,
                                      Inst &I) {
  I.Class = InstClass::Scalar;
  I.Imm = I.Encoding & 0xffff;
  StringRef Op = Name;
  if (Op.starts_with("s_cbranch") || Op == "s_branch" || Op == "s_nop" ||
      Op.starts_with("s_wait") || Op == "s_endpgm" || Op == "s_barrier" ||
      Op == "s_barrier_wait" || Op == "s_sleep" || Op == "s_setprio" ||
      Op == "s_sendmsg" || Op == "s_delay_alu" || Op == "s_clause" ||
      Op.starts_with("s_ttrace") || Op.contains("prefetch") ||
      Op.starts_with("s_dcache") || Op.starts_with("s_icache") ||
      Op == "s_gl1_inv" || Op == "s_trap" || Op == "s_sethalt" ||
      Op == "s_code_end" || Op == "s_round_mode" || Op == "s_denorm_mode" ||
      Op == "s_version" || Op == "s_sleep_var" || Op == "s_endpgm_saved" ||
      !Op.starts_with("s_")) {
    // Everything is in the immediate, or there is nothing to do.
    if (!Op.starts_with("v_s_"))
      return "";
  }
  if (!Asm.Modifiers.empty())
    return quoted("the modifier", Asm.Modifiers[0]) + " is not modelled";

  if (Op.starts_with("s_set_gpr_idx")) {
    if (Op == "s_set_gpr_idx_off" || Op == "s_set_gpr_idx_mode")
      return "";
    I.NumSrc = 1;
    // What is indexed is coded as the second source of a compare.
    I.Imm = I.Encoding >> 8 & 0xff;
    return source(Asm.Operands.empty() ? "" : Asm.Operands[0], OperandType::B32,
                  I.Src[0]);
  }
  bool HasDst = !Op.starts_with("s_cmp") && !Op.starts_with("s_bitcmp") &&
                !Op.starts_with("s_setpc") && !Op.starts_with("s_setreg") &&
                !Op.starts_with("s_barrier");
  unsigned Next = 0;
  std::string Error;
  if (HasDst) {
    if (Asm.Operands.empty())
      return "it has no operands";
    Error = scalarDestination(Asm.Operands[Next++], I.Dst);
    if (!Error.empty())
      return Error;
  }
  // What an inline constant means depends on the type.
  OperandType Type = OperandType::B32;
  if (Op.ends_with("_f16") && !Op.starts_with("s_cvt_hi"))
    Type = OperandType::F16;
  else if (Op.ends_with("b64") || Op.ends_with("u64") || Op.ends_with("i64"))
    Type = OperandType::B64;

  if (Op == "s_setreg_b32" || Op == "s_setreg_imm32_b32" ||
      Op == "s_getreg_b32" || Op == "s_call_b64") {
    if (Op == "s_getreg_b32" || Op == "s_call_b64")
      return "";
    if (Asm.Operands.size() != 2)
      return "it has an unexpected number of operands";
    I.NumSrc = 1;
    return source(Asm.Operands[1], OperandType::B32, I.Src[0]);
  }
  bool IsCompareK = Op.starts_with("s_cmpk_");
  if (IsCompareK || Op == "s_movk_i32" || Op == "s_cmovk_i32" ||
      Op == "s_addk_i32" || Op == "s_mulk_i32") {
    unsigned Place = 0;
    if (IsCompareK) {
      Error = source(Asm.Operands[0], OperandType::B32, I.Src[0]);
      Place = 1;
    }
    bool Unsigned = IsCompareK && Op.ends_with("_u32");
    Operand &O = I.Src[Place];
    O.Kind = OperandKind::Constant;
    O.Dwords = 1;
    O.Value = Unsigned ? uint64_t(I.Imm)
                       : uint64_t(uint32_t(int32_t(int16_t(I.Imm))));
    I.NumSrc = uint8_t(Place + 1);
    return Error;
  }
  if (Asm.Operands.size() - Next > 4)
    return "it has an unexpected number of operands";
  for (unsigned K = 0; Next < Asm.Operands.size(); ++K, ++Next) {
    std::optional<Operand> P = parseOperand(Asm.Operands[Next], Type);
    if (!P || P->Kind == OperandKind::VGPR || P->Kind == OperandKind::None)
      return quoted("the operand", Asm.Operands[Next]) + " is not modelled";
    I.Src[K] = *P;
    I.NumSrc = uint8_t(K + 1);
  }
  return "";
}

std::string InstDecoder::decodeOne(StringRef Text, Inst &I) {
  AsmText Asm = AsmText::parse(Text);
  std::string Name = canonicalMnemonic(Asm.Mnemonic);
  if (Name == "v_dot4_i32_iu8" || Name == "v_dot8_i32_iu4") {
    // neg_lo says which of the two sources are signed.
    bool SignedA = Text.contains("neg_lo:[1,"),
         SignedB = Text.contains("neg_lo:[0,1") || Text.contains("neg_lo:[1,1");
    if (Name == "v_dot4_i32_iu8")
      Name = SignedA ? SignedB ? "v_dot4_i32_i8" : "v_dot4_i32_iu8:su"
                     : (SignedB ? "v_dot4_i32_iu8:us" : "v_dot4_u32_u8");
    else if (SignedA == SignedB)
      Name = SignedA ? "v_dot8_i32_i4" : "v_dot8_u32_u4";
    else
      return "eight products of mixed signs are not modelled";
    llvm::erase_if(Asm.Modifiers, [](StringRef M) {
      return M.starts_with("neg_lo:") || M.starts_with("op_sel_hi:");
    });
  }
  if (auto It = LaneOps.find(Name); It != LaneOps.end())
    return decodeLane(Asm, *It->second, I);
  if (auto It = CrossLaneOps.find(Name); It != CrossLaneOps.end()) {
    I.Run = It->second;
    return decodeCrossLane(Asm, Name, I);
  }
  if (auto It = ScalarHandlers.find(Name); It != ScalarHandlers.end()) {
    I.Run = It->second;
    return decodeScalar(Asm, Name, I);
  }
  if (StringRef(Name).starts_with("v_mfma_") ||
      StringRef(Name).starts_with("v_wmma_"))
    return decodeMatrix(Asm, Name, I);
  return decodeMemory(Asm, Name, I);
}

std::string InstDecoder::decodeDual(StringRef X, StringRef Y, const Inst &Base,
                                    SmallVectorImpl<Inst> &Out) {
  Inst Halves[2] = {Base, Base};
  for (unsigned K = 0; K < 2; ++K) {
    StringRef Half = (K ? Y : X).trim();
    if (!Half.consume_front("v_dual_"))
      return "it is not a pair of dual-issue operations";
    std::string Text = "v_" + Half.str();
    std::string Error = decodeOne(Text, Halves[K]);
    if (!Error.empty())
      return Error;
    if (!Halves[K].Lane)
      return "it is not a pair of vector ALU operations";
  }
  // Both read their sources before either writes.
  auto Reads = [](const Inst &I, unsigned Row) {
    for (unsigned K = 0; K < I.NumSrc; ++K)
      if (I.Src[K].Kind == OperandKind::VGPR && I.Src[K].Reg == Row)
        return true;
    return false;
  };
  bool YReadsX = Reads(Halves[1], Halves[0].Dst.Reg);
  bool XReadsY = Reads(Halves[0], Halves[1].Dst.Reg);
  if (!YReadsX) {
    Out.append({Halves[0], Halves[1]});
  } else if (!XReadsY) {
    Out.append({Halves[1], Halves[0]});
  } else {
    Inst Move = Base;
    std::string Error = decodeOne("v_mov_b32 v0, v0", Move);
    if (!Error.empty())
      return Error;
    Move.Dst.Reg = Halves[0].Dst.Reg;
    Move.Src[0].Reg = RowTemp0;
    Halves[0].Dst.Reg = RowTemp0;
    // The destination that is also a source stays a source.
    Out.append({Halves[0], Halves[1], Move});
  }
  for (unsigned K = 1; K < Out.size(); ++K)
    Out[K].Class = InstClass::Uncounted;
  return "";
}

std::string InstDecoder::decode(StringRef Text, const Inst &Base,
                                SmallVectorImpl<Inst> &Out) {
  size_t Pair = Text.find(" :: ");
  if (Pair != StringRef::npos)
    return decodeDual(Text.substr(0, Pair), Text.substr(Pair + 4), Base, Out);
  Inst I = Base;
  std::string Error = decodeOne(Text, I);
  if (!Error.empty())
    return Error;
  StringRef Name = Text.ltrim();
  if (Name.starts_with("s_set_gpr_idx_on"))
    Indexed = true;
  else if (Name.starts_with("s_set_gpr_idx_off"))
    Indexed = false;
  else if (Indexed && I.Class == InstClass::Vector) {
    if (!I.Lane)
      return "it is not modelled with register indexing";
    I.Inner = I.Run;
    I.Run = Table.RunIndexed;
  }
  Out.push_back(I);
  return "";
}
