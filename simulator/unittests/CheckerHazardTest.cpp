//===- CheckerHazardTest.cpp - Kernels without the wait states ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two instructions for each rule: with one wait state less than they need they
// are caught, with that one they run clean. The numbers are those that LLVM 22
// keeps.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

using namespace lnbwd::sim;

namespace {
class CheckerHazard : public CheckerTest {
protected:
  void SetUp() override {
    CheckerTest::SetUp();
    K.Body += Registers;
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_HAZARDS);
  }
  bool isOneOf(std::initializer_list<const char *> Names) const {
    return llvm::any_of(Names, [&](const char *N) { return Chip == N; });
  }
  bool isGfx90aOn() const { return isOneOf({"gfx90a", "gfx942", "gfx950"}); }
  bool isGfx940On() const { return isOneOf({"gfx942", "gfx950"}); }
  /// The second instruction comes after so many wait states.
  static std::string spaced(const std::string &First, unsigned States,
                            const std::string &Second) {
    std::string Text = First + "\n";
    for (; States > 8; States -= 8)
      Text += "s_nop 7\n";
    if (States)
      Text += "s_nop " + std::to_string(States - 1) + "\n";
    return Text + Second + "\n";
  }
  /// The pair needs so many wait states, and one less is reported.
  void expectNeeds(unsigned States, const std::string &First,
                   const std::string &Second) {
    EXPECT_CLEAN(run(spaced(First, States, Second)));
    if (States)
      EXPECT_SAYS(run(spaced(First, States - 1, Second)),
                  "needs " + std::to_string(States) + " wait state");
  }
  const char *Registers = "s_mov_b32 s8, 0\ns_mov_b32 s9, 0\n"
                          "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, 0\n"
                          "v_mov_b32 v5, 0\ns_nop 7\ns_nop 7\n";
};
} // namespace

TEST_P(CheckerHazard, MessageOfAHazard) {
  if (Chip != "gfx90a")
    GTEST_SKIP();
  EXPECT_SAYS(run("v_readfirstlane_b32 s4, v2\n"
                  "global_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(0)"),
              "a hazard: a vector memory instruction reads a scalar register "
              "that the vector ALU has written; v_readfirstlane_b32 s4, v2 at "
              "k+0x");
  EXPECT_SAYS(run("v_readfirstlane_b32 s4, v2\ns_nop 0\n"
                  "global_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(0)"),
              "needs 5 wait states before it, and there is 1: s_nop 3 is "
              "missing; at k+0x");
}

TEST_P(CheckerHazard, ScalarRegisters) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  // Lane 0 of v5 holds the low half of the address.
  const std::string Address = "v_mov_b32 v5, s4\ns_nop 7\n";
  expectNeeds(5, Address + "v_readfirstlane_b32 s4, v5",
              "global_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(0)");
  expectNeeds(4, "v_readfirstlane_b32 s8, v2", "v_readlane_b32 s9, v3, s8");
  expectNeeds(4, "v_readfirstlane_b32 s8, v2", "v_writelane_b32 v3, 7, s8");
  expectNeeds(4, "v_cmp_eq_u32 vcc, v2, v3", "v_div_fmas_f32 v3, v2, v4, v5");
  expectNeeds(isGfx940On() ? 2 : 0, "v_readfirstlane_b32 s8, v2",
              "v_mov_b32 v3, s8");
  expectNeeds(isGfx940On() ? 2 : 0, "v_cmp_eq_u32 vcc, v2, v3",
              "v_cndmask_b32 v4, v2, v3, vcc");
  // The scalar ALU is waited for, and so is the scalar ALU itself.
  expectNeeds(0, "s_mov_b32 s8, 0", "v_readlane_b32 s9, v3, s8");
  expectNeeds(0, "v_readfirstlane_b32 s8, v2", "s_mov_b32 s9, s8");
}

