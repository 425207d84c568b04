//===- VectorIntegerTest.cpp - Integer vector instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values follow from the operations' definitions in AMD's ISA documents.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

TEST(VectorInteger, Logic) {
  runLaneCases({
      {"v_mov_b32 v0, v2", AllChips, {{0x12345678, 0, 0, 0x12345678}}},
      {"v_mov_b32 v0, 0xdeadbeef", AllChips, {{0, 0, 0, 0xdeadbeef}}},
      {"v_mov_b32 v0, -16", AllChips, {{0, 0, 0, 0xfffffff0}}},
      {"v_mov_b32 v0, 1.0", AllChips, {{0, 0, 0, 0x3f800000}}},
      {"v_mov_b32 v0, 0.15915494", AllChips, {{0, 0, 0, 0x3e22f983}}},
      {"v_not_b32 v0, v2", AllChips, {{0x0f0f0f0f, 0, 0, 0xf0f0f0f0}}},
      {"v_and_b32 v0, v2, v4",
       AllChips,
       {{0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00}}},
      {"v_or_b32 v0, v2, v4",
       AllChips,
       {{0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0}}},
      {"v_xor_b32 v0, v2, v4",
       AllChips,
       {{0xff00ff00, 0x0ff00ff0, 0, 0xf0f0f0f0}}},
      {"v_xnor_b32 v0, v2, v4",
       AllChips,
       {{0xff00ff00, 0x0ff00ff0, 0, 0x0f0f0f0f}}},
      {"v_or3_b32 v0, v2, v4, v6", AllChips, {{1, 2, 0x80000000, 0x80000003}}},
      {"v_xor3_b32 v0, v2, v4, v6", GFX11Plus, {{3, 5, 15, 9}}},
      {"v_and_or_b32 v0, v2, v4, v6", AllChips, {{0xff, 0x3c, 0x100, 0x13c}}},
      {"v_lshl_or_b32 v0, v2, v4, v6", AllChips, {{3, 33, 1, 7}}},
      {"v_bfi_b32 v0, v2, v4, v6",
       AllChips,
       {{0xffff0000, 0x12345678, 0x9abcdef0, 0x1234def0}}},
      {"v_bfm_b32 v0, v2, v4",
       AllChips,
       {{8, 4, 0, 0xff0}, {0, 3, 0, 0}, {33, 0, 0, 1}}},
      {"v_bfrev_b32 v0, v2",
       AllChips,
       {{1, 0, 0, 0x80000000}, {0x12345678, 0, 0, 0x1e6a2c48}}},
      {"v_perm_b32 v0, v2, v4, v6",
       AllChips,
       {{0x11223344, 0x55667788, 0x07060504, 0x11223344},
        {0x11223344, 0x55667788, 0x03020100, 0x55667788},
        {0x11223344, 0x55667788, 0x00040c0d, 0x884400ff},
        // Selectors 8 to 11 spread the sign of the halves from low to high.
        {0x80000000, 0x00008000, 0x0b0a0908, 0xff0000ff}}},
      {"v_alignbit_b32 v0, v2, v4, v6",
       AllChips,
       {{0x00000001, 0x80000000, 31, 3}, {5, 6, 32, 6}}},
      {"v_alignbyte_b32 v0, v2, v4, v6",
       AllChips,
       {{0x44332211, 0x88776655, 1, 0x11887766}}},
      {"v_bcnt_u32_b32 v0, v2, v4",
       AllChips,
       {{0xffffffff, 10, 0, 42}, {0x10101, 0, 0, 3}}},
      {"v_ffbh_u32 v0, v2",
       GFX9,
       {{1, 0, 0, 31}, {0x80000000, 0, 0, 0}, {0, 0, 0, 0xffffffff}}},
      {"v_clz_i32_u32 v0, v2",
       GFX11Plus,
       {{1, 0, 0, 31}, {0, 0, 0, 0xffffffff}}},
      {"v_ffbl_b32 v0, v2",
       GFX9,
       {{0x80000000, 0, 0, 31}, {12, 0, 0, 2}, {0, 0, 0, 0xffffffff}}},
      {"v_ctz_i32_b32 v0, v2", GFX11Plus, {{12, 0, 0, 2}}},
      {"v_ffbh_i32 v0, v2",
       GFX9,
       {{0xfffffffe, 0, 0, 31},
        {1, 0, 0, 31},
        {0xffffffff, 0, 0, 0xffffffff},
        {0xc0000000, 0, 0, 2}}},
      {"v_cls_i32 v0, v2",
       GFX11Plus,
       {{0xc0000000, 0, 0, 2}, {0, 0, 0, 0xffffffff}}},
      {"v_bitop3_b32 v0, v2, v4, v6 bitop3:0x96", GFX950, {{3, 5, 15, 9}}},
      {"v_bitop3_b32 v0, v2, v4, v6 bitop3:0xca",
       GFX950,
       {{0xffff0000, 0x12345678, 0x9abcdef0, 0x1234def0}}},
  });
}

