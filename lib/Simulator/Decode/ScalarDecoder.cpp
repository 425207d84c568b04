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

#include <optional>

using namespace llvm;
using namespace lnbwd::sim;

std::string ScalarDecoder::decode(const AsmText &Asm, StringRef Name, Inst &I) {
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
    return Operands.source(Asm.Operands.empty() ? "" : Asm.Operands[0],
                           OperandType::B32, I.Src[0]);
  }
  bool HasDst = !Op.starts_with("s_cmp") && !Op.starts_with("s_bitcmp") &&
                !Op.starts_with("s_setpc") && !Op.starts_with("s_setreg") &&
                !Op.starts_with("s_barrier");
  unsigned Next = 0;
  std::string Error;
  if (HasDst) {
    if (Asm.Operands.empty())
      return "it has no operands";
    Error = Operands.scalarDestination(Asm.Operands[Next++], I.Dst);
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
      return OperandCount;
    I.NumSrc = 1;
    return Operands.source(Asm.Operands[1], OperandType::B32, I.Src[0]);
  }
  bool IsCompareK = Op.starts_with("s_cmpk_");
  if (IsCompareK || Op == "s_movk_i32" || Op == "s_cmovk_i32" ||
      Op == "s_addk_i32" || Op == "s_mulk_i32") {
    unsigned Place = 0;
    if (IsCompareK) {
      Error = Operands.source(Asm.Operands[0], OperandType::B32, I.Src[0]);
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
    return OperandCount;
  for (unsigned K = 0; Next < Asm.Operands.size(); ++K, ++Next) {
    std::optional<Operand> P = parseOperand(Asm.Operands[Next], Type);
    if (!P || P->Kind == OperandKind::VGPR || P->Kind == OperandKind::None)
      return quoted("the operand", Asm.Operands[Next]) + " is not modelled";
    I.Src[K] = *P;
    I.NumSrc = uint8_t(K + 1);
  }
  return "";
}