TEST_P(CheckerHazard, DppAndLanes) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  const std::string Dpp =
      "v_mov_b32_dpp v4, v2 row_shr:1 row_mask:0xf bank_mask:0xf";
  expectNeeds(2, "v_mov_b32 v2, v3", Dpp);
  expectNeeds(0, "v_mov_b32 v5, v3", Dpp);
  expectNeeds(5, "v_cmpx_eq_u32 vcc, v3, v3", Dpp);
  expectNeeds(isGfx940On() ? 1 : 0, "v_mov_b32 v2, v3",
              "v_readlane_b32 s8, v2, 3");
  expectNeeds(isGfx940On() ? 1 : 0, "v_mov_b32 v2, v3",
              "v_readfirstlane_b32 s8, v2");
  expectNeeds(isGfx940On() ? 4 : 0, "v_cmpx_eq_u32 vcc, v3, v3",
              "v_readfirstlane_b32 s8, v2");
  expectNeeds(isGfx940On() ? 4 : 0, "v_cmpx_eq_u32 vcc, v3, v3",
              "v_writelane_b32 v4, s9, 2");
}

TEST_P(CheckerHazard, HardwareRegisters) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  expectNeeds(2, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
              "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0");
  expectNeeds(2, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
              "s_getreg_b32 s8, hwreg(HW_REG_MODE, 0, 4)");
  expectNeeds(1, "s_mov_b32 m0, 1", "s_movrels_b32 s9, s8");
  if (isGfx940On())
    expectNeeds(1, "s_mov_b32 m0, 0",
                "global_load_lds_dword v1, s[4:5]\ns_waitcnt vmcnt(0)");
}

TEST_P(CheckerHazard, StoredDataOverwritten) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  const unsigned States = isGfx940On() ? 2 : 1;
  const std::string End = "\ns_waitcnt vmcnt(0)";
  expectNeeds(States, "global_store_dwordx4 v1, v[2:5], s[4:5]",
              "v_mov_b32 v4, 0" + End);
  expectNeeds(States, "global_store_dwordx3 v1, v[2:4], s[4:5]",
              "v_mov_b32 v4, 0" + End);
  expectNeeds(0, "global_store_dwordx2 v1, v[2:3], s[4:5]",
              "v_mov_b32 v2, 0" + End);
  expectNeeds(0, "global_store_dwordx4 v1, v[2:5], s[4:5]",
              "v_mov_b32 v6, 0" + End);
}

TEST_P(CheckerHazard, TranscendentalAndParts) {
  if (!isGfx9(Chip))
    GTEST_SKIP();
  const unsigned One = isGfx940On() ? 1 : 0;
  expectNeeds(One, "v_rcp_f32 v2, v3", "v_mov_b32 v4, v2");
  expectNeeds(One, "v_rcp_f64 v[2:3], v[4:5]", "v_mov_b32 v4, v2");
  expectNeeds(0, "v_rcp_f32 v2, v3", "v_rcp_f32 v4, v3");
  expectNeeds(One,
              "v_add_u32_sdwa v2, v3, v4 dst_sel:WORD_1 "
              "dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
              "v_mov_b32 v4, v2");
  expectNeeds(0,
              "v_add_u32_sdwa v2, v3, v4 dst_sel:DWORD "
              "dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD",
              "v_mov_b32 v4, v2");
}

TEST_P(CheckerHazard, DotProducts) {
  if (!isGfx90aOn())
    GTEST_SKIP();
  const std::string Dot = "v_dot2_f32_f16 v2, v3, v4, v5";
  expectNeeds(3, Dot, "v_mov_b32 v6, v2");
  expectNeeds(3, Dot, "v_mov_b32 v2, v6");
  expectNeeds(3, Dot, "v_dot2_f32_f16 v6, v2, v4, v5");
  // Sums of dot products need no wait.
  expectNeeds(0, Dot, "v_dot2_f32_f16 v2, v3, v4, v2");
}

