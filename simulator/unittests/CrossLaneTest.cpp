//===- CrossLaneTest.cpp - Data between lanes -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Single lanes, lane counting, permutes.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

#include <algorithm>

using namespace lnbwd::sim;

TEST(CrossLane, ReadAndWriteLane) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(1)[L] = 100 + L;
    T.setExec(0xfff0);
    T.s(5) = 9;
    T.s(6) = 77;
    ASSERT_TRUE(T.run("v_readfirstlane_b32 s0, v1\n"
                      "v_readlane_b32 s1, v1, 2\n"
                      "v_readlane_b32 s2, v1, s5\n"
                      "v_writelane_b32 v1, s6, 1\n"
                      "v_writelane_b32 v1, 5, s5"))
        << T.error();
    EXPECT_EQ(T.s(0), 104u);
    EXPECT_EQ(T.s(1), 102u); // EXEC does not matter
    EXPECT_EQ(T.s(2), 109u);
    EXPECT_EQ(T.v(1)[1], 77u);
    EXPECT_EQ(T.v(1)[9], 5u);
    // With no active lane the first one is read.
    T.setExec(0);
    ASSERT_TRUE(T.run("v_readfirstlane_b32 s0, v1")) << T.error();
    EXPECT_EQ(T.s(0), 100u);
  }
}

TEST(CrossLane, LaneNumber) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setS64(4, 0xaaaaaaaa00000000ull | 0x55555555);
    ASSERT_TRUE(T.run("v_mbcnt_lo_u32_b32 v0, -1, 0\n"
                      "v_mbcnt_hi_u32_b32 v0, -1, v0\n"
                      "v_mbcnt_lo_u32_b32 v1, s4, 10"))
        << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L) {
      EXPECT_EQ(T.v(0)[L], L);
      EXPECT_EQ(T.v(1)[L], 10 + (std::min(L, 32u) + 1) / 2);
    }
  }
}

TEST(CrossLane, DsPermutes) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    const unsigned N = T.lanes();
    for (unsigned L = 0; L < N; ++L) {
      T.v(1)[L] = ((L + 3) % N) * 4;
      T.v(2)[L] = 100 + L;
    }
    ASSERT_TRUE(T.run("ds_bpermute_b32 v0, v1, v2\n"
                      "ds_permute_b32 v3, v1, v2\n"
                      "ds_bpermute_b32 v4, v1, v2 offset:4"))
        << T.error();
    for (unsigned L = 0; L < N; ++L) {
      EXPECT_EQ(T.v(0)[L], 100 + (L + 3) % N);
      EXPECT_EQ(T.v(3)[(L + 3) % N], 100 + L);
      EXPECT_EQ(T.v(4)[L], 100 + (L + 4) % N);
    }
    EXPECT_EQ(T.counters().LdsBytes, 0u);
    // An inactive source gives 0.
    T.setExec(~8ull);
    ASSERT_TRUE(T.run("ds_bpermute_b32 v0, v1, v2")) << T.error();
    EXPECT_EQ(T.v(0)[0], 0u);
    EXPECT_EQ(T.v(0)[1], 104u);
  }
}

TEST(CrossLane, DsSwizzle) {
  struct Case {
    const char *Offset;
    unsigned (*From)(unsigned);
  };
  const Case Cases[] = {
      {"swizzle(QUAD_PERM, 3, 1, 0, 2)",
       [](unsigned L) {
         const unsigned P[4] = {3, 1, 0, 2};
         return (L & ~3u) + P[L & 3];
       }},
      {"swizzle(SWAP, 16)", [](unsigned L) { return L ^ 16; }},
      {"swizzle(SWAP, 1)", [](unsigned L) { return L ^ 1; }},
      {"swizzle(REVERSE, 8)", [](unsigned L) { return L ^ 7; }},
      {"swizzle(BROADCAST, 4, 2)", [](unsigned L) { return (L & ~3u) + 2; }},
      // From the highest bit: 0, 1, kept, inverted, kept.
      {"swizzle(BITMASK_PERM, \"01pip\")",
       [](unsigned L) { return (L & 32) | 8 | (L & 5) | (~L & 2); }},
  };
  for (const std::string &Chip : chipsIn(AllChips))
    for (const Case &C : Cases) {
      SCOPED_TRACE(Chip + " " + C.Offset);
      WaveTester T(Chip);
      for (unsigned L = 0; L < T.lanes(); ++L)
        T.v(1)[L] = L;
      ASSERT_TRUE(
          T.run(std::string("ds_swizzle_b32 v0, v1 offset:") + C.Offset))
          << T.error();
      for (unsigned L = 0; L < T.lanes(); ++L)
        EXPECT_EQ(T.v(0)[L], C.From(L)) << L;
    }
}

