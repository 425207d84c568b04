//===- DecoderTest.cpp - Decoding -----------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands and modifiers out of machine code, and the code of an object.
//
//===----------------------------------------------------------------------===//

#include "Assembler/Assembler.h"
#include "WaveTester.h"

#include <initializer_list>
#include <memory>

using namespace lnbwd::sim;

namespace {
/// An instruction that is assembled, and decoded alone.
struct DecodedOne {
  std::vector<uint8_t> Code;
  std::unique_ptr<DecodedCode> P;
  const Inst *I = nullptr;

  DecodedOne(const std::string &Text, const char *Chip, unsigned WaveSize = 0) {
    std::string Error;
    Code = assembleText(Text + "\n", Chip, WaveSize, Error);
    EXPECT_FALSE(Code.empty()) << Error;
    const SimulatedChip &C = chipNamed(Chip);
    const uint64_t Address = reinterpret_cast<uint64_t>(Code.data());
    P = std::make_unique<DecodedCode>(
        C, WaveSize ? WaveSize : C.WaveSize,
        std::vector<CodeRange>{{Address, Code.size(), {}}}, hostExecTable());
    I = P->at(Address);
  }
};
} // namespace

TEST(Decoder, Registers) {
  auto Source = [](const std::string &Text, const char *Chip) {
    DecodedOne D(Text, Chip);
    EXPECT_EQ(D.P->problem(D.I), "") << Text;
    return D.I->Src[0];
  };
  EXPECT_EQ(Source("v_mov_b32 v0, v17", "gfx942").Reg, 17);
  EXPECT_EQ(Source("v_rcp_f64 v[0:1], v[4:5]", "gfx942").Dwords, 2);
  EXPECT_EQ(Source("v_accvgpr_read_b32 v0, a3", "gfx942").Reg, RowAGPR0 + 3);
  EXPECT_EQ(Source("s_mov_b64 s[0:1], s[10:11]", "gfx942").Kind,
            OperandKind::SGPR);
  EXPECT_EQ(Source("s_mov_b32 s0, ttmp9", "gfx942").Reg, SlotTTMP0 + 9);
  EXPECT_EQ(Source("s_mov_b64 s[0:1], vcc", "gfx942").Dwords, 2);
  EXPECT_EQ(Source("s_mov_b32 s0, exec_hi", "gfx942").Reg, SlotExec + 1);
  EXPECT_EQ(Source("s_mov_b32 s0, m0", "gfx1100").Reg, SlotM0);
  EXPECT_EQ(Source("s_mov_b64 s[0:1], src_shared_base", "gfx942").Reg,
            SlotSharedBase);
  EXPECT_EQ(Source("v_mov_b32 v0, null", "gfx1100").Value, 0u);
  EXPECT_EQ(Source("v_add_f32 v0, -|v3|, v1", "gfx942").Mods, ModNeg | ModAbs);
  EXPECT_EQ(Source("v_add_u32_sdwa v0, sext(v3), v1 src0_sel:WORD_1 "
                   "src1_sel:DWORD",
                   "gfx942")
                .Mods,
            ModSext);
  EXPECT_EQ(Source("v_add_f16 v0.l, v3.h, v1.l", "gfx1100").Mods, ModHigh);
  EXPECT_EQ(Source("v_add_f16 v0.l, v3.l, v1.l", "gfx1100").Mods, 0);
  DecodedOne Unknown("s_mov_b32 s0, src_vccz", "gfx942");
  EXPECT_EQ(Unknown.P->problem(Unknown.I),
            "the operand 'src_vccz' is not modelled");
}

