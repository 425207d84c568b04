//===- DppSdwaTest.cpp - DPP and SDWA -------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lane permutations and sub-dword selection as parts of vector instructions.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

/// Runs "v_mov_b32_dpp v0, v1 MODIFIERS" with v1 = lane number and v0 = 1000 +
/// lane number, and compares with the source lane that Expected names; -1 is a
/// lane that keeps its value, -2 one that becomes 0.
static void checkDpp(const std::string &Chip, const std::string &Modifiers,
                     int (*Expected)(int Lane, int Lanes),
                     uint64_t Exec = ~0ull) {
  SCOPED_TRACE(Chip + " " + Modifiers);
  for (const ExecTable *Table : runnableExecTables()) {
    WaveTester T(Chip, 0, *Table);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(1)[L] = L;
      T.v(0)[L] = 1000 + L;
    }
    T.setExec(Exec);
    ASSERT_TRUE(T.run("v_mov_b32_dpp v0, v1 " + Modifiers)) << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L) {
      int From = Expected(int(L), int(T.lanes()));
      uint32_t Value = From == -1 ? 1000 + L : From == -2 ? 0 : uint32_t(From);
      EXPECT_EQ(T.v(0)[L], Value) << "lane " << L;
    }
  }
}

static const char *const All = " row_mask:0xf bank_mask:0xf";

TEST(Dpp, RowPermutations) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    checkDpp(Chip, std::string("quad_perm:[3,2,0,1]") + All, [](int L, int) {
      const int P[4] = {3, 2, 0, 1};
      return (L & ~3) + P[L & 3];
    });
    checkDpp(Chip, std::string("row_shl:3") + All,
             [](int L, int) { return (L & 15) + 3 < 16 ? L + 3 : -1; });
    checkDpp(Chip, std::string("row_shr:3") + All,
             [](int L, int) { return (L & 15) >= 3 ? L - 3 : -1; });
    checkDpp(Chip, std::string("row_shr:3") + All + " bound_ctrl:1",
             [](int L, int) { return (L & 15) >= 3 ? L - 3 : -2; });
    checkDpp(Chip, std::string("row_ror:5") + All,
             [](int L, int) { return (L & ~15) + ((L - 5) & 15); });
    checkDpp(Chip, std::string("row_mirror") + All,
             [](int L, int) { return (L & ~15) + 15 - (L & 15); });
    checkDpp(Chip, std::string("row_half_mirror") + All,
             [](int L, int) { return (L & ~7) + 7 - (L & 7); });
    // Row 1 and bank 2 only.
    checkDpp(Chip, "row_mirror row_mask:0x2 bank_mask:0x4", [](int L, int) {
      return L / 16 == 1 && L % 16 / 4 == 2 ? (L & ~15) + 15 - (L & 15) : -1;
    });
  }
}

TEST(Dpp, WavePermutationsOfGfx9) {
  for (const std::string &Chip : chipsIn(GFX9)) {
    checkDpp(Chip, std::string("wave_shl:1") + All,
             [](int L, int N) { return L + 1 < N ? L + 1 : -1; });
    checkDpp(Chip, std::string("wave_shr:1") + All,
             [](int L, int) { return L ? L - 1 : -1; });
    checkDpp(Chip, std::string("wave_rol:1") + All,
             [](int L, int N) { return (L + 1) % N; });
    checkDpp(Chip, std::string("wave_ror:1") + All,
             [](int L, int N) { return (L + N - 1) % N; });
    checkDpp(Chip, std::string("row_bcast:15") + All,
             [](int L, int) { return L < 16 ? -1 : (L & ~15) - 1; });
    checkDpp(Chip, "row_bcast:15 row_mask:0xa bank_mask:0xf",
             [](int L, int) { return L / 16 % 2 ? (L & ~15) - 1 : -1; });
    checkDpp(Chip, "row_bcast:31 row_mask:0xc bank_mask:0xf",
             [](int L, int) { return L < 32 ? -1 : 31; });
    checkDpp(Chip, std::string("row_newbcast:7") + All,
             [](int L, int) { return (L & ~15) + 7; });
  }
}

TEST(Dpp, PermutationsOfLaterChips) {
  for (const std::string &Chip : chipsIn(GFX11Plus)) {
    checkDpp(Chip, std::string("row_share:7") + All,
             [](int L, int) { return (L & ~15) + 7; });
    checkDpp(Chip, std::string("row_xmask:6") + All,
             [](int L, int) { return L ^ 6; });
    checkDpp(Chip, "dpp8:[7,6,5,4,0,1,2,3]", [](int L, int) {
      const int P[8] = {7, 6, 5, 4, 0, 1, 2, 3};
      return (L & ~7) + P[L & 7];
    });
  }
}