TEST(CrossLane, Permlane16) {
  for (const std::string &Chip : chipsIn(GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < 32; ++L) {
      T.v(1)[L] = L;
      T.v(4)[L] = 15 - L % 16;
    }
    T.s(4) = 0x76543210;
    T.s(5) = 0xfedcba98;
    T.s(6) = 0x89abcdef; // reversed
    T.s(7) = 0x01234567;
    ASSERT_TRUE(T.run("v_permlanex16_b32 v0, v1, s4, s5\n"
                      "v_permlane16_b32 v2, v1, s6, s7"))
        << T.error();
    for (unsigned L = 0; L < 32; ++L) {
      EXPECT_EQ(T.v(0)[L], L ^ 16);
      EXPECT_EQ(T.v(2)[L], L ^ 15);
    }
    // Bound control gives 0 for inactive sources, without it they keep.
    T.setExec(0xffff);
    ASSERT_TRUE(T.run("v_mov_b32 v0, 7\n"
                      "v_permlanex16_b32 v0, v1, s4, s5\n"
                      "v_permlanex16_b32 v2, v1, s4, s5 op_sel:[0,1]\n"
                      "v_permlanex16_b32 v3, v1, s4, s5 op_sel:[1,0]"))
        << T.error();
    EXPECT_EQ(T.v(0)[0], 7u);
    EXPECT_EQ(T.v(2)[0], 0u);
    EXPECT_EQ(T.v(3)[0], 16u);
    if (isGfx12(Chip)) {
      T.setExec(~0ull);
      ASSERT_TRUE(T.run("v_permlane16_var_b32 v0, v1, v4\n"
                        "v_permlanex16_var_b32 v2, v1, v4"))
          << T.error();
      for (unsigned L = 0; L < 32; ++L) {
        EXPECT_EQ(T.v(0)[L], L ^ 15);
        EXPECT_EQ(T.v(2)[L], L ^ 31);
      }
    }
  }
}

TEST(CrossLane, Permlane64) {
  WaveTester T("gfx1100", 64);
  for (unsigned L = 0; L < 64; ++L)
    T.v(1)[L] = L;
  ASSERT_TRUE(T.run("v_permlane64_b32 v0, v1")) << T.error();
  for (unsigned L = 0; L < 64; ++L)
    EXPECT_EQ(T.v(0)[L], L ^ 32);
}

TEST(CrossLane, PermlaneSwap) {
  WaveTester T("gfx950");
  for (unsigned L = 0; L < 64; ++L) {
    T.v(0)[L] = T.v(2)[L] = L;
    T.v(1)[L] = T.v(3)[L] = 100 + L;
  }
  ASSERT_TRUE(T.run("v_permlane32_swap_b32 v0, v1\n"
                    "v_permlane16_swap_b32 v2, v3"))
      << T.error();
  for (unsigned L = 0; L < 64; ++L) {
    EXPECT_EQ(T.v(0)[L], L < 32 ? L : 100 + L - 32);
    EXPECT_EQ(T.v(1)[L], L < 32 ? L + 32 : 100 + L);
    EXPECT_EQ(T.v(2)[L], L & 16 ? 100 + L - 16 : L);
    EXPECT_EQ(T.v(3)[L], L & 16 ? 100 + L : L + 16);
  }
  // Pairs are active or not; of others nothing is known.
  T.setExec(1 | 1ull << 32);
  ASSERT_TRUE(T.run("v_permlane32_swap_b32 v0, v1")) << T.error();
  EXPECT_EQ(T.v(0)[32], 32u);
  EXPECT_EQ(T.v(1)[0], 100u);
  EXPECT_EQ(T.v(0)[33], 101u);
  EXPECT_EQ(T.v(1)[1], 33u);
  EXPECT_FALSE(T.run("v_permlane16_swap_b32 v0, v1"));
  EXPECT_NE(T.error().find("inactive partner"), std::string::npos);
}

TEST(CrossLane, Swap) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    WaveTester T(Chip);
    T.v(0)[1] = 5;
    T.v(1)[1] = 6;
    ASSERT_TRUE(T.run("v_swap_b32 v0, v1")) << T.error();
    EXPECT_EQ(T.v(0)[1], 6u);
    EXPECT_EQ(T.v(1)[1], 5u);
  }
  for (const std::string &Chip : chipsIn(GFX11Plus)) {
    WaveTester T(Chip);
    T.v(0)[1] = 0x00050006;
    T.v(1)[1] = 0x00070008;
    ASSERT_TRUE(T.run("v_swap_b16 v0.h, v1.l")) << T.error();
    EXPECT_EQ(T.v(0)[1], 0x00080006u);
    EXPECT_EQ(T.v(1)[1], 0x00070005u);
  }
}

TEST(CrossLane, RelativeMoves) {
  for (const std::string &Chip : chipsIn(GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned R = 0; R < 8; ++R) {
      T.v(R)[3] = 10 + R;
      T.s(20 + R) = 50 + R;
    }
    ASSERT_TRUE(T.run("s_mov_b32 m0, 4\nv_movrels_b32 v10, v1\n"
                      "v_movreld_b32 v11, v2\ns_movrels_b32 s40, s21\n"
                      "s_movreld_b32 s41, s20"))
        << T.error();
    EXPECT_EQ(T.v(10)[3], 15u);
    EXPECT_EQ(T.v(15)[3], 12u);
    EXPECT_EQ(T.s(40), 55u);
    EXPECT_EQ(T.s(45), 50u);
    EXPECT_FALSE(T.run("s_movk_i32 m0, 0x1000\nv_movrels_b32 v10, v1"));
    EXPECT_NE(T.error().find("does not exist"), std::string::npos);
  }
  for (const std::string &Chip : chipsIn(GFX9)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned R = 0; R < 8; ++R)
      T.v(R)[3] = 10 + R;
    T.s(5) = 4;
    ASSERT_TRUE(T.run("s_set_gpr_idx_on s5, gpr_idx(SRC0)\n"
                      "v_mov_b32 v10, v1\ns_set_gpr_idx_off\n"
                      "s_set_gpr_idx_on s5, gpr_idx(DST)\n"
                      "v_mov_b32 v11, v2\ns_set_gpr_idx_off\n"
                      "v_mov_b32 v12, v3"))
        << T.error();
    EXPECT_EQ(T.v(10)[3], 15u);
    EXPECT_EQ(T.v(15)[3], 12u);
    EXPECT_EQ(T.v(12)[3], 13u);
  }
}
