//===- CheckerRegisterTest.cpp - Kernels that use what is undefined -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that read a register before it was written are caught, and their
// repaired twins run clean.
//
//===----------------------------------------------------------------------===//

#include "CheckerTester.h"

using namespace lnbwd::sim;

TEST_P(CheckerTest, VectorRegisterNeverWritten) {
  std::string Text = run("ADDV v2, v9, v0\nGSTORE1 v1, v2, s[4:5]");
  EXPECT_SAYS(Text, "the value stored is not defined: v2 depends on v9, which "
                    "was never written before it was read at k+0x");
  EXPECT_SAYS(run("GLOAD1 v2, v9, s[4:5]"),
              "the address is not defined: v9 was never written");
  // Moving it about does not matter.
  EXPECT_CLEAN(run("v_mov_b32 v2, v9\nADDV v3, v2, v0"));
}

TEST_P(CheckerTest, OnlyLanesThatMatter) {
  const char *Store = "v_mov_b32 v2, 1\nGSTORE1 v1, v2, s[4:5]\n";
  EXPECT_CLEAN(run(Store));
  std::string Half = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 1\n";
  EXPECT_CLEAN(run(Half + "GSTORE1 v1, v2, s[4:5]"));
  EXPECT_SAYS(run(Half + "SMOVMASK EXEC, 0x1ffff\nGSTORE1 v1, v2, s[4:5]"),
              "lane 16: the value stored is not defined: v2 was never written");
  // A select that does not choose it.
  EXPECT_CLEAN(run(Half + "SMOVMASK EXEC, 0x1ffff\nSMOVMASK VCC, 0xffff\n"
                          "v_cndmask_b32 v3, v0, v2, VCC\n"
                          "GSTORE1 v1, v3, s[4:5]"));
  EXPECT_SAYS(run(Half + "SMOVMASK EXEC, 0x1ffff\nSMOVMASK VCC, 0x1ffff\n"
                         "v_cndmask_b32 v3, v0, v2, VCC\n"
                         "GSTORE1 v1, v3, s[4:5]"),
              "lane 16: the value stored");
}

TEST_P(CheckerTest, LaneExchange) {
  // Lanes 0 to 15 of v2 exist; a mirror takes the rest from lanes that do not.
  std::string Half = "SMOVMASK EXEC, 0x5555\nv_mov_b32 v2, 1\n"
                     "SMOVMASK EXEC, 0xffff\n";
  EXPECT_SAYS(run(Half + "v_mov_b32_dpp v3, v2 row_mirror row_mask:0xf "
                         "bank_mask:0xf\nSMOVMASK EXEC, 0x5555\n"
                         "GSTORE1 v1, v3, s[4:5]"),
              "lane 0: the value stored is not defined: v3 depends on v2");
  EXPECT_CLEAN(run(Half + "v_mov_b32_dpp v3, v2 row_mirror row_mask:0xf "
                          "bank_mask:0xf\nSMOVMASK EXEC, 0xaaaa\n"
                          "GSTORE1 v1, v3, s[4:5]"));
  EXPECT_SAYS(run(Half + "v_readlane_b32 s8, v2, 1\nv_mov_b32 v3, s8\n"
                         "GSTORE1 v1, v3, s[4:5]"),
              "the value stored");
  EXPECT_CLEAN(run(Half + "v_readlane_b32 s8, v2, 2\nv_mov_b32 v3, s8\n"
                          "GSTORE1 v1, v3, s[4:5]"));
}

TEST_P(CheckerTest, LaneExchangeThroughLds) {
  // Lanes 0 to 15 of v2 exist: which lane of v4 does depends on the addresses.
  std::string Half = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 1\n"
                     "SMOVMASK EXEC, 0xffffffff\n";
  std::string Store = "\nWAITL\nGSTORE1 v1, v4, s[4:5]";
  auto From = [&](const char *Lane) {
    return Half + "v_mov_b32 v3, 4*" + Lane + "\n";
  };
  EXPECT_CLEAN(run(From("15") + "ds_bpermute_b32 v4, v3, v2" + Store));
  EXPECT_SAYS(run(From("16") + "ds_bpermute_b32 v4, v3, v2" + Store),
              "v4 depends on v2, which was never written before");
  EXPECT_SAYS(run(Half + "ds_permute_b32 v4, v1, v2" + Store),
              "lane 16: the value stored is not defined: v4 depends on v2");
  EXPECT_SAYS(run(Half + "v_mov_b32 v5, 1\nds_permute_b32 v4, v9, v5" + Store),
              "lane 0: the value stored is not defined: v4 depends on v9");
  EXPECT_CLEAN(run(Half + "ds_swizzle_b32 v4, v2 offset:0x0" + Store));
  EXPECT_SAYS(run(Half + "ds_swizzle_b32 v4, v2 offset:0x401f" + Store),
              "lane 0: the value stored is not defined: v4 depends on v2");
}

