//===- ControlTest.cpp - Control flow -------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branches, calls, loops, and what stops a wave.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

TEST(Control, Branches) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    // Sums 1 to 10.
    std::string Add = isGfx12(Chip) ? "s_add_co_u32" : "s_add_u32";
    ASSERT_TRUE(T.run("s_mov_b32 s0, 0\ns_mov_b32 s1, 10\nloop:\n" + Add +
                      " s0, s0, s1\n" + Add + " s1, s1, -1\n" +
                      "s_cmp_lg_u32 s1, 0\ns_cbranch_scc1 loop\n" +
                      "s_branch over\ns_mov_b32 s0, 0\nover:"))
        << T.error();
    EXPECT_EQ(T.s(0), 55u);
    // A taken branch skips the move.
    auto Taken = [&](const std::string &Setup, const char *Branch) {
      T.s(5) = 0;
      T.setExec(~0ull);
      EXPECT_TRUE(T.run(Setup + "\n" + Branch + " end\ns_mov_b32 s5, 1\nend:"))
          << T.error();
      return T.s(5) == 0;
    };
    bool Wide = T.lanes() == 64;
    auto Move = [&](const char *Name, const char *Value) {
      return Wide ? std::string("s_mov_b64 ") + Name + ", " + Value
                  : std::string("s_mov_b32 ") + Name + "_lo, " + Value;
    };
    EXPECT_TRUE(Taken("s_cmp_eq_u32 0, 1", "s_cbranch_scc0"));
    EXPECT_FALSE(Taken("s_cmp_eq_u32 0, 0", "s_cbranch_scc0"));
    EXPECT_TRUE(Taken(Move("vcc", "0"), "s_cbranch_vccz"));
    EXPECT_FALSE(Taken(Move("vcc", "4"), "s_cbranch_vccz"));
    EXPECT_TRUE(Taken(Move("vcc", "4"), "s_cbranch_vccnz"));
    EXPECT_TRUE(Taken(Move("exec", "0"), "s_cbranch_execz"));
    EXPECT_FALSE(Taken(Move("exec", "0"), "s_cbranch_execnz"));
  }
}

TEST(Control, CallsAndAddresses) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    std::string Add = isGfx12(Chip) ? "s_add_co_u32" : "s_add_u32";
    std::string Addc = isGfx12(Chip) ? "s_add_co_ci_u32" : "s_addc_u32";
    ASSERT_TRUE(T.run("s_mov_b32 s0, 0\n"
                      "s_getpc_b64 s[4:5]\n"
                      "base:\n" +
                      Add + " s4, s4, function-base\n" + Addc + " s5, s5, 0\n" +
                      "s_swappc_b64 s[30:31], s[4:5]\n"
                      "s_swappc_b64 s[30:31], s[4:5]\n"
                      "s_branch end\n"
                      "function:\n" +
                      Add +
                      " s0, s0, 7\n"
                      "s_setpc_b64 s[30:31]\n"
                      "end:"))
        << T.error();
    EXPECT_EQ(T.s(0), 14u);
    ASSERT_TRUE(T.run("s_mov_b32 s0, 0\ns_call_b64 s[30:31], function\n"
                      "s_branch end\nfunction:\n" +
                      Add + " s0, s0, 7\ns_setpc_b64 s[30:31]\nend:"))
        << T.error();
    EXPECT_EQ(T.s(0), 7u);
    EXPECT_FALSE(T.run("s_mov_b64 s[4:5], 64\ns_setpc_b64 s[4:5]"));
    EXPECT_NE(T.error().find("does not lead to an instruction"),
              std::string::npos);
  }
}