TEST(Dpp, InactiveSources) {
  // Lanes 4 to 7 are off: who would read them keeps its value, or gets 0 with
  // bound_ctrl; fi reads them all the same.
  const uint64_t Exec = ~0xf0ull;
  for (const std::string &Chip : chipsIn(AllChips)) {
    checkDpp(
        Chip, std::string("row_shl:4") + All,
        [](int L, int) {
          if (L >= 4 && L < 8)
            return -1;
          if ((L & 15) + 4 >= 16 || (L >= 0 && L < 4))
            return -1;
          return L + 4;
        },
        Exec);
    checkDpp(
        Chip, std::string("row_shl:4") + All + " bound_ctrl:1",
        [](int L, int) {
          if (L >= 4 && L < 8)
            return -1;
          if ((L & 15) + 4 >= 16 || (L >= 0 && L < 4))
            return -2;
          return L + 4;
        },
        Exec);
  }
  for (const std::string &Chip : chipsIn(GFX11Plus))
    checkDpp(
        Chip, std::string("row_shl:4") + All + " fi:1",
        [](int L, int) {
          if (L >= 4 && L < 8)
            return -1;
          return (L & 15) + 4 < 16 ? L + 4 : -1;
        },
        Exec);
}

// A whole-wave sum with the sequence that compilers emit for gfx9.
TEST(Dpp, WaveSum) {
  for (const std::string &Chip : chipsIn(GFX9)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < 64; ++L)
      T.v(1)[L] = f32(float(L));
    std::string Text;
    for (const char *Step :
         {"row_shr:1 bound_ctrl:1", "row_shr:2 bound_ctrl:1",
          "row_shr:4 bank_mask:0xe", "row_shr:8 bank_mask:0xc",
          "row_bcast:15 row_mask:0xa", "row_bcast:31 row_mask:0xc"})
      Text += std::string("v_add_f32_dpp v1, v1, v1 ") + Step + "\n";
    ASSERT_TRUE(T.run(Text + "v_readlane_b32 s0, v1, 63")) << T.error();
    EXPECT_EQ(T.s(0), f32(2016.0f));
  }
}

TEST(Dpp, SourceModifiers) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(1)[L] = f32(float(L));
      T.v(2)[L] = f32(100.0f);
    }
    ASSERT_TRUE(
        T.run(std::string("v_sub_f32_dpp v0, -v1, v2 row_mirror") + All))
        << T.error();
    EXPECT_EQ(T.v(0)[0], f32(-115.0f));
    EXPECT_EQ(T.v(0)[15], f32(-100.0f));
  }
}

TEST(Sdwa, Selection) {
  runLaneCases({
      {"v_add_u32_sdwa v0, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD "
       "src0_sel:BYTE_1 src1_sel:WORD_1",
       GFX90A | GFX942,
       {{0x11223344, 0x55667788, 0, 0x5599}}},
      {"v_mov_b32_sdwa v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
       "src0_sel:WORD_0",
       GFX90A | GFX942,
       {{0x11223344, 0, 0, 0x3344dddd}}},
      {"v_mov_b32_sdwa v0, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PAD "
       "src0_sel:BYTE_0",
       GFX90A | GFX942,
       {{0x11223344, 0, 0, 0x00440000}}},
      {"v_mov_b32_sdwa v0, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT "
       "src0_sel:BYTE_0",
       GFX90A | GFX942,
       {{0x112233c4, 0, 0, 0xffffc400}}},
      {"v_mov_b32_sdwa v0, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD "
       "src0_sel:WORD_0",
       GFX90A | GFX942,
       {{0x11228344, 0, 0, 0xffff8344}}},
      {"v_add_f16_sdwa v0, v2, v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD "
       "src0_sel:WORD_1 src1_sel:WORD_0",
       GFX90A | GFX942,
       {{0x3c000000, 0x4000, 0, 0x42000000}}},
      {"v_cvt_f32_f16_sdwa v0, v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
       "src0_sel:WORD_1",
       GFX90A | GFX942,
       {{0x3c000000, 0, 0, f32(1.0f)}}},
      {"v_cvt_f16_f32_sdwa v0, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
       "src0_sel:DWORD",
       GFX90A | GFX942,
       {{f32(1.0f), 0, 0, 0x3c00dddd}}},
      {"v_mul_f32_sdwa v0, -v2, |v4| dst_sel:DWORD dst_unused:UNUSED_PAD "
       "src0_sel:DWORD src1_sel:DWORD",
       GFX90A | GFX942,
       {{f32(2.0f), f32(-3.0f), 0, f32(-6.0f)}}},
  });
}

TEST(Sdwa, Compare) {
  WaveTester T("gfx90a");
  for (unsigned L = 0; L < 64; ++L) {
    T.v(2)[L] = L << 8;
    T.v(3)[L] = 5;
  }
  ASSERT_TRUE(
      T.run("v_cmp_eq_u32_sdwa vcc, v2, v3 src0_sel:BYTE_1 src1_sel:DWORD"))
      << T.error();
  EXPECT_EQ(T.vcc(), 1u << 5);
}