namespace {
/// Matrix instructions: results in v[16:31], factors in v[8:11], addends in
/// v[32:47], all set.
class MatrixHazard : public CheckerHazard {
protected:
  void SetUp() override {
    CheckerHazard::SetUp();
    for (unsigned R = 6; R < 64; ++R)
      K.Body += "v_mov_b32 v" + std::to_string(R) + ", 0\n";
    K.Body += "s_nop 7\n";
  }
  bool is950() const { return Chip == "gfx950"; }
  /// The least that follows the table of the class: full precision, half
  /// precision, 16 x 16.
  const std::string Single = "v_mfma_f32_16x16x4f32 v[16:19], v8, v9, v[32:35]";
  const std::string Half =
      "v_mfma_f32_16x16x16f16 v[16:19], v[8:9], v[10:11], v[32:35]";
  const std::string Double =
      "v_mfma_f64_16x16x4f64 v[16:23], v[8:9], v[10:11], v[32:39]";
};
} // namespace

TEST_P(MatrixHazard, ResultRead) {
  if (!isGfx90aOn())
    GTEST_SKIP();
  const std::string Read = "v_mov_b32 v2, v17", Lds = "ds_write_b32 v1, v17",
                    Store = "global_store_dword v1, v17, s[4:5]";
  const unsigned ForSingle = isGfx940On() ? 10 : 11;
  const unsigned ForHalf = is950() ? 8 : isGfx940On() ? 7 : 11;
  for (const std::string &Second : {Read, Lds, Store}) {
    expectNeeds(ForSingle, Single, Second);
    expectNeeds(ForHalf, Half, Second);
    expectNeeds(0, Single, "v_mov_b32 v2, v20");
  }
  expectNeeds(is950() ? 19 : 11, Double, Read);
  expectNeeds(18, Double, Lds);
  // 4 x 4, and 32 x 32.
  expectNeeds(isGfx940On() ? 4 : 5,
              "v_mfma_f32_4x4x1f32 v[16:19], v8, v9, v[32:35]", Read);
  expectNeeds(isGfx940On() ? 18 : 19,
              "v_mfma_f32_32x32x2f32 v[16:31], v8, v9, v[32:47]", Read);
  expectNeeds(is950()        ? 12
              : isGfx940On() ? 11
                             : 19,
              "v_mfma_f32_32x32x8f16 v[16:31], v[8:9], v[10:11], v[32:47]",
              Read);
}

TEST_P(MatrixHazard, Overwritten) {
  if (!isGfx90aOn())
    GTEST_SKIP();
  const unsigned ForSingle = isGfx940On() ? 10 : 11;
  const unsigned ForHalf = is950() ? 8 : isGfx940On() ? 7 : 11;
  const std::string Load =
      "global_load_dword v17, v1, s[4:5]\ns_waitcnt vmcnt(0)";
  expectNeeds(ForSingle, Single, "v_mov_b32 v17, 0");
  expectNeeds(ForHalf, Half, "v_mov_b32 v17, 0");
  expectNeeds(ForHalf, Half, Load);
  expectNeeds(11, Double, "v_mov_b32 v17, 0");
  // The addend.
  expectNeeds(isGfx940On() ? 3 : 7, Half, "v_mov_b32 v33, 0");
  expectNeeds(isGfx940On() ? 0 : 7, Single, "v_mov_b32 v33, 0");
}