TEST_P(CheckerTest, Permlane) {
  if (isGfx9(Chip))
    GTEST_SKIP();
  std::string Half = "SMOVMASK EXEC, 0xffff\nv_mov_b32 v2, 1\n"
                     "SMOVMASK EXEC, 0xffffffff\n";
  std::string Store = "SMOVMASK EXEC, 0xffff\nGSTORE1 v1, v4, s[4:5]";
  EXPECT_CLEAN(run(Half + "v_permlane16_b32 v4, v2, 0, 0\n" + Store));
  EXPECT_SAYS(run(Half + "v_permlanex16_b32 v4, v2, 0, 0\n" + Store),
              "lane 0: the value stored is not defined: v4 depends on v2");
  EXPECT_SAYS(run(Half + "v_permlane16_b32 v4, v2, s9, s9\n" + Store),
              "v4 depends on s9");
}

TEST_P(CheckerTest, PermlaneSwap) {
  if (Chip != "gfx950")
    GTEST_SKIP();
  // After the exchange the lower half of v3 has the upper one of v2.
  std::string Half = "s_mov_b32 exec_lo, -1\ns_mov_b32 exec_hi, 0\n"
                     "v_mov_b32 v2, 1\ns_mov_b32 exec_hi, -1\n"
                     "v_mov_b32 v3, 1\nv_permlane32_swap_b32 v2, v3\n";
  EXPECT_CLEAN(run(Half + "GSTORE1 v1, v2, s[4:5]"));
  EXPECT_SAYS(run(Half + "GSTORE1 v1, v3, s[4:5]"),
              "lane 0: the value stored is not defined: v3 depends on v2");
  // Inactive pairs exchange nothing.
  Half.replace(Half.find("v_perm"), 0,
               "s_mov_b32 exec_lo, 1\ns_mov_b32 exec_hi, 1\ns_nop 3\n");
  EXPECT_CLEAN(run(Half + "s_mov_b64 exec, 2\nGSTORE1 v1, v3, s[4:5]"));
  EXPECT_SAYS(run(Half + "GSTORE1 v1, v3, s[4:5]"),
              "lane 0: the value stored is not defined: v3 depends on v2");
}

TEST_P(CheckerTest, MatrixElements) {
  // Lanes 0 to 15 of v2 hold the columns that lanes 0 to 15 of the result
  // belong to. Before gfx90a they would have to be accumulation registers.
  if (!isGfx9(Chip) || Chip == "gfx908")
    GTEST_SKIP();
  std::string Product =
      "s_mov_b64 exec, 0xffff\nv_mov_b32 v2, 1.0\ns_mov_b64 exec, -1\n"
      "v_mov_b32 v3, 1.0\nv_mfma_f32_4x4x1f32 v[12:15], v3, v2, 0\n"
      "s_nop 15\n";
  EXPECT_CLEAN(
      run(Product + "s_mov_b64 exec, 0xffff\nGSTORE1 v1, v12, s[4:5]"));
  EXPECT_SAYS(run(Product + "GSTORE1 v1, v15, s[4:5]"),
              "lane 16: the value stored is not defined: v15 depends on v2");
}

