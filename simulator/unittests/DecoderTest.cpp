//===- DecoderTest.cpp - Decoding -----------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembly text taken apart, and the code of an object built from it.
//
//===----------------------------------------------------------------------===//

#include "Assembler/Assembler.h"
#include "Decode/AsmText.h"
#include "WaveTester.h"

using namespace lnbwd::sim;

TEST(AsmText, Parts) {
  AsmText A = AsmText::parse("\tv_fma_mix_f32 v0, -v1, |v2|, s[4:5] "
                             "op_sel:[1,0,0] op_sel_hi:[1,1,0] clamp");
  EXPECT_EQ(A.Mnemonic, "v_fma_mix_f32");
  ASSERT_EQ(A.Operands.size(), 4u);
  EXPECT_EQ(A.Operands[1], "-v1");
  EXPECT_EQ(A.Operands[3], "s[4:5]");
  ASSERT_EQ(A.Modifiers.size(), 3u);
  EXPECT_EQ(A.Modifiers[0], "op_sel:[1,0,0]");
  EXPECT_EQ(A.Modifiers[2], "clamp");
  A = AsmText::parse("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3");
  ASSERT_EQ(A.Operands.size(), 2u);
  EXPECT_EQ(A.Operands[0], "hwreg(HW_REG_MODE, 4, 2)");
  A = AsmText::parse("s_endpgm");
  EXPECT_TRUE(A.Operands.empty());
  A = AsmText::parse("buffer_load_dword v0, v1, s[4:7], 0 offen offset:16");
  ASSERT_EQ(A.Operands.size(), 4u);
  ASSERT_EQ(A.Modifiers.size(), 2u);
}

TEST(AsmText, Operands) {
  auto Get = [](const char *Text, OperandType T = OperandType::B32) {
    std::optional<Operand> O = parseOperand(Text, T);
    EXPECT_TRUE(O.has_value()) << Text;
    return O ? *O : Operand();
  };
  EXPECT_EQ(Get("v17").Reg, 17);
  EXPECT_EQ(Get("v[4:7]").Dwords, 4);
  EXPECT_EQ(Get("a3").Reg, RowAGPR0 + 3);
  EXPECT_EQ(Get("s[10:11]").Kind, OperandKind::SGPR);
  EXPECT_EQ(Get("ttmp9").Reg, SlotTTMP0 + 9);
  EXPECT_EQ(Get("vcc").Dwords, 2);
  EXPECT_EQ(Get("off").Kind, OperandKind::None);
  EXPECT_EQ(Get("null").Value, 0u);
  EXPECT_EQ(Get("-|v3|").Mods, ModNeg | ModAbs);
  EXPECT_EQ(Get("sext(v3)").Mods, ModSext);
  EXPECT_EQ(Get("v3.h").Mods, ModHigh);
  EXPECT_EQ(Get("v3.l").Mods, 0);
  // Constants by type.
  EXPECT_EQ(Get("-4").Value, 0xfffffffcu);
  EXPECT_EQ(Get("-4", OperandType::B64).Value, ~3ull);
  EXPECT_EQ(Get("1.0").Value, 0x3f800000u);
  EXPECT_EQ(Get("-0.5", OperandType::F16).Value, 0xb800u);
  EXPECT_EQ(Get("4.0", OperandType::BF16).Value, 0x4080u);
  EXPECT_EQ(Get("2.0", OperandType::F64).Value, 0x4000000000000000u);
  EXPECT_EQ(Get("0.15915494309189532", OperandType::F64).Value,
            0x3fc45f306dc9c882u);
  EXPECT_EQ(Get("0x40240000", OperandType::F64).Value, 0x4024000000000000u);
  EXPECT_EQ(Get("0xdeadbeef").Value, 0xdeadbeefu);
  for (const char *Bad :
       {"", "v256", "v[3:2]", "s200", "q4", "3.25", "src_lds_direct", "v"})
    EXPECT_FALSE(parseOperand(Bad, OperandType::B32)) << Bad;
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