TEST_P(MatrixHazard, MatrixAfterMatrix) {
  if (!isGfx90aOn())
    GTEST_SKIP();
  // The same registers as addend: sums need no wait.
  expectNeeds(0, Half,
              "v_mfma_f32_16x16x16f16 v[16:19], v[8:9], v[10:11], v[16:19]");
  expectNeeds(is950()        ? 6
              : isGfx940On() ? 5
                             : 8,
              Half,
              "v_mfma_f32_16x16x16f16 v[18:21], v[8:9], v[10:11], v[18:21]");
  expectNeeds(is950()        ? 8
              : isGfx940On() ? 7
                             : 11,
              Half,
              "v_mfma_f32_16x16x16f16 v[40:43], v[16:17], v[10:11], v[32:35]");
  expectNeeds(8, Single, "v_mfma_f32_16x16x4f32 v[18:21], v8, v9, v[18:21]");
  expectNeeds(isGfx940On() ? 10 : 11, Single,
              "v_mfma_f32_16x16x4f32 v[40:43], v16, v9, v[32:35]");
  // The addend is the result of the one between, which has waited by itself.
  const std::string Accumulate = "v_mfma_f32_16x16x4f32 v[14:17], v8, v9, ";
  EXPECT_CLEAN(run(Single + "\n" + Accumulate + "v[16:19]\n" + Accumulate +
                   "v[14:17]\n"));
  EXPECT_SAYS(run(Single + "\n" + Accumulate +
                  "v[32:35]\nv_mfma_f32_16x16x4f32 v[18:21], v8, v9, v[18:21]"),
              "a matrix instruction reads another one's result");
  expectNeeds(isGfx940On() ? 0 : 8, Single,
              "v_mfma_f32_16x16x16f16 v[18:21], v[8:9], v[10:11], v[18:21]");
  expectNeeds(0, Double,
              "v_mfma_f64_16x16x4f64 v[16:23], v[8:9], v[10:11], v[16:23]");
  expectNeeds(is950() ? 17 : 9, Double,
              "v_mfma_f64_16x16x4f64 v[18:25], v[8:9], v[10:11], v[18:25]");
  expectNeeds(is950() ? 19 : 11, Double,
              "v_mfma_f64_16x16x4f64 v[40:47], v[16:17], v[10:11], v[32:39]");
}

// The passes of sparse products, of 4 to 8 bits and of integers, and what else
// than factors they read.
TEST_P(MatrixHazard, SparseAndSmall) {
  if (!isGfx940On())
    GTEST_SKIP();
  const std::string Read = "v_mov_b32 v2, v17";
  const std::string Sparse =
      "v_smfmac_f32_16x16x32_f16 v[16:19], v[8:9], v[10:13], v14";
  expectNeeds(is950() ? 8 : 7, Sparse, Read);
  expectNeeds(is950() ? 8 : 7, Sparse, "v_mov_b32 v17, 0");
  expectNeeds(0, Sparse, "v_mov_b32 v14, 0");
  expectNeeds(is950() ? 12 : 11,
              "v_smfmac_f32_32x32x16_f16 v[16:31], v[8:9], v[10:13], v14",
              Read);
  expectNeeds(0, Sparse, Sparse);
  expectNeeds(is950() ? 6 : 5, Sparse,
              "v_smfmac_f32_16x16x32_f16 v[18:21], v[8:9], v[10:13], v14");
  expectNeeds(is950() ? 8 : 7, Sparse,
              "v_smfmac_f32_16x16x32_f16 v[40:43], v[8:9], v[10:13], v16");
  expectNeeds(is950() ? 8 : 7,
              "v_mfma_i32_16x16x32_i8 v[16:19], v[8:9], v[10:11], v[32:35]",
              Read);
  expectNeeds(is950() ? 12 : 11,
              "v_mfma_i32_16x16x4_4b_i8 v[16:31], v8, v9, v[32:47]", Read);
  expectNeeds(5, "v_mfma_i32_4x4x4_16b_i8 v[16:19], v8, v9, v[32:35]", Read);
  expectNeeds(6, "v_mfma_f64_4x4x4_4b_f64 v[16:17], v[8:9], v[10:11], v[32:33]",
              Read);
  if (!is950()) {
    expectNeeds(7,
                "v_mfma_f32_16x16x8_xf32 v[16:19], v[8:9], v[10:11], v[32:35]",
                Read);
    return;
  }
  expectNeeds(8, "v_mfma_i32_16x16x64_i8 v[16:19], v[8:11], v[12:15], v[32:35]",
              Read);
  const std::string Deep = "v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[48:55], "
                           "v[56:63], v[32:35]";
  expectNeeds(12, Deep, Read);
  expectNeeds(7, Deep, "v_mov_b32 v33, 0");
  // Of factors of 4 and 6 bits, clang 22 counts half as many passes.
  expectNeeds(20,
              "v_mfma_f32_32x32x64_f8f6f4 v[16:31], v[48:51], v[56:63], "
              "v[32:47] cbsz:4",
              Read);
  expectNeeds(12,
              "v_mfma_f32_32x32x64_f8f6f4 v[16:31], v[48:51], v[56:61], "
              "v[32:47] cbsz:4 blgp:2",
              Read);
  expectNeeds(8,
              "v_mfma_f32_16x16x128_f8f6f4 v[16:19], v[48:51], v[56:59], "
              "v[32:35] cbsz:4 blgp:4",
              Read);
  expectNeeds(8, Sparse,
              "v_mfma_scale_f32_16x16x128_f8f6f4 v[40:43], v[48:55], v[56:63], "
              "v[32:35], v8, v18");
}