TEST(VectorInteger, Shifts) {
  runLaneCases({
      {"v_lshlrev_b32 v0, v2, v4",
       AllChips,
       {{4, 0x1234, 0, 0x12340}, {36, 0x1234, 0, 0x12340}}},
      {"v_lshrrev_b32 v0, v2, v4", AllChips, {{4, 0x80000000, 0, 0x08000000}}},
      {"v_ashrrev_i32 v0, v2, v4", AllChips, {{4, 0x80000000, 0, 0xf8000000}}},
      {"v_lshlrev_b64 v[0:1], v2, v[4:5]",
       GFX9,
       {{4, 0x1234567890abcdefull, 0, 0x234567890abcdef0ull}, {64, 7, 0, 7}}},
      {"v_lshlrev_b64 v[0:1], v2, v[4:5]",
       GFX11Plus,
       {{36, 0x1234567890abcdefull, 0, 0x0abcdef000000000ull}}},
      {"v_lshrrev_b64 v[0:1], v2, v[4:5]",
       AllChips,
       {{60, 0xf234567890abcdefull, 0, 15}}},
      {"v_ashrrev_i64 v[0:1], v2, v[4:5]",
       AllChips,
       {{60, 0xf234567890abcdefull, 0, ~0ull}}},
      {"v_lshlrev_b64 v[0:1], 3, 1", AllChips, {{0, 0, 0, 8}}},
      {"v_lshl_add_u32 v0, v2, v4, v6", AllChips, {{3, 2, 5, 17}}},
      {"v_add_lshl_u32 v0, v2, v4, v6", AllChips, {{3, 2, 4, 80}}},
      {"v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7]",
       GFX942 | GFX950,
       {{0xffffffff, 3, 0x10, 0x800000008ull}, {1ull << 62, 1, 1ull << 63, 0}}},
      {"v_bfe_u32 v0, v2, v4, v6",
       AllChips,
       {{0x12345678, 8, 12, 0x456},
        {~0u, 0, 0, 0},
        {0xf0000000, 28, 31, 15},
        // Beyond bit 31 there are zeros.
        {0xfacfa278, 17, 16, 0x7d67},
        {0xfacfa278, 31, 31, 1}}},
      {"v_bfe_i32 v0, v2, v4, v6",
       AllChips,
       {{0x00000800, 8, 4, 0xfffffff8},
        {0x12345678, 0, 0, 0},
        // Beyond bit 31 there are more of it.
        {0xfacfa278, 17, 16, 0xfffffd67},
        {0x7acfa278, 17, 16, 0x3d67},
        {0xfacfa278, 31, 2, 0xffffffff},
        {0xfacfa278, 31, 31, 0xffffffff},
        {0xfacfa278, 20, 12, 0xffffffac},
        {0xfacfa278, 17, 0, 0}}},
  });
}