TEST_P(CheckerTest, ScalarRegisterNeverWritten) {
  EXPECT_SAYS(run("s_add_i32 s8, s9, 1\nv_mov_b32 v2, s8\n"
                  "GSTORE1 v1, v2, s[4:5]"),
              "v2 depends on s9, which was never written");
  EXPECT_SAYS(run("GLOAD1 v2, v1, s[8:9]"),
              "the address is not defined: s8 was never written");
  EXPECT_SAYS(run("SLOAD1 s12, s[8:9], 0x0"), "the address is not defined");
  EXPECT_SAYS(run("s_cmp_eq_u32 s9, 0\ns_cbranch_scc1 out\nout:"),
              "the branch's condition is not defined: scc depends on s9");
  EXPECT_SAYS(run("s_cbranch_scc0 out\nout:"),
              "the branch's condition is not defined: scc was never written");
  EXPECT_SAYS(run("s_cbranch_vccnz out\nout:"),
              "the branch's condition is not defined: vcc_lo was never");
  EXPECT_SAYS(run("SMOVMASK EXEC, VCC"), "the new EXEC is not defined");
  EXPECT_CLEAN(run("s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 out\nout:"));
}

// Of the registers that gfx12 keeps for traps, a wave finds its workgroup and
// its number in three, CDNA5's its cluster in another one, and nothing in the
// others.
TEST_P(CheckerTest, WhatWavesFindInTrapRegisters) {
  if (!isGfx12(Chip))
    GTEST_SKIP();
  auto Stores = [&](const std::string &How) {
    return run(How + "\nv_mov_b32 v2, s8\nGSTORE1 v1, v2, s[6:7]");
  };
  EXPECT_CLEAN(Stores("s_bfe_u32 s8, ttmp8, 0x50019"));
  EXPECT_CLEAN(Stores("s_mov_b32 s8, ttmp7"));
  EXPECT_CLEAN(Stores("s_mov_b32 s8, ttmp9"));
  EXPECT_SAYS(Stores("s_mov_b32 s8, ttmp8"), "v2 depends on ttmp8");
  EXPECT_SAYS(Stores("s_bfe_u32 s8, ttmp8, 0x60019"), "v2 depends on ttmp8");
  EXPECT_SAYS(Stores("s_mov_b32 s8, ttmp5"),
              "v2 depends on ttmp5, which was never written");
  if (chipNamed(Chip).isCdna5())
    EXPECT_CLEAN(Stores("s_mov_b32 s8, ttmp6"));
  else
    EXPECT_SAYS(Stores("s_mov_b32 s8, ttmp6"), "v2 depends on ttmp6");
}

// Which scalar instructions set SCC is AMD's to say (the ISA documents); those
// that do not leave a branch on it undefined.
TEST_P(CheckerTest, ScalarInstructionsAndScc) {
  const std::string Branch = "\ns_cbranch_scc1 out\nout:";
  std::vector<std::string> Setting = {"s_add_u32 s8, s4, s5",
                                      "s_sub_i32 s8, s4, s5",
                                      "s_min_i32 s8, s4, s5",
                                      "s_max_u32 s8, s4, s5",
                                      "s_and_b32 s8, s4, s5",
                                      "s_xnor_b64 s[8:9], s[4:5], s[6:7]",
                                      "s_lshl_b32 s8, s4, 1",
                                      "s_ashr_i64 s[8:9], s[4:5], 1",
                                      "s_bfe_u32 s8, s4, 0x10000",
                                      "s_abs_i32 s8, s4",
                                      "s_absdiff_i32 s8, s4, s5",
                                      "s_not_b64 s[8:9], s[4:5]",
                                      "s_bcnt1_i32_b64 s8, s[4:5]",
                                      "s_wqm_b32 s8, s4",
                                      "s_quadmask_b32 s8, s4",
                                      "s_lshl1_add_u32 s8, s4, s5",
                                      "s_cmp_lg_u64 s[4:5], 0",
                                      "s_bitcmp0_b32 s4, 1",
                                      "s_mov_b32 s8, s4\ns_addk_i32 s8, 0x10"};
  std::vector<std::string> Leaving = {"s_mov_b32 s8, s4",
                                      "s_movk_i32 s8, 0x10",
                                      "s_mul_i32 s8, s4, s5",
                                      "s_mul_hi_u32 s8, s4, s5",
                                      "s_bfm_b32 s8, s4, s5",
                                      "s_brev_b64 s[8:9], s[4:5]",
                                      "s_sext_i32_i8 s8, s4",
                                      "s_pack_ll_b32_b16 s8, s4, s5",
                                      "s_getpc_b64 s[8:9]",
                                      "s_mov_b32 s8, s4\ns_mulk_i32 s8, 0x10",
                                      "s_mov_b32 s8, s4\ns_bitset1_b32 s8, 3"};
  if (isGfx12(Chip)) {
    for (const char *Text :
         {"s_cmp_lt_f32 s4, s5", "s_cmp_neq_f16 s4, s5",
          "s_sub_co_u32 s8, s4, s5", "s_add_co_i32 s8, s4, s5"})
      Setting.push_back(Text);
    for (const char *Text :
         {"s_add_f32 s8, s4, s5", "s_sub_f32 s8, s4, s5",
          "s_mul_f32 s8, s4, s5", "s_min_num_f32 s8, s4, s5",
          "s_maximum_f32 s8, s4, s5", "s_fmaak_f32 s8, s4, s5, 0x40000000",
          "s_ceil_f32 s8, s4", "s_cvt_f32_u32 s8, s4", "s_add_f16 s8, s4, s5",
          "s_sub_f16 s8, s4, s5", "s_cvt_pk_rtz_f16_f32 s8, s4, s5",
          "v_s_rcp_f32 s8, s4", "s_add_nc_u64 s[8:9], s[4:5], s[6:7]",
          "s_sub_nc_u64 s[8:9], s[4:5], s[6:7]",
          "s_mul_u64 s[8:9], s[4:5], s[6:7]"})
      Leaving.push_back(Text);
  }
  for (const std::string &Text : Setting) {
    SCOPED_TRACE(Text);
    EXPECT_CLEAN(run(Text + Branch));
  }
  for (const std::string &Text : Leaving) {
    SCOPED_TRACE(Text);
    EXPECT_SAYS(run(Text + Branch),
                "the branch's condition is not defined: scc was never written");
    // What SCC was before is still there.
    EXPECT_CLEAN(run("s_cmp_eq_u32 s3, 0\n" + Text + Branch));
  }
}