TEST_P(MatrixHazard, FactorsAndExec) {
  if (!isGfx90aOn())
    GTEST_SKIP();
  expectNeeds(2, "v_mov_b32 v8, 0", Half);
  expectNeeds(2, "v_mov_b32 v33, 0", Half);
  expectNeeds(4, "v_cmpx_eq_u32 vcc, v3, v3", Half);
  expectNeeds(2, Double, "v_fma_f64 v[48:49], v[50:51], v[50:51], v[50:51]");
}

TEST_P(MatrixHazard, LaneSwaps) {
  if (!is950())
    GTEST_SKIP();
  expectNeeds(2, "v_mov_b32 v2, v3", "v_permlane32_swap_b32 v2, v4");
  expectNeeds(4, "v_cmpx_eq_u32 vcc, v3, v3", "v_permlane32_swap_b32 v2, v4");
}

TEST_P(MatrixHazard, AccumulationRegistersOfGfx908) {
  if (Chip != "gfx908")
    GTEST_SKIP();
  const std::string Product = "v_mfma_f32_16x16x4f32 a[0:3], v8, v9, a[4:7]";
  expectNeeds(10, Product, "v_accvgpr_read_b32 v2, a1");
  expectNeeds(4, "v_mfma_f32_4x4x1f32 a[0:3], v8, v9, a[4:7]",
              "v_accvgpr_read_b32 v2, a1");
  expectNeeds(18, "v_mfma_f32_32x32x2f32 a[0:15], v8, v9, a[16:31]",
              "v_accvgpr_read_b32 v2, a1");
  expectNeeds(7, Product, "v_accvgpr_write_b32 a1, v2");
  expectNeeds(5, Product, "v_accvgpr_write_b32 a5, v2");
  expectNeeds(2, Product, "v_mfma_f32_16x16x4f32 a[2:5], v8, v9, a[2:5]");
  expectNeeds(0, Product, "v_mfma_f32_16x16x4f32 a[0:3], v8, v9, a[0:3]");
  expectNeeds(1, "v_accvgpr_write_b32 a5, v2", Product);
  expectNeeds(3, "v_accvgpr_write_b32 a5, v2", "v_accvgpr_read_b32 v3, a5");
  expectNeeds(2, "v_mov_b32 v8, 0", Product);
  expectNeeds(4, "v_cmpx_eq_u32 vcc, v3, v3", Product);
  expectNeeds(2, "v_accvgpr_read_b32 v3, a5", "ds_write_b32 v1, v3");
}