TEST(Decoder, ConstantsByType) {
  auto Value = [](const std::string &Text, const char *Chip = "gfx1100") {
    DecodedOne D(Text, Chip);
    EXPECT_EQ(D.P->problem(D.I), "") << Text;
    return D.I->Src[0].Value;
  };
  EXPECT_EQ(Value("v_mov_b32 v0, -4"), 0xfffffffcu);
  EXPECT_EQ(Value("s_mov_b64 s[0:1], -4"), ~3ull);
  EXPECT_EQ(Value("v_mov_b32 v0, 1.0"), 0x3f800000u);
  EXPECT_EQ(Value("v_add_f16 v0.l, -0.5, v1.l"), 0xb800u);
  EXPECT_EQ(Value("v_rcp_f64 v[0:1], 2.0"), 0x4000000000000000u);
  EXPECT_EQ(Value("v_rcp_f64 v[0:1], 0.15915494309189532"),
            0x3fc45f306dc9c882u);
  EXPECT_EQ(Value("v_rcp_f64 v[0:1], 0x40240000"), 0x4024000000000000u);
  EXPECT_EQ(Value("v_mov_b32 v0, 0xdeadbeef"), 0xdeadbeefu);
  EXPECT_EQ(Value("s_movk_i32 s0, -5"), 0xfffffffbu);
  EXPECT_EQ(Value("s_cmpk_eq_u32 s0, 0xfffb"), 0u); // the register
  EXPECT_EQ(Value("s_cvt_f32_f16 s0, 1.0", "gfx1150"), 0x3c00u);
  // Of mixed precision op_sel_hi says which type it is.
  EXPECT_EQ(Value("v_fma_mix_f32 v0, 1.0, v1, v2"), 0x3f800000u);
  EXPECT_EQ(Value("v_fma_mix_f32 v0, 1.0, v1, v2 op_sel_hi:[1,0,0]"), 0x3c00u);
  DecodedOne Wmma("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], 1.0",
                  "gfx1100");
  EXPECT_EQ(Wmma.I->Src[2].Value, 0x3f800000u);
}

// Short encodings have VCC where long ones name a mask.
TEST(Decoder, MasksWithoutAnOperand) {
  for (const char *Text :
       {"v_cmp_lt_f32 vcc, v1, v2", "v_add_co_u32 v0, vcc, v1, v2",
        "v_addc_co_u32 v0, vcc, v1, v2, vcc"}) {
    DecodedOne D(Text, "gfx942");
    EXPECT_EQ(D.I->Dst2.Reg, SlotVCC) << Text;
    EXPECT_EQ(D.I->Dst2.Dwords, 2) << Text;
  }
  DecodedOne Select("v_cndmask_b32 v0, v1, v2, vcc_lo", "gfx1100");
  EXPECT_EQ(Select.I->Src[2].Kind, OperandKind::Mask);
  EXPECT_EQ(Select.I->Src[2].Reg, SlotVCC);
  EXPECT_EQ(Select.I->Src[2].Dwords, 1);
  DecodedOne Only("v_cmpx_lt_f32 v1, v2", "gfx1100");
  EXPECT_EQ(Only.P->problem(Only.I), "");
  EXPECT_EQ(Only.I->Dst2.Kind, OperandKind::None);
  DecodedOne Named("v_cndmask_b32_e64 v0, v1, v2, s[4:5]", "gfx942");
  EXPECT_EQ(Named.I->Src[2].Reg, 4);
}