TEST(Control, DivergentLoop) {
  // Each lane counts its number down; lanes leave one after the other.
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    bool Wide = T.lanes() == 64;
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(1)[L] = L;
    std::string Add = Chip[3] == '9' ? "v_add_u32" : "v_add_nc_u32";
    std::string S = Wide ? "s[4:5]" : "s4", E = Wide ? "exec" : "exec_lo",
                V = Wide ? "vcc" : "vcc_lo", B = Wide ? "b64" : "b32";
    std::string AndNot = Chip[3] == '9' ? "s_andn2_" : "s_and_not1_";
    ASSERT_TRUE(T.run("s_mov_" + B + " " + S + ", " + E + "\n" +
                      "v_mov_b32 v0, 0\nloop:\nv_cmp_eq_u32 " + V +
                      ", 0, v1\n" + AndNot + B + " " + E + ", " + E + ", " + V +
                      "\ns_cbranch_execz done\n" + Add + " v0, 3, v0\n" + Add +
                      " v1, -1, v1\ns_branch loop\ndone:\ns_mov_" + B + " " +
                      E + ", " + S))
        << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L)
      EXPECT_EQ(T.v(0)[L], 3 * L);
    EXPECT_EQ(T.exec(), T.wave().FullMask);
  }
}

TEST(Control, HarmlessInstructions) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    std::string Text = "s_nop 3\ns_sleep 1\ns_setprio 1\nv_nop\n";
    if (Chip[3] == '9')
      Text += "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_dcache_inv\ns_icache_inv\n";
    if (Chip == "gfx90a")
      Text += "buffer_wbl2\nbuffer_invl2\nbuffer_wbinvl1_vol\n";
    if (Chip == "gfx942" || Chip == "gfx950")
      Text += "buffer_wbl2 sc1\nbuffer_inv sc1\n";
    if (Chip == "gfx1100")
      Text += "s_waitcnt vmcnt(0)\ns_waitcnt_vscnt null, 0x0\n"
              "s_delay_alu instid0(VALU_DEP_1)\ns_clause 0x1\n"
              "buffer_gl0_inv\nbuffer_gl1_inv\ns_waitcnt_depctr 0xfffe\n"
              "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n";
    if (isGfx12(Chip))
      Text += "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0\ns_wait_dscnt 0x0\n"
              "s_wait_kmcnt 0x0\ns_wait_alu 0xfffe\nglobal_inv scope:SCOPE_SE\n"
              "global_wb scope:SCOPE_SYS\ns_delay_alu instid0(VALU_DEP_1)\n";
    EXPECT_TRUE(T.run(Text)) << T.error();
  }
}

TEST(Control, UnknownInstructionsStop) {
  struct Case {
    const char *Chip, *Text;
  };
  // What images are made of is not implemented.
  for (const Case &C :
       {Case{"gfx90a", "image_load v[0:3], v4, s[8:15] dmask:0xf unorm"},
        Case{"gfx950", "v_mfma_ld_scale_b32 v0, v1"},
        Case{"gfx1100", "image_load v[0:3], v4, s[8:15] dmask:0xf "
                        "dim:SQ_RSRC_IMG_1D"},
        Case{"gfx1201", "image_load v[0:3], v4, s[8:15] dmask:0xf "
                        "dim:SQ_RSRC_IMG_1D"}}) {
    WaveTester T(C.Chip);
    EXPECT_FALSE(T.run(C.Text));
    EXPECT_NE(T.error().find(C.Chip), std::string::npos) << T.error();
    EXPECT_NE(T.error().find("not implemented"), std::string::npos);
    EXPECT_NE(T.error().find(std::string(C.Text).substr(0, 12)),
              std::string::npos);
  }
  // As long as they are not reached, they do no harm.
  WaveTester T("gfx942");
  EXPECT_TRUE(T.run("s_branch end\nv_cubeid_f32 v0, v1, v2, v3\nend:"))
      << T.error();
}

TEST(Control, WhatStopsAWave) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    EXPECT_FALSE(T.run("s_trap 2"));
    EXPECT_NE(T.error().find("s_trap 2"), std::string::npos) << T.error();
    EXPECT_FALSE(T.run(".long 0xffffffff"));
    EXPECT_NE(T.error().find("not a valid instruction"), std::string::npos)
        << T.error();
    EXPECT_FALSE(T.run("s_getreg_b32 s0, hwreg(HW_REG_STATUS)")) << T.error();
  }
}