TEST_P(CheckerHazard, TranscendentalOfGfx11) {
  if (Chip != "gfx1100")
    GTEST_SKIP();
  const std::string Sine = "v_rcp_f32 v2, v3\n", Use = "v_mov_b32 v4, v2\n";
  const std::string Other = "v_mov_b32 v5, v3\n";
  EXPECT_SAYS(run(Sine + Use),
              "the result of the transcendental unit is read within 5 vector "
              "instructions; after v_rcp_f32_e32 v2, v3 at k+0x");
  EXPECT_SAYS(run(Sine + Other + Other + Other + Other + Other + Use),
              "s_waitcnt_depctr with va_vdst of 0 is missing");
  EXPECT_CLEAN(run(Sine + Other + Other + Other + Other + Other + Other + Use));
  EXPECT_CLEAN(run(Sine + "s_waitcnt_depctr 0xfff\n" + Use));
  // Memory instructions wait for the vector ALU; two others of the unit, too.
  EXPECT_CLEAN(
      run(Sine + "ds_load_b32 v5, v1\n" + Use + "s_waitcnt lgkmcnt(0)\n"));
  EXPECT_CLEAN(run(Sine + "v_rcp_f32 v6, v3\nv_rcp_f32 v7, v3\n" + Use));
  // So does what drops caches.
  EXPECT_CLEAN(run(Sine + "buffer_gl0_inv\n" + Use));
}

TEST_P(CheckerHazard, NewerChips) {
  if (chipNamed(Chip).Generation < 11)
    GTEST_SKIP();
  const std::string Permlane = "v_permlane16_b32 v4, v2, 0, 0\n";
  const std::string Cmpx = "v_cmpx_eq_u32 v3, v3\n";
  EXPECT_SAYS(run(Cmpx + Permlane), "v_permlane follows a v_cmpx");
  EXPECT_SAYS(run(Cmpx + "v_nop\n" + Permlane), "v_permlane follows a v_cmpx");
  EXPECT_CLEAN(run(Cmpx + "v_mov_b32 v2, v2\n" + Permlane));
  std::string Set;
  for (unsigned R = 6; R < 48; ++R)
    Set += "v_mov_b32 v" + std::to_string(R) + ", 0\n";
  // gfx12 packs the factors more densely.
  const bool Dense = isGfx12(Chip);
  const std::string First =
      Dense ? "v_wmma_f32_16x16x16_f16 v[8:15], v[16:19], v[20:23], v[24:31]\n"
            : "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[16:23], v[24:31]\n";
  const std::string Second =
      Dense ? "v_wmma_f32_16x16x16_f16 v[32:39], v[8:11], v[20:23], v[24:31]\n"
            : "v_wmma_f32_16x16x16_f16 v[32:39], v[8:15], v[16:23], v[24:31]\n";
  EXPECT_SAYS(run(Set + First + Second),
              "a matrix instruction multiplies the result of the one before");
  EXPECT_CLEAN(run(Set + First + "v_nop\n" + Second));
  if (Dense) // The index of a sparse one.
    EXPECT_SAYS(
        run(Set + First +
            "v_swmmac_f32_16x16x32_f16 v[32:39], v[16:19], v[20:27], v8\n"),
        "a matrix instruction multiplies the result of the one before");
}