TEST(Decoder, Addresses) {
  struct Case {
    const char *Chip, *Text;
    int64_t Offset;
    uint32_t Flags, Policy;
  };
  for (const Case &C : std::initializer_list<Case>{
           {"gfx942", "global_load_dword v0, v[2:3], off offset:-16 sc0 nt sc1",
            -16, 0, PolicyGlc | PolicySlc | PolicySc1},
           {"gfx942", "global_atomic_add v0, v[2:3], v4, off sc0", 0,
            FlagReturn, PolicyGlc},
           {"gfx942", "global_atomic_add v[2:3], v4, off", 0, 0, 0},
           {"gfx942", "buffer_load_dword v1, s[4:7], s8 offen lds", 0,
            FlagOffen | FlagLds, 0},
           {"gfx1030", "global_load_dword v0, v2, s[4:5] offset:-2048 dlc",
            -2048, 0, PolicyDlc},
           {"gfx1100", "buffer_load_b32 v0, v1, s[4:7], s8 idxen offset:4095",
            4095, FlagIdxen, 0},
           {"gfx1100", "flat_load_b32 v0, v[2:3] offset:4095", 4095, 0, 0},
           {"gfx1200",
            "buffer_load_b32 v0, v[1:2], s[4:7], s8 idxen offen offset:16 "
            "scope:SCOPE_SYS",
            16, FlagIdxen | FlagOffen, 3 << PolicyScopeShift},
           {"gfx1200", "s_load_b32 s0, s[4:5], s6 offset:-16", -16, 0, 0}}) {
    DecodedOne D(C.Text, C.Chip);
    EXPECT_EQ(D.P->problem(D.I), "") << C.Text;
    EXPECT_EQ(D.I->Imm, C.Offset) << C.Text;
    EXPECT_EQ(D.I->Flags, C.Flags) << C.Text;
    EXPECT_EQ(D.I->CachePolicy, C.Policy) << C.Text;
  }
  // The data of a store to scratch comes before the address, elsewhere after.
  DecodedOne Scratch("scratch_store_dwordx2 v1, v[4:5], off", "gfx942");
  EXPECT_EQ(Scratch.I->Src[0].Reg, 1);
  EXPECT_EQ(Scratch.I->Src[1].Reg, 4);
  DecodedOne Global("global_store_dwordx2 v1, v[4:5], s[2:3]", "gfx942");
  EXPECT_EQ(Global.I->Src[0].Reg, 1);
  EXPECT_EQ(Global.I->Src[1].Reg, 4);
  EXPECT_EQ(Global.I->Src[2].Reg, 2);
}

TEST(Decoder, Modifiers) {
  DecodedOne Dpp("v_add_f32_dpp v0, -v1, |v2| row_shr:3 row_mask:0x3 "
                 "bank_mask:0xf bound_ctrl:0",
                 "gfx942");
  ASSERT_NE(Dpp.I->Dpp, nullptr);
  EXPECT_EQ(Dpp.I->Dpp->From[20], 17);
  EXPECT_EQ(Dpp.I->DppEnabled, 0xffffffffu);
  EXPECT_EQ(Dpp.I->Flags, FlagDpp | FlagDppBoundCtrl);
  EXPECT_EQ(Dpp.I->Src[0].Mods, ModNeg);
  EXPECT_EQ(Dpp.I->Src[1].Mods, ModAbs);
  DecodedOne Dpp8("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0] fi:1",
                  "gfx1100");
  ASSERT_NE(Dpp8.I->Dpp, nullptr);
  EXPECT_EQ(Dpp8.I->Dpp->From[9], 14);
  EXPECT_TRUE(Dpp8.I->Flags & FlagDppFetchInactive);
  DecodedOne Sdwa("v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 "
                  "dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3",
                  "gfx942");
  EXPECT_EQ(Sdwa.I->DstSel, Sdwa::Byte1);
  EXPECT_EQ(Sdwa.I->Src[0].Sel, Sdwa::Word1);
  EXPECT_EQ(Sdwa.I->Src[1].Sel, Sdwa::Byte3);
  EXPECT_TRUE(Sdwa.I->Flags & FlagPreserve);
  DecodedOne Output("v_mul_f32_e64 v0, v1, v2 clamp div:2", "gfx942");
  EXPECT_EQ(Output.I->Omod, -1);
  EXPECT_TRUE(Output.I->Flags & FlagClamp);
  DecodedOne Packed("v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] "
                    "op_sel_hi:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,0,1]",
                    "gfx1201");
  EXPECT_EQ(Packed.I->OpSel, 2);
  EXPECT_EQ(Packed.I->OpSelHi & 7, 5);
  EXPECT_EQ(Packed.I->NegLo, 1);
  EXPECT_EQ(Packed.I->NegHi, 4);
  DecodedOne Halves("v_fma_f16 v0, v1, -v2, v3 op_sel:[0,1,0,1]", "gfx942");
  EXPECT_EQ(Halves.I->OpSel, 2);
  EXPECT_EQ(Halves.I->Src[1].Mods, ModNeg);
  EXPECT_TRUE(Halves.I->Flags & FlagDstHigh);
  // What is not modelled stops the launch, and is not ignored.
  DecodedOne Sign("v_pk_fmac_f16_dpp v0, -v1, v2 quad_perm:[0,1,2,3] "
                  "row_mask:0xf bank_mask:0xf",
                  "gfx90a");
  EXPECT_EQ(Sign.P->problem(Sign.I),
            "the sign of a packed source is not modelled here");
}