TEST_P(CheckerTest, ScalarInstructionsThatReadMore) {
  const std::string Store = "\nv_mov_b32 v2, s8\nGSTORE1 v1, v2, s[4:5]";
  // SCC.
  for (const char *Text : {"s_addc_u32 s8, s4, s5", "s_subb_u32 s8, s4, s5",
                           "s_cselect_b32 s8, s4, s5"}) {
    SCOPED_TRACE(Text);
    EXPECT_SAYS(run(Text + Store), "v2 depends on scc, which was never");
    EXPECT_CLEAN(run("s_cmp_eq_u32 s3, 0\n" + std::string(Text) + Store));
  }
  // The result's register.
  std::vector<std::string> Keeping = {
      "s_addk_i32 s8, 0x10", "s_mulk_i32 s8, 0x10", "s_bitset0_b32 s8, 3"};
  if (isGfx12(Chip)) {
    Keeping.push_back("s_fmac_f32 s8, s3, s3");
    Keeping.push_back("s_fmac_f16 s8, s3, s3");
  }
  for (const std::string &Text : Keeping) {
    SCOPED_TRACE(Text);
    EXPECT_SAYS(run(Text + Store), "v2 depends on s8, which was never");
    EXPECT_CLEAN(run("s_mov_b32 s8, 1\n" + Text + Store));
  }
}

TEST_P(CheckerTest, ScalarRegistersByIndex) {
  const std::string Store = "\nv_mov_b32 v2, s8\nGSTORE1 v1, v2, s[4:5]";
  EXPECT_SAYS(run("s_movrels_b32 s8, s4" + Store),
              "the register's number is not defined: m0 was never written");
  EXPECT_SAYS(run("s_mov_b32 m0, s20\ns_movreld_b32 s8, s4"),
              "the register's number is not defined: m0 depends on s20");
  // s10 is not there, but s12 is.
  EXPECT_CLEAN(run("s_mov_b32 m0, 2\ns_mov_b32 s12, 1\n"
                   "s_movrels_b32 s8, s10" +
                   Store));
  EXPECT_SAYS(run("s_mov_b32 m0, 2\ns_mov_b32 s10, 1\n"
                  "s_movrels_b32 s8, s10" +
                  Store),
              "v2 depends on s12, which was never written");
  // s8 is two after s6.
  EXPECT_CLEAN(run("s_mov_b32 m0, 2\ns_movreld_b32 s6, s4" + Store));
  EXPECT_SAYS(run("s_mov_b32 m0, 4\ns_movreld_b64 s[8:9], s[4:5]" + Store),
              "v2 depends on s8, which was never written");
}