TEST_P(CheckerHazard, ScalarRegistersOfGfx12) {
  if (!isGfx12(Chip))
    GTEST_SKIP();
  const std::string Read = "v_mov_b32 v4, s8\n", Write = "s_mov_b32 s8, 3\n";
  EXPECT_SAYS(run(Read + Write + Read),
              "the vector ALU reads a scalar register that the vector ALU has "
              "read before and the scalar ALU has written since; after "
              "s_mov_b32 s8, 3");
  EXPECT_CLEAN(run(Read + Write + "s_wait_alu 0xfffe\n" + Read));
  EXPECT_CLEAN(run(Write + Read));
  EXPECT_CLEAN(run(Read + "s_mov_b32 s10, 3\n" + Read));
  // Memory instructions wait for the scalar ALU.
  EXPECT_CLEAN(run(Read + Write +
                   "global_load_b32 v3, v1, s[4:5]\ns_wait_loadcnt 0x0\n" +
                   Read));
  EXPECT_CLEAN(run(Read + Write +
                   "s_load_b32 s20, s[4:5], 0x0\ns_wait_kmcnt 0x0\n" + Read));
  const std::string Descriptor =
      "s_mov_b64 s[12:13], s[4:5]\ns_movk_i32 s14, 0x1000\n"
      "s_mov_b32 s15, 0x31004000\n";
  EXPECT_CLEAN(run(Descriptor + Read + Write +
                   "buffer_load_b32 v3, v1, s[12:15], null offen\n"
                   "s_wait_loadcnt 0x0\n" +
                   Read));
  // LDS does not; and the register stays known to the vector ALU.
  EXPECT_SAYS(
      run(Read + Write + "ds_load_b32 v3, v1\ns_wait_dscnt 0x0\n" + Read),
      "the vector ALU reads a scalar register");
  const std::string Load = "s_load_b32 s8, s[4:5], 0x0\ns_wait_kmcnt 0x0\n";
  EXPECT_CLEAN(run(Read + Load + Read));
  EXPECT_SAYS(run(Read + Load + Write + Read),
              "the vector ALU reads a scalar register");
}

// v_s_rcp and the like are the vector ALU's, although they write scalars.
TEST_P(CheckerHazard, OneValueForAllLanesOfGfx12) {
  if (!isGfx12(Chip))
    GTEST_SKIP();
  const std::string One = "v_s_rcp_f32 s10, s8\n", Write = "s_mov_b32 s8, 3\n";
  EXPECT_SAYS(run(One + Write + "v_mov_b32 v4, s8\n"),
              "the vector ALU reads a scalar register");
  EXPECT_SAYS(run("v_mov_b32 v4, s8\n" + Write + One),
              "the vector ALU reads a scalar register");
  EXPECT_CLEAN(run(Write + One + "v_mov_b32 v4, s8\n"));
}

// What the scalar ALU reads, too; for the vector ALU it waits.
TEST_P(CheckerHazard, ScalarReadsOfGfx12) {
  if (!isGfx12(Chip))
    GTEST_SKIP();
  const std::string Read = "v_mov_b32 v4, s8\n", Write = "s_mov_b32 s8, 3\n",
                    Again = "s_mov_b32 s10, s8\n";
  EXPECT_SAYS(run(Read + Write + Again),
              "the scalar ALU reads a scalar register that the vector ALU has "
              "read before and the scalar ALU has written since");
  EXPECT_CLEAN(run(Read + Write + "s_wait_alu 0xfffe\n" + Again));
  EXPECT_CLEAN(run(Write + Again));
  EXPECT_CLEAN(run(Read + "v_readfirstlane_b32 s8, v2\n" + Again));
}

namespace {
/// gfx11 in waves of 64.
class WideWaveHazard : public CheckerHazard {
protected:
  void SetUp() override {
    CheckerHazard::SetUp();
    K.WaveSize = 64;
  }
};
} // namespace