TEST(VectorInteger, AddAndSubtract) {
  runLaneCases({
      {"v_add_u32 v0, v2, v4", GFX9, {{0xffffffff, 2, 0, 1}}},
      {"v_add_nc_u32 v0, v2, v4", GFX11Plus, {{0xffffffff, 2, 0, 1}}},
      {"v_sub_u32 v0, v2, v4", GFX9, {{1, 2, 0, 0xffffffff}}},
      {"v_sub_nc_u32 v0, v2, v4", GFX11Plus, {{1, 2, 0, 0xffffffff}}},
      {"v_subrev_u32 v0, v2, v4", GFX9, {{1, 5, 0, 4}}},
      {"v_subrev_nc_u32 v0, v2, v4", GFX11Plus, {{1, 5, 0, 4}}},
      {"v_add_u32_e64 v0, v2, v4 clamp",
       GFX9,
       {{0xffffffff, 2, 0, 0xffffffff}, {1, 2, 0, 3}}},
      {"v_add_nc_u32 v0, v2, v4 clamp",
       GFX11Plus,
       {{0xffffffff, 2, 0, 0xffffffff}}},
      {"v_sub_u32_e64 v0, v2, v4 clamp", GFX9, {{1, 2, 0, 0}, {5, 2, 0, 3}}},
      {"v_add_i32 v0, v2, v4 clamp",
       GFX9,
       {{0x7fffffff, 1, 0, 0x7fffffff},
        {0x80000000, 0xffffffff, 0, 0x80000000}}},
      {"v_sub_nc_i32 v0, v2, v4 clamp",
       GFX11Plus,
       {{0x80000000, 1, 0, 0x80000000}}},
      {"v_add3_u32 v0, v2, v4, v6", AllChips, {{1, 2, 3, 6}}},
      {"v_xad_u32 v0, v2, v4, v6", AllChips, {{3, 5, 10, 16}}},
      {"v_sad_u32 v0, v2, v4, v6", AllChips, {{3, 5, 10, 12}, {5, 3, 10, 12}}},
      {"v_sad_u8 v0, v2, v4, v6",
       AllChips,
       {{0x01020304, 0x04030201, 100, 108}}},
      {"v_sad_u16 v0, v2, v4, v6", AllChips, {{0x00010002, 0x00030001, 0, 3}}},
      {"v_sad_hi_u8 v0, v2, v4, v6",
       AllChips,
       {{0x01000000, 0, 1, 0x00010001}}},
      {"v_lerp_u8 v0, v2, v4, v6",
       GFX9 | GFX1100,
       {{0x01020304, 0x03040507, 0x01010000, 0x02030405}}},
  });
}

TEST(VectorInteger, Carries) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    bool Gfx9 = Chip[3] == '9';
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(2)[L] = 0xffffffff;
      T.v(4)[L] = L % 2;
    }
    std::string Vcc = T.lanes() == 64 ? "vcc" : "vcc_lo";
    ASSERT_TRUE(T.run(Gfx9 ? "v_add_co_u32_e32 v0, vcc, v2, v4"
                           : "v_add_co_u32 v0, vcc_lo, v2, v4"))
        << T.error();
    uint64_t Odd = 0xaaaaaaaaaaaaaaaaull & T.wave().FullMask;
    EXPECT_EQ(T.vcc(), Odd);
    EXPECT_EQ(T.v(0)[0], 0xffffffffu);
    EXPECT_EQ(T.v(0)[1], 0u);
    // The carry goes into the next addition.
    ASSERT_TRUE(T.run(Gfx9 ? "v_addc_co_u32_e32 v1, vcc, v4, v4, vcc"
                           : "v_add_co_ci_u32_e32 v1, vcc_lo, v4, v4, vcc_lo"))
        << T.error();
    EXPECT_EQ(T.v(1)[0], 0u);
    EXPECT_EQ(T.v(1)[1], 3u);
    EXPECT_EQ(T.vcc(), 0u);
    // Borrow: 0 - 1 in the odd lanes; into an ordinary pair of scalars.
    T.setS64(10, ~0ull);
    std::string Mask = T.lanes() == 64 ? "s[10:11]" : "s10";
    ASSERT_TRUE(T.run("v_mov_b32 v3, 0\nv_sub_co_u32" +
                      std::string(Gfx9 ? "_e64" : "") + " v0, " + Mask +
                      ", v3, v4"))
        << T.error();
    EXPECT_EQ(T.wave().mask(10), Odd);
    EXPECT_EQ(T.v(0)[1], 0xffffffffu);
    ASSERT_TRUE(T.run((Gfx9 ? "v_subb_co_u32_e64" : "v_sub_co_ci_u32_e64") +
                      std::string(" v0, ") + Vcc + ", v3, v3, " + Mask))
        << T.error();
    EXPECT_EQ(T.v(0)[0], 0u);
    EXPECT_EQ(T.v(0)[1], 0xffffffffu);
    EXPECT_EQ(T.vcc(), Odd);
    // Inactive lanes: their carry bit becomes 0, their result stays.
    T.setExec(2);
    T.v(0)[3] = 77;
    ASSERT_TRUE(T.run(Gfx9 ? "v_add_co_u32_e32 v0, vcc, v2, v4"
                           : "v_add_co_u32 v0, vcc_lo, v2, v4"));
    EXPECT_EQ(T.vcc(), 2u);
    EXPECT_EQ(T.v(0)[3], 77u);
  }
}