TEST(Decoder, Pairs) {
  DecodedOne D("v_dual_fmac_f32 v0, v1, v2 :: v_dual_add_nc_u32 v3, v4, v5",
               "gfx1100", 32);
  ASSERT_EQ(D.P->problem(D.I), "");
  EXPECT_EQ(D.I[0].Record->Name, "v_fmac_f32");
  EXPECT_EQ(D.I[1].Record->Name, "v_add_u32");
  EXPECT_EQ(D.I[1].Dst.Reg, 3);
  EXPECT_EQ(D.I[1].Src[1].Reg, 5);
  // The name is the one that it has on this chip.
  DecodedOne Newer("v_dual_mul_f32 v0, v1, v2 :: v_dual_min_num_f32 v3, v4, v5",
                   "gfx1201", 32);
  ASSERT_EQ(Newer.P->problem(Newer.I), "");
  EXPECT_EQ(Newer.I[1].Record->Name, "v_min_num_f32");
}

TEST(Decoder, BranchTargetsAndText) {
  std::string Error;
  std::vector<uint8_t> Code =
      assembleText("s_branch over\nv_add_f32 v0, v1, v2\nover:\ns_endpgm\n",
                   "gfx942", 0, Error);
  ASSERT_FALSE(Code.empty()) << Error;
  uint64_t Address = reinterpret_cast<uint64_t>(Code.data());
  DecodedCode P(chipNamed("gfx942"), 64, {CodeRange{Address, Code.size(), {}}},
                hostExecTable());
  const Inst *I = P.at(Address);
  ASSERT_NE(I, nullptr);
  EXPECT_EQ(I->Target, P.at(Address + 8));
  EXPECT_EQ(P.text(I + 1), "v_add_f32_e32 v0, v1, v2");
  EXPECT_EQ(P.problem(I), "");
  EXPECT_EQ(P.at(Address + 2), nullptr);
  EXPECT_EQ(P.at(Address + 4096), nullptr);
}

TEST(Decoder, StartsAfreshAtFunctions) {
  // The first dword of an eight-byte instruction as padding before a function.
  std::string Error;
  std::vector<uint8_t> Code =
      assembleText(".long 0xd1cb0000\nfunction:\ns_mov_b32 s0, 1\ns_endpgm\n",
                   "gfx942", 0, Error);
  ASSERT_FALSE(Code.empty()) << Error;
  uint64_t Address = reinterpret_cast<uint64_t>(Code.data());
  DecodedCode P(chipNamed("gfx942"), 64,
                {CodeRange{Address, Code.size(), {Address + 4}}},
                hostExecTable());
  ASSERT_NE(P.at(Address + 4), nullptr);
  EXPECT_EQ(P.text(P.at(Address + 4)), "s_mov_b32 s0, 1");
}

// Random words must never crash the decoder, whatever they mean.
TEST(Decoder, RandomCode) {
  uint32_t State = 1;
  for (const SimulatedChip &C : Chips) {
    std::vector<uint32_t> Words(20000);
    for (uint32_t &W : Words) {
      State = State * 1664525 + 1013904223;
      W = State ^ State >> 15;
    }
    uint64_t Address = reinterpret_cast<uint64_t>(Words.data());
    DecodedCode P(C, C.WaveSize, {CodeRange{Address, Words.size() * 4, {}}},
                  hostExecTable());
    EXPECT_GT(P.instructions().size(), 5000u);
  }
}