TEST_P(WideWaveHazard, Forwarding) {
  const std::string Before = "v_mov_b32 v2, 0\n", Exec = "s_mov_b64 exec, -1\n",
                    Behind = "v_mov_b32 v3, 0\n",
                    Use = "v_add_f32 v4, v2, v3\n";
  auto Others = [](unsigned Count) {
    std::string Text;
    for (unsigned K = 0; K < Count; ++K)
      Text += "v_mov_b32 v5, 0\n";
    return Text;
  };
  EXPECT_SAYS(run(Before + Exec + Behind + Use),
              "two results are read of which one was made before the scalar "
              "ALU wrote EXEC and one after it, a few vector instructions "
              "ago; after v_mov_b32_e32 v3, 0");
  // As far as LLVM's hazard recogniser looks.
  EXPECT_SAYS(run(Before + Exec + Behind + Others(4) + Use), "va_vdst of 0");
  EXPECT_CLEAN(run(Before + Exec + Behind + Others(5) + Use));
  EXPECT_SAYS(run(Before + Others(2) + Exec + Behind + Use), "va_vdst of 0");
  EXPECT_CLEAN(run(Before + Others(3) + Exec + Behind + Use));
  EXPECT_SAYS(run(Before + Exec + Others(2) + Behind + Use), "va_vdst of 0");
  EXPECT_CLEAN(run(Before + Exec + Others(3) + Behind + Use));
  EXPECT_CLEAN(run(Before + Behind + Use));
  EXPECT_CLEAN(run(Before + Exec + Behind + "v_mov_b32 v4, v2\n"));
  EXPECT_CLEAN(run(Before + Exec + Behind + "s_waitcnt_depctr 0xfff\n" + Use));
  EXPECT_CLEAN(run(Before + Exec + Behind + "ds_load_b32 v5, v1\n" + Use +
                   "s_waitcnt lgkmcnt(0)\n"));
}

static const std::vector<std::string> HazardChips = {
    "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"};
namespace {
class BesideHazard : public CheckerHazard {};
} // namespace

// Vector instructions that LLVM 22 puts between the two, or later versions.
TEST_P(BesideHazard, OfMatrices) {
  const std::string Half =
      "v_wmma_f32_16x16x32_f16 v[8:15], v[16:23], v[24:31], v[8:15]\n";
  const std::string Integer =
      "v_wmma_i32_16x16x64_iu8 v[8:15], v[16:23], v[24:31], v[8:15]\n";
  const std::string Short =
      "v_wmma_f32_16x16x64_fp8_fp8 v[8:15], v[16:23], v[24:31], v[8:15]\n";
  const std::string Next =
      "v_wmma_f32_16x16x32_f16 v[32:39], v[8:15], v[24:31], v[32:39]";
  struct Case {
    std::string First, Second;
    unsigned Needs;
  };
  for (const Case &C :
       {Case{Half, "v_mov_b32 v40, v8", 4}, Case{Half, "v_mov_b32 v15, 0", 4},
        Case{Half, "v_mov_b32 v16, 0", 4}, Case{Half, "v_mov_b32 v31, 0", 4},
        Case{Half, "v_mov_b32 v32, v16", 0}, Case{Half, Next, 5},
        Case{Half, "v_exp_f32 v40, v8", 0},
        Case{Half, "global_store_b32 v1, v8, s[4:5]", 0},
        Case{Half,
             "v_wmma_f32_16x16x32_f16 v[8:15], v[40:47], v[48:55], v[8:15]", 0},
        Case{Integer, "v_mov_b32 v40, v8", 8}, Case{Integer, Next, 9},
        Case{Short, "v_mov_b32 v40, v8", 1}}) {
    std::string Text = C.First;
    for (unsigned K = 0; K < C.Needs; ++K) {
      EXPECT_SAYS(run(Text + C.Second), "a matrix instruction");
      Text += "v_nop\n";
    }
    EXPECT_CLEAN(run(Text + C.Second));
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, BesideHazard, ::testing::Values("gfx1250"),
                         [](const auto &Info) { return Info.param; });
INSTANTIATE_TEST_SUITE_P(Chips, CheckerHazard, ::testing::ValuesIn(HazardChips),
                         [](const auto &Info) { return Info.param; });
INSTANTIATE_TEST_SUITE_P(Chips, MatrixHazard,
                         ::testing::Values("gfx908", "gfx90a", "gfx942",
                                           "gfx950"),
                         [](const auto &Info) { return Info.param; });
INSTANTIATE_TEST_SUITE_P(Chips, WideWaveHazard, ::testing::Values("gfx1100"),
                         [](const auto &Info) { return Info.param; });