TEST(Control, Counters) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setExec(0xff);
    std::string SaveExec =
        T.lanes() == 64 ? "s_mov_b64 exec, 3" : "s_mov_b32 exec_lo, 3";
    ASSERT_TRUE(T.run("v_mov_b32 v0, 1\nv_mov_b32 v1, 2\n" + SaveExec +
                      "\nv_mov_b32 v2, 3\ns_nop 0\n"))
        << T.error();
    const WaveCounters &C = T.counters();
    EXPECT_EQ(C.Issued[unsigned(InstClass::Vector)], 3u);
    EXPECT_EQ(C.Lanes[unsigned(InstClass::Vector)], 8u + 8 + 2);
    EXPECT_EQ(C.Issued[unsigned(InstClass::Scalar)], 3u); // with s_endpgm
  }
}

TEST(Control, PlaceOfAWave) {
  struct Case {
    const char *Chip;
    unsigned Die, Unit;
  };
  // Workgroup 11 of an idle chip.
  for (const Case &C : {Case{"gfx908", 0, 11}, Case{"gfx90a", 0, 11},
                        Case{"gfx942", 3, 1}, Case{"gfx950", 3, 1}}) {
    WaveTester T(C.Chip);
    T.wave().WG->Id[0] = 11;
    T.wave().Index = 6;
    ASSERT_TRUE(T.run("s_getreg_b32 s0, hwreg(HW_REG_HW_ID)\n"
                      "s_getreg_b32 s1, hwreg(HW_REG_HW_ID, 8, 4)"))
        << T.error();
    EXPECT_EQ(T.s(0) & 0xf, 1u) << C.Chip; // the second wave of its SIMD
    EXPECT_EQ(T.s(0) >> 4 & 3, 2u);
    EXPECT_EQ(T.s(1), C.Unit);
    if (chipNamed(C.Chip).MatrixGeneration < 3)
      continue;
    ASSERT_TRUE(T.run("s_getreg_b32 s2, hwreg(HW_REG_XCC_ID)")) << T.error();
    EXPECT_EQ(T.s(2), C.Die);
  }
  for (const char *Chip : {"gfx1030", "gfx1100", "gfx1201"}) {
    WaveTester T(Chip);
    T.wave().WG->Id[0] = 21;
    ASSERT_TRUE(T.run("s_getreg_b32 s0, hwreg(HW_REG_HW_ID1)\n"
                      "s_getreg_b32 s1, hwreg(HW_REG_HW_ID2)"))
        << T.error();
    EXPECT_EQ(T.s(0) >> 10 & 15, 2u) << Chip; // a pair of units
    EXPECT_EQ(T.s(0) >> 18 & 7, 1u);
    EXPECT_EQ(T.s(1), 0u);
  }
}

TEST(Control, AnsweredMessages) {
  for (const char *Chip : {"gfx1100", "gfx1201"}) {
    WaveTester T(Chip);
    const std::string Wait =
        isGfx12(Chip) ? "s_wait_kmcnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
    const std::string Ask =
        "s_sendmsg_rtn_b64 s[0:1], sendmsg(MSG_RTN_GET_REALTIME)\n" + Wait;
    ASSERT_TRUE(T.run(Ask)) << T.error();
    const uint64_t Before = T.s64(0);
    ASSERT_TRUE(T.run(Ask)) << T.error();
    EXPECT_GE(T.s64(0), Before);
    EXPECT_FALSE(T.run("s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_TMA)"));
    EXPECT_NE(T.error().find("message 0x82"), std::string::npos) << T.error();
  }
}

TEST(Control, StateOfTheBarrier) {
  WaveTester T("gfx1201");
  T.wave().WG->Alive = 5;
  T.wave().WG->Signalled = 3;
  ASSERT_TRUE(T.run("s_get_barrier_state s0, -1\ns_wait_kmcnt 0x0"))
      << T.error();
  EXPECT_EQ(T.s(0), 1u | 5u << 4 | 3u << 16);
  EXPECT_FALSE(T.run("s_get_barrier_state s0, 1"));
}

TEST(Control, SetKill) {
  for (const char *Chip : {"gfx1100", "gfx1201"}) {
    WaveTester T(Chip);
    T.s(0) = 0;
    ASSERT_TRUE(T.run("s_setkill 0\ns_mov_b32 s0, 1\ns_setkill 1\n"
                      "s_mov_b32 s0, 2"))
        << T.error();
    EXPECT_EQ(T.s(0), 1u);
  }
}