TEST(VectorInteger, Multiply) {
  runLaneCases({
      {"v_mul_lo_u32 v0, v2, v4",
       AllChips,
       {{0x10001, 0x10001, 0, 0x00020001}}},
      {"v_mul_hi_u32 v0, v2, v4",
       AllChips,
       {{0xffffffff, 0xffffffff, 0, 0xfffffffe}}},
      {"v_mul_hi_i32 v0, v2, v4", AllChips, {{0xffffffff, 2, 0, 0xffffffff}}},
      {"v_mul_u32_u24 v0, v2, v4", AllChips, {{0xff000003, 0xff000005, 0, 15}}},
      {"v_mul_i32_i24 v0, v2, v4", AllChips, {{0x00ffffff, 5, 0, 0xfffffffb}}},
      {"v_mul_hi_u32_u24 v0, v2, v4",
       AllChips,
       {{0xffffff, 0xffffff, 0, 0xffff}}},
      {"v_mul_hi_i32_i24 v0, v2, v4", AllChips, {{0xffffff, 1, 0, 0xffffffff}}},
      {"v_mad_u32_u24 v0, v2, v4, v6", AllChips, {{0xff000003, 5, 7, 22}}},
      {"v_mad_i32_i24 v0, v2, v4, v6", AllChips, {{0xffffff, 5, 7, 2}}},
      {"v_mad_u32_u16 v0, v2, v4, v6", GFX9, {{0xffff, 0xffff, 1, 0xfffe0002}}},
      {"v_mad_u32_u16 v0, v2.l, v4.l, v6",
       GFX11Plus,
       {{0xffff, 0xffff, 1, 0xfffe0002}}},
      {"v_mad_i32_i16 v0, v2, v4, v6", GFX9, {{0xffff, 5, 7, 2}}},
      {"v_mad_u64_u32 v[0:1], vcc, v2, v4, v[6:7]",
       GFX9,
       {{0xffffffff, 0xffffffff, 0x1ffffffffull,
         0x200000000ull + 0xfffffffe00000000ull - 0x0ull}}},
      {"v_mad_u64_u32 v[0:1], null, v2, v4, v[6:7]",
       GFX1100,
       {{0x10000, 0x10000, 5, 0x100000005ull}}},
      {"v_mad_co_u64_u32 v[0:1], null, v2, v4, v[6:7]",
       GFX1201,
       {{0x10000, 0x10000, 5, 0x100000005ull}}},
      {"v_mad_i64_i32 v[0:1], vcc, v2, v4, v[6:7]",
       GFX9,
       {{0xffffffff, 5, 3, 0xfffffffffffffffeull}}},
      {"v_dot4_i32_i8 v0, v2, v4, v6",
       GFX9,
       {{0x01ff0203, 0x01010101, 10, 15}}},
      {"v_dot4_u32_u8 v0, v2, v4, v6",
       AllChips,
       {{0x01ff0203, 0x01010101, 10, 271}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[1,1,0]",
       GFX11Plus,
       {{0x01ff0203, 0x01010101, 10, 15}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[1,0,0]",
       GFX11Plus,
       {{0x00ff0000, 0x00ff0000, 10, uint32_t(-245)}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[0,1,0]",
       GFX11Plus,
       {{0x00ff0000, 0x00fe0000, 10, uint32_t(-500)}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6",
       GFX11Plus,
       {{0x01ff0203, 0x01010101, 10, 271}}},
      {"v_msad_u8 v0, v2, v4, v6",
       AllChips,
       {{0x05050505, 0x01000003, 10, 16}}},
      {"v_dot8_u32_u4 v0, v2, v4, v6",
       AllChips,
       {{0x12345678, 0x11111111, 0, 36}}},
      {"v_dot2_i32_i16 v0, v2, v4, v6", GFX9, {{0xffff0002, 0x00030004, 1, 6}}},
  });
}

TEST(VectorInteger, MinimumAndMaximum) {
  runLaneCases({
      {"v_min_u32 v0, v2, v4", AllChips, {{1, 0xffffffff, 0, 1}}},
      {"v_max_u32 v0, v2, v4", AllChips, {{1, 0xffffffff, 0, 0xffffffff}}},
      {"v_min_i32 v0, v2, v4", AllChips, {{1, 0xffffffff, 0, 0xffffffff}}},
      {"v_max_i32 v0, v2, v4", AllChips, {{1, 0xffffffff, 0, 1}}},
      {"v_min3_u32 v0, v2, v4, v6", AllChips, {{3, 1, 2, 1}}},
      {"v_max3_u32 v0, v2, v4, v6", AllChips, {{3, 1, 2, 3}}},
      {"v_med3_u32 v0, v2, v4, v6",
       AllChips,
       {{3, 1, 2, 2}, {1, 3, 2, 2}, {2, 1, 3, 2}, {2, 2, 1, 2}}},
      {"v_min3_i32 v0, v2, v4, v6", AllChips, {{3, 0xffffffff, 2, 0xffffffff}}},
      {"v_max3_i32 v0, v2, v4, v6", AllChips, {{3, 0xffffffff, 2, 3}}},
      {"v_med3_i32 v0, v2, v4, v6", AllChips, {{3, 0xffffffff, 2, 2}}},
      {"v_maxmin_u32 v0, v2, v4, v6", GFX11Plus, {{3, 9, 5, 5}}},
      {"v_minmax_i32 v0, v2, v4, v6", GFX11Plus, {{3, 0xffffffff, 0, 0}}},
  });
}

TEST(VectorInteger, SixteenBits) {
  runLaneCases({
      // gfx9 clears the other half, later chips keep it.
      {"v_add_u16 v0, v2, v4", GFX9, {{0xffff, 2, 0, 1}}},
      {"v_add_nc_u16 v0.l, v2.l, v4.l",
       GFX11Plus,
       {{0xffff, 2, 0, 0xdddd0001}}},
      {"v_add_nc_u16 v0.h, v2.l, v4.h",
       GFX11Plus,
       {{0xffff, 0x00020000, 0, 0x0001dddd}}},
      {"v_sub_u16 v0, v2, v4", GFX9, {{1, 2, 0, 0xffff}}},
      {"v_mul_lo_u16 v0, v2, v4", GFX9, {{0x101, 0x101, 0, 0x0201}}},
      {"v_mul_lo_u16 v0.l, v2.l, v4.l",
       GFX11Plus,
       {{0x101, 0x101, 0, 0xdddd0201}}},
      {"v_lshlrev_b16 v0, v2, v4", GFX9, {{4, 0x1234, 0, 0x2340}}},
      {"v_lshrrev_b16 v0, v2, v4", GFX9, {{4, 0xffff8234, 0, 0x0823}}},
      {"v_ashrrev_i16 v0, v2, v4", GFX9, {{4, 0x8234, 0, 0xf823}}},
      {"v_lshlrev_b16 v0.l, v2.l, v4.l",
       GFX11Plus,
       {{4, 0x1234, 0, 0xdddd2340}}},
      {"v_ashrrev_i16 v0.l, v2.l, v4.l",
       GFX11Plus,
       {{4, 0x8234, 0, 0xddddf823}}},
      {"v_min_i16 v0, v2, v4", GFX9, {{0xffff, 1, 0, 0xffff}}},
      {"v_max_u16 v0, v2, v4", GFX9, {{0xffff, 1, 0, 0xffff}}},
      {"v_min_i16 v0.l, v2.l, v4.l", GFX11Plus, {{0xffff, 1, 0, 0xddddffff}}},
      {"v_and_b16 v0.l, v2.l, v4.h",
       GFX11Plus,
       {{0xff, 0x0f0f0000, 0, 0xdddd000f}}},
      {"v_mov_b16 v0.h, v2.l", GFX11Plus, {{0x1234, 0, 0, 0x1234dddd}}},
      {"v_not_b16 v0.l, v2.h", GFX11Plus, {{0xff000000, 0, 0, 0xdddd00ff}}},
      {"v_mad_u16 v0, v2, v4, v6", GFX9, {{3, 5, 7, 0xdddd0016}}},
      {"v_mad_legacy_u16 v0, v2, v4, v6", GFX9, {{3, 5, 7, 0x0016}}},
      {"v_mad_u16 v0, v2, v4, v6 op_sel:[0,1,0,1]",
       GFX9,
       {{3, 0x50000, 7, 0x0016dddd}}},
      {"v_pk_add_u16 v0, v2, v4",
       AllChips,
       {{0x0001ffff, 0x00020001, 0, 0x00030000}}},
      {"v_pk_add_u16 v0, v2, v4 clamp",
       AllChips,
       {{0x0001ffff, 0x00020001, 0, 0x0003ffff}}},
      {"v_pk_sub_i16 v0, v2, v4",
       AllChips,
       {{0x00010005, 0x00020001, 0, 0xffff0004}}},
      {"v_pk_sub_i16 v0, v2, v4 clamp",
       AllChips,
       {{0x80000005, 0x00020001, 0, 0x80000004}}},
      {"v_pk_mul_lo_u16 v0, v2, v4",
       AllChips,
       {{0x00030005, 0x00070002, 0, 0x0015000a}}},
      {"v_pk_mad_u16 v0, v2, v4, v6",
       AllChips,
       {{0x00030005, 0x00070002, 0x00010001, 0x0016000b}}},
      {"v_pk_lshlrev_b16 v0, v2, v4",
       AllChips,
       {{0x00010004, 0x12341234, 0, 0x24682340}}},
      {"v_pk_lshrrev_b16 v0, v2, v4",
       AllChips,
       {{0x00010004, 0x80008000, 0, 0x40000800}}},
      {"v_pk_ashrrev_i16 v0, v2, v4",
       AllChips,
       {{0x00010004, 0x80008000, 0, 0xc000f800}}},
      {"v_pk_min_i16 v0, v2, v4",
       AllChips,
       {{0xffff0001, 0x0001ffff, 0, 0xffffffff}}},
      {"v_pk_max_u16 v0, v2, v4",
       AllChips,
       {{0xffff0001, 0x0001ffff, 0, 0xffffffff}}},
      // op_sel chooses the halves: low result from high halves and back.
      {"v_pk_add_u16 v0, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]",
       AllChips,
       {{0x00100002, 0x03000005, 0, 0x03020015}}},
      {"v_pk_add_u16 v0, v2, 5 op_sel_hi:[1,0]",
       AllChips,
       {{0x00100002, 0, 0, 0x00150007}}},
      {"v_cvt_pk_u16_u32 v0, v2, v4", AllChips, {{70000, 7, 0, 0x0007ffff}}},
      {"v_cvt_pk_i16_i32 v0, v2, v4",
       AllChips,
       {{70000, 0xffff0000, 0, 0x80007fff}}},
      {"v_sat_pk_u8_i16 v0, v2", GFX9, {{0xffff0123, 0, 0, 0x000000ff}}},
      {"v_cvt_i32_i16 v0, v2.h", GFX11Plus, {{0x80000000, 0, 0, 0xffff8000}}},
      {"v_cvt_u32_u16 v0, v2.h", GFX11Plus, {{0x80000000, 0, 0, 0x8000}}},
      {"v_cndmask_b16 v0.l, v2.l, v4.l, vcc_lo",
       GFX11Plus,
       {{5, 6, 0, 0xdddd0005}}},
  });
}

TEST(VectorInteger, Cndmask) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(2)[L] = L;
      T.v(4)[L] = 100 + L;
    }
    T.setVcc(0x8000000180000001ull);
    ASSERT_TRUE(T.run(T.lanes() == 64 ? "v_cndmask_b32_e32 v0, v2, v4, vcc"
                                      : "v_cndmask_b32_e32 v0, v2, v4, vcc_lo"))
        << T.error();
    EXPECT_EQ(T.v(0)[0], 100u);
    EXPECT_EQ(T.v(0)[1], 1u);
    EXPECT_EQ(T.v(0)[31], 131u);
    if (T.lanes() == 64) {
      EXPECT_EQ(T.v(0)[32], 132u);
      EXPECT_EQ(T.v(0)[63], 163u);
      EXPECT_EQ(T.v(0)[62], 62u);
    }
    // The VOP3 form can negate, as a float.
    T.setS64(20, 1);
    ASSERT_TRUE(T.run(std::string("v_cndmask_b32_e64 v0, v2, -v4, ") +
                      (T.lanes() == 64 ? "s[20:21]" : "s20")))
        << T.error();
    EXPECT_EQ(T.v(0)[0], 0x80000000u | 100);
    EXPECT_EQ(T.v(0)[5], 5u);
  }
}

TEST(VectorInteger, ExecMasksTheResult) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setExec(0xf0f0f0f0f0f0f0f0ull);
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(0)[L] = T.v(1)[L] = 7;
    ASSERT_TRUE(T.run("v_mov_b32 v0, 1\nv_lshlrev_b64 v[2:3], 1, v[0:1]"))
        << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L) {
      EXPECT_EQ(T.v(0)[L], L & 4 ? 1u : 7u) << L;
      EXPECT_EQ(T.v(2)[L], L & 4 ? 2u : 0u) << L;
    }
  }
}

// A result pair may overlap a source pair by one register (gfx9 aligns pairs).
TEST(VectorInteger, OverlappingPairs) {
  // CDNA5's pairs are aligned.
  for (const std::string &Chip : chipsIn(GFX1100 | GFX1201)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(1)[L] = 0x80000001;
      T.v(2)[L] = 0x10 + L;
    }
    ASSERT_TRUE(T.run("v_lshlrev_b64 v[2:3], 4, v[1:2]")) << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L) {
      EXPECT_EQ(T.v(2)[L], 0x10u);
      EXPECT_EQ(T.v(3)[L], (0x10 + L) << 4 | 8);
    }
  }
}

TEST(VectorInteger, AccumulationRegisters) {
  for (const std::string &Chip : chipsIn(GFX9)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < 64; ++L)
      T.v(2)[L] = L * 3;
    ASSERT_TRUE(T.run("v_accvgpr_write_b32 a7, v2\n"
                      "v_accvgpr_mov_b32 a9, a7\n"
                      "v_accvgpr_read_b32 v0, a9"))
        << T.error();
    for (unsigned L = 0; L < 64; ++L)
      EXPECT_EQ(T.v(0)[L], L * 3);
    EXPECT_EQ(T.v(7)[5], 0u);
  }
}

// What does not fit becomes the nearest number under clamp.
TEST(VectorInteger, DotProductsUnderClamp) {
  constexpr unsigned Dot4 = GFX9 | GFX908, NewerDot = GFX11Plus;
  runLaneCases({
      {"v_dot4_i32_i8 v0, v2, v4, v6 clamp",
       Dot4,
       {{0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff, 0x7fffffff},
        {0x80808080, 0x7f7f7f7f, 0x80000000, 0x80000000},
        {0x01010101, 0x01010101, 5, 9}}},
      {"v_dot4_u32_u8 v0, v2, v4, v6 clamp",
       Dot4 | NewerDot,
       {{0xffffffff, 0xffffffff, 0xffffff00, 0xffffffff},
        {0xffffffff, 0xffffffff, 0, 260100}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[1,1,0] clamp",
       NewerDot,
       {{0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff, 0x7fffffff},
        {0x80808080, 0x7f7f7f7f, 0x80000000, 0x80000000}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[1,0,0] clamp",
       NewerDot,
       {{0xffffffff, 0xffffffff, 0, uint32_t(-1020)},
        {0xffffffff, 0xffffffff, 0x80000000, 0x80000000}}},
      {"v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[0,1,0]",
       NewerDot,
       {{0xffffffff, 0xffffffff, 0, uint32_t(-1020)},
        {0xffffffff, 0xffffffff, 0x80000000, 0x7ffffc04}}},
      // Without signs it is a signed sum all the same.
      {"v_dot4_i32_iu8 v0, v2, v4, v6 clamp",
       NewerDot,
       {{0xffffffff, 0xffffffff, 0x7ffffff0, 0x7fffffff},
        {0xffffffff, 0xffffffff, uint32_t(-1), 260099}}},
      {"v_dot8_i32_i4 v0, v2, v4, v6 clamp",
       Dot4,
       {{0x88888888, 0x88888888, 0x7fffffff, 0x7fffffff},
        {0x88888888, 0x77777777, 0, uint32_t(-448)}}},
      {"v_dot8_u32_u4 v0, v2, v4, v6 clamp",
       Dot4 | NewerDot,
       {{0xffffffff, 0xffffffff, 0xfffffff0, 0xffffffff},
        {0xffffffff, 0xffffffff, 1, 1801}}},
      {"v_dot8_i32_iu4 v0, v2, v4, v6 neg_lo:[1,0,0]",
       NewerDot,
       {{0xffffffff, 0xffffffff, 0, uint32_t(-120)},
        {0x80000007, 0xf000000f, 1, uint32_t(-14)}}},
      {"v_dot8_i32_iu4 v0, v2, v4, v6 neg_lo:[0,1,0] clamp",
       NewerDot,
       {{0xffffffff, 0xffffffff, 0x80000000, 0x80000000},
        {0xf000000f, 0x80000007, 1, uint32_t(-14)}}},
      {"v_dot8_i32_iu4 v0, v2, v4, v6 neg_lo:[1,1,0] clamp",
       NewerDot,
       {{0x88888888, 0x88888888, 0x7fffffff, 0x7fffffff}}},
      {"v_dot8_i32_iu4 v0, v2, v4, v6 clamp",
       NewerDot,
       {{0xffffffff, 0xffffffff, 0x7fffffff, 0x7fffffff},
        {0xffffffff, 0xffffffff, 0, 1800}}},
      {"v_dot2_i32_i16 v0, v2, v4, v6 clamp",
       Dot4,
       {{0x80008000, 0x80008000, 0, 0x7fffffff},
        {0x80008000, 0x7fff7fff, uint32_t(-70000), 0x80000000}}},
      {"v_dot2_i32_i16 v0, v2, v4, v6",
       Dot4,
       {{0x80008000, 0x80008000, 0, 0x80000000}}},
      {"v_dot2_u32_u16 v0, v2, v4, v6 clamp",
       Dot4,
       {{0xffffffff, 0xffffffff, 0, 0xffffffff},
        {0x00020003, 0x00050007, 1, 32}}},
  });
}
