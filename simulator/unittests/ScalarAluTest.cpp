//===- ScalarAluTest.cpp - Scalar instructions ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results and SCC of the SALU.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

TEST(ScalarAlu, MoveAndLogic) {
  runScalarCases({
      {"s_mov_b32 s0, s2", AllChips, {{5, 0, 1, 5, 1}}},
      {"s_mov_b32 s0, 0x12345678", AllChips, {{0, 0, 0, 0x12345678, 0}}},
      {"s_mov_b64 s[0:1], s[2:3]",
       AllChips,
       {{0x123456789, 0, 0, 0x123456789, 0}}},
      {"s_mov_b64 s[0:1], -1", AllChips, {{0, 0, 0, ~0ull, 0}}},
      {"s_mov_b64 s[0:1], 1.0",
       AllChips,
       {{0, 0, 0, 0x3ff0000000000000ull, 0}}},
      {"s_mov_b64 s[0:1], 0x80000000", AllChips, {{0, 0, 0, 0x80000000ull, 0}}},
      {"s_movk_i32 s0, 0x8000", AllChips, {{0, 0, 0, 0xffff8000, 0}}},
      {"s_cmov_b32 s0, s2",
       AllChips,
       {{5, 0, 1, 5, 1}, {5, 0, 0, 0xdddddddd, 0}}},
      {"s_not_b32 s0, s2",
       AllChips,
       {{0xffffffff, 0, 1, 0, 0}, {1, 0, 0, 0xfffffffe, 1}}},
      {"s_not_b64 s[0:1], s[2:3]", AllChips, {{~0ull, 0, 1, 0, 0}}},
      {"s_and_b32 s0, s2, s4",
       AllChips,
       {{0xf0, 0x3c, 0, 0x30, 1}, {1, 2, 1, 0, 0}}},
      {"s_and_b64 s[0:1], s[2:3], s[4:5]",
       AllChips,
       {{0xf0f0f0f0f0ull, 0xff00000000ull, 0, 0xf000000000ull, 1}}},
      {"s_or_b32 s0, s2, s4", AllChips, {{1, 2, 0, 3, 1}}},
      {"s_xor_b64 s[0:1], s[2:3], s[4:5]", AllChips, {{5, 5, 1, 0, 0}}},
      {"s_andn2_b32 s0, s2, s4", GFX9, {{7, 5, 0, 2, 1}}},
      {"s_and_not1_b32 s0, s2, s4", GFX11Plus, {{7, 5, 0, 2, 1}}},
      {"s_andn2_b64 s[0:1], s[2:3], s[4:5]", GFX9, {{7, 5, 0, 2, 1}}},
      {"s_orn2_b32 s0, s2, s4", GFX9, {{0, 0xfffffffe, 0, 1, 1}}},
      {"s_or_not1_b32 s0, s2, s4", GFX11Plus, {{0, 0xfffffffe, 0, 1, 1}}},
      {"s_nand_b32 s0, s2, s4", AllChips, {{0xffffffff, 0xffffffff, 1, 0, 0}}},
      {"s_nor_b32 s0, s2, s4", AllChips, {{0xf, 0xfffffff0, 1, 0, 0}}},
      {"s_xnor_b32 s0, s2, s4", AllChips, {{5, 5, 0, 0xffffffff, 1}}},
      {"s_cselect_b32 s0, s2, s4",
       AllChips,
       {{1, 2, 1, 1, 1}, {1, 2, 0, 2, 0}}},
      {"s_cselect_b64 s[0:1], -1, 0",
       AllChips,
       {{0, 0, 1, ~0ull, 1}, {0, 0, 0, 0, 0}}},
      {"s_brev_b32 s0, s2", AllChips, {{1, 0, 0, 0x80000000, 0}}},
      {"s_brev_b64 s[0:1], s[2:3]", AllChips, {{1, 0, 0, 1ull << 63, 0}}},
      {"s_wqm_b32 s0, s2", AllChips, {{0x00100020, 0, 0, 0x00f000f0, 1}}},
      {"s_wqm_b64 s[0:1], s[2:3]",
       AllChips,
       {{1ull << 63, 0, 0, 0xfull << 60, 1}}},
      {"s_quadmask_b32 s0, s2", AllChips, {{0x10000001, 0, 0, 0x81, 1}}},
      {"s_bitreplicate_b64_b32 s[0:1], s2",
       AllChips,
       {{0x80000005, 0, 0, 0xc000000000000033ull, 0}}},
      {"s_abs_i32 s0, s2",
       AllChips,
       {{0xffffffff, 0, 0, 1, 1}, {0, 0, 1, 0, 0}}},
      {"s_sext_i32_i8 s0, s2", AllChips, {{0x80, 0, 0, 0xffffff80, 0}}},
      {"s_sext_i32_i16 s0, s2", AllChips, {{0x8000, 0, 0, 0xffff8000, 0}}},
      {"s_bitset1_b32 s0, s2", AllChips, {{1, 0, 0, 0xdddddddf, 0}}},
      {"s_bitset0_b32 s0, s2", AllChips, {{0, 0, 0, 0xdddddddc, 0}}},
  });
}

TEST(ScalarAlu, CountingBits) {
  runScalarCases({
      {"s_bcnt0_i32_b32 s0, s2", AllChips, {{0xfffffff0, 0, 0, 4, 1}}},
      {"s_bcnt1_i32_b32 s0, s2",
       AllChips,
       {{0xf0f0, 0, 0, 8, 1}, {0, 0, 1, 0, 0}}},
      {"s_bcnt1_i32_b64 s0, s[2:3]",
       AllChips,
       {{0xf00000000f0ull, 0, 0, 8, 1}}},
      {"s_bcnt0_i32_b64 s0, s[2:3]", AllChips, {{~0ull, 0, 1, 0, 0}}},
      {"s_ff1_i32_b32 s0, s2",
       GFX9,
       {{8, 0, 0, 3, 0}, {0, 0, 1, 0xffffffff, 1}}},
      {"s_ctz_i32_b32 s0, s2", GFX11Plus, {{8, 0, 0, 3, 0}}},
      {"s_ff1_i32_b64 s0, s[2:3]", GFX9, {{1ull << 40, 0, 0, 40, 0}}},
      {"s_ctz_i32_b64 s0, s[2:3]", GFX11Plus, {{1ull << 40, 0, 0, 40, 0}}},
      {"s_ff0_i32_b32 s0, s2", GFX9, {{7, 0, 0, 3, 0}}},
      {"s_flbit_i32_b32 s0, s2",
       GFX9,
       {{1, 0, 0, 31, 0}, {0, 0, 0, 0xffffffff, 0}}},
      {"s_clz_i32_u32 s0, s2", GFX11Plus, {{1, 0, 0, 31, 0}}},
      {"s_flbit_i32_b64 s0, s[2:3]", GFX9, {{1, 0, 0, 63, 0}}},
      {"s_clz_i32_u64 s0, s[2:3]", GFX11Plus, {{1, 0, 0, 63, 0}}},
      {"s_flbit_i32 s0, s2",
       GFX9,
       {{0xffffffff, 0, 0, 0xffffffff, 0}, {0xf0000000, 0, 0, 4, 0}}},
      {"s_cls_i32 s0, s2", GFX11Plus, {{0xf0000000, 0, 0, 4, 0}}},
      {"s_flbit_i32_i64 s0, s[2:3]",
       GFX9,
       {{0xf000000000000000ull, 0, 0, 4, 0}}},
  });
}

TEST(ScalarAlu, Arithmetic) {
  runScalarCases({
      {"s_add_u32 s0, s2, s4",
       GFX9 | GFX1100,
       {{0xffffffff, 1, 0, 0, 1}, {1, 2, 1, 3, 0}}},
      {"s_add_co_u32 s0, s2, s4", GFX1201, {{0xffffffff, 1, 0, 0, 1}}},
      {"s_sub_u32 s0, s2, s4",
       GFX9 | GFX1100,
       {{1, 2, 0, 0xffffffff, 1}, {2, 1, 1, 1, 0}}},
      {"s_sub_co_u32 s0, s2, s4", GFX1201, {{1, 2, 0, 0xffffffff, 1}}},
      {"s_add_i32 s0, s2, s4",
       GFX9 | GFX1100,
       {{0x7fffffff, 1, 0, 0x80000000, 1}, {0xffffffff, 1, 1, 0, 0}}},
      {"s_add_co_i32 s0, s2, s4", GFX1201, {{0x80000000, 0x80000000, 0, 0, 1}}},
      {"s_sub_i32 s0, s2, s4",
       GFX9 | GFX1100,
       {{0x80000000, 1, 0, 0x7fffffff, 1}, {0, 1, 1, 0xffffffff, 0}}},
      {"s_addc_u32 s0, s2, s4",
       GFX9 | GFX1100,
       {{0xffffffff, 0, 1, 0, 1}, {1, 1, 1, 3, 0}}},
      {"s_add_co_ci_u32 s0, s2, s4", GFX1201, {{0xffffffff, 0, 1, 0, 1}}},
      {"s_subb_u32 s0, s2, s4",
       GFX9 | GFX1100,
       {{0, 0, 1, 0xffffffff, 1}, {5, 2, 1, 2, 0}}},
      {"s_sub_co_ci_u32 s0, s2, s4", GFX1201, {{0, 0, 1, 0xffffffff, 1}}},
      {"s_add_nc_u64 s[0:1], s[2:3], s[4:5]",
       GFX1201,
       {{0xffffffff, 1, 1, 0x100000000ull, 1}}},
      {"s_sub_nc_u64 s[0:1], s[2:3], s[4:5]", GFX1201, {{0, 1, 0, ~0ull, 0}}},
      {"s_mul_u64 s[0:1], s[2:3], s[4:5]",
       GFX1201,
       {{0x100000001ull, 3, 0, 0x300000003ull, 0}}},
      {"s_min_i32 s0, s2, s4",
       AllChips,
       {{0xffffffff, 1, 0, 0xffffffff, 1}, {1, 1, 1, 1, 0}}},
      {"s_max_i32 s0, s2, s4", AllChips, {{0xffffffff, 1, 1, 1, 0}}},
      {"s_min_u32 s0, s2, s4", AllChips, {{0xffffffff, 1, 1, 1, 0}}},
      {"s_max_u32 s0, s2, s4", AllChips, {{0xffffffff, 1, 0, 0xffffffff, 1}}},
      {"s_mul_i32 s0, s2, s4", AllChips, {{0x10001, 0x10001, 1, 0x20001, 1}}},
      {"s_mul_hi_u32 s0, s2, s4",
       AllChips,
       {{0xffffffff, 0xffffffff, 0, 0xfffffffe, 0}}},
      {"s_mul_hi_i32 s0, s2, s4",
       AllChips,
       {{0xffffffff, 0xffffffff, 0, 0, 0}}},
      {"s_absdiff_i32 s0, s2, s4",
       AllChips,
       {{2, 5, 0, 3, 1}, {5, 2, 0, 3, 1}}},
      {"s_lshl1_add_u32 s0, s2, s4",
       AllChips,
       {{5, 1, 0, 11, 0}, {0x80000000, 1, 0, 1, 1}}},
      {"s_lshl4_add_u32 s0, s2, s4", AllChips, {{5, 1, 1, 81, 0}}},
      {"s_pack_ll_b32_b16 s0, s2, s4",
       AllChips,
       {{0x11112222, 0x33334444, 0, 0x44442222, 0}}},
      {"s_pack_lh_b32_b16 s0, s2, s4",
       AllChips,
       {{0x11112222, 0x33334444, 0, 0x33332222, 0}}},
      {"s_pack_hh_b32_b16 s0, s2, s4",
       AllChips,
       {{0x11112222, 0x33334444, 0, 0x33331111, 0}}},
      {"s_pack_hl_b32_b16 s0, s2, s4",
       GFX11Plus,
       {{0x11112222, 0x33334444, 0, 0x44441111, 0}}},
      {"s_addk_i32 s0, 0xffff", GFX9 | GFX1100, {{0, 0, 0, 0xdddddddc, 0}}},
      {"s_mulk_i32 s0, 2", AllChips, {{0, 0, 0, 0xbbbbbbba, 0}}},
  });
}

TEST(ScalarAlu, ShiftsAndFields) {
  runScalarCases({
      {"s_lshl_b32 s0, s2, s4",
       AllChips,
       {{1, 33, 0, 2, 1}, {0x80000000, 1, 1, 0, 0}}},
      {"s_lshr_b32 s0, s2, s4", AllChips, {{0x80000000, 31, 0, 1, 1}}},
      {"s_ashr_i32 s0, s2, s4", AllChips, {{0x80000000, 31, 0, 0xffffffff, 1}}},
      {"s_lshl_b64 s[0:1], s[2:3], s4", AllChips, {{1, 40, 0, 1ull << 40, 1}}},
      {"s_lshr_b64 s[0:1], s[2:3], s4", AllChips, {{1ull << 40, 40, 0, 1, 1}}},
      {"s_ashr_i64 s[0:1], s[2:3], s4",
       AllChips,
       {{1ull << 63, 63, 0, ~0ull, 1}}},
      {"s_bfm_b32 s0, s2, s4", AllChips, {{8, 4, 1, 0xff0, 1}}},
      {"s_bfm_b64 s[0:1], s2, s4",
       AllChips,
       {{8, 40, 1, 0xff0000000000ull, 1}}},
      {"s_bfe_u32 s0, s2, s4",
       AllChips,
       {{0x12345678, 0x000c0008, 0, 0x456, 1},
        {5, 0, 1, 0, 0},
        // Beyond the last bit there are zeros; of signed ones, more of it.
        {0xfacfa278, 0x00100011, 0, 0x7d67, 1},
        {0xfacfa278, 0x007f0011, 0, 0x7d67, 1}}},
      {"s_bfe_i32 s0, s2, s4",
       AllChips,
       {{0x00000800, 0x00040008, 0, 0xfffffff8, 1},
        {0xfacfa278, 0x00100011, 0, 0xfffffd67, 1},
        {0xfacfa278, 0x007f0011, 0, 0xfffffd67, 1}}},
      {"s_bfe_u64 s[0:1], s[2:3], s4",
       AllChips,
       {{0xabcdef0123456789ull, 0x00200010, 0, 0xef012345ull, 1},
        {0xfacfa27800000000ull, 0x00100031, 0, 0x7d67, 1}}},
      {"s_bfe_i64 s[0:1], s[2:3], s4",
       AllChips,
       {{0x80ull, 0x00080000, 0, 0xffffffffffffff80ull, 1},
        {0xfacfa27800000000ull, 0x00100031, 0, 0xfffffffffffffd67ull, 1}}},
  });
}

TEST(ScalarAlu, Compare) {
  runScalarCases({
      {"s_cmp_eq_i32 s2, s4",
       AllChips,
       {{1, 1, 0, 0xdddddddd, 1}, {1, 2, 1, 0xdddddddd, 0}}},
      {"s_cmp_lg_u32 s2, s4", AllChips, {{1, 1, 1, 0xdddddddd, 0}}},
      {"s_cmp_gt_i32 s2, s4", AllChips, {{0xffffffff, 1, 1, 0xdddddddd, 0}}},
      {"s_cmp_gt_u32 s2, s4", AllChips, {{0xffffffff, 1, 0, 0xdddddddd, 1}}},
      {"s_cmp_ge_i32 s2, s4", AllChips, {{1, 1, 0, 0xdddddddd, 1}}},
      {"s_cmp_ge_u32 s2, s4", AllChips, {{0, 1, 1, 0xdddddddd, 0}}},
      {"s_cmp_lt_i32 s2, s4", AllChips, {{0xffffffff, 1, 0, 0xdddddddd, 1}}},
      {"s_cmp_lt_u32 s2, s4", AllChips, {{0xffffffff, 1, 1, 0xdddddddd, 0}}},
      {"s_cmp_le_i32 s2, s4", AllChips, {{1, 1, 0, 0xdddddddd, 1}}},
      {"s_cmp_le_u32 s2, s4", AllChips, {{2, 1, 1, 0xdddddddd, 0}}},
      {"s_cmp_eq_u64 s[2:3], s[4:5]",
       AllChips,
       {{1ull << 40, 1ull << 40, 0, 0xdddddddd, 1},
        {1ull << 40, 0, 1, 0xdddddddd, 0}}},
      {"s_cmp_lg_u64 s[2:3], 0", AllChips, {{1ull << 40, 0, 0, 0xdddddddd, 1}}},
      {"s_cmpk_eq_u32 s2, 0xffff",
       GFX9 | GFX1100,
       {{0xffff, 0, 0, 0xdddddddd, 1}}},
      {"s_cmpk_eq_i32 s2, 0xffff",
       GFX9 | GFX1100,
       {{0xffffffff, 0, 0, 0xdddddddd, 1}}},
      {"s_cmpk_lt_i32 s2, 0x0001",
       GFX9 | GFX1100,
       {{0xffffffff, 0, 0, 0xdddddddd, 1}}},
      {"s_bitcmp1_b32 s2, s4",
       AllChips,
       {{4, 2, 0, 0xdddddddd, 1}, {4, 1, 1, 0xdddddddd, 0}}},
      {"s_bitcmp0_b32 s2, s4", AllChips, {{4, 1, 0, 0xdddddddd, 1}}},
      {"s_bitcmp1_b64 s[2:3], s4",
       AllChips,
       {{1ull << 40, 40, 0, 0xdddddddd, 1}}},
  });
}

TEST(ScalarAlu, FloatOnGfx12) {
  runScalarCases({
      {"s_add_f32 s0, s2, s4",
       GFX1201,
       {{f32(1.5f), f32(2.25f), 1, f32(3.75f), 1}}},
      {"s_sub_f32 s0, s2, s4",
       GFX1201,
       {{f32(1.5f), f32(2.25f), 0, f32(-0.75f), 0}}},
      {"s_mul_f32 s0, s2, s4",
       GFX1201,
       {{f32(1.5f), f32(2.0f), 0, f32(3.0f), 0}}},
      {"s_min_num_f32 s0, s2, s4",
       GFX1201,
       {{NaN32, f32(2.0f), 0, f32(2.0f), 0}}},
      {"s_max_num_f32 s0, s2, s4", GFX1201, {{f32(-0.0f), f32(0.0f), 0, 0, 0}}},
      {"s_minimum_f32 s0, s2, s4", GFX1201, {{NaN32, f32(2.0f), 0, NaN32, 0}}},
      {"s_fmac_f32 s0, s2, s4", GFX1201, {{0, 0, 0, 0xdddddddd, 0}}},
      {"s_fmamk_f32 s0, s2, 0x40400000, s4",
       GFX1201,
       {{f32(2.0f), f32(1.0f), 0, f32(7.0f), 0}}},
      {"s_fmaak_f32 s0, s2, s4, 0x40400000",
       GFX1201,
       {{f32(2.0f), f32(4.0f), 0, f32(11.0f), 0}}},
      {"s_cvt_f32_i32 s0, s2", GFX1201, {{0xfffffffb, 0, 0, f32(-5.0f), 0}}},
      {"s_cvt_f32_u32 s0, s2",
       GFX1201,
       {{0xffffffff, 0, 0, f32(4294967296.0f), 0}}},
      {"s_cvt_i32_f32 s0, s2",
       GFX1201,
       {{f32(-5.75f), 0, 0, 0xfffffffb, 0},
        {f32(3e9f), 0, 0, 0x7fffffff, 0},
        {NaN32, 0, 0, 0, 0}}},
      {"s_cvt_u32_f32 s0, s2",
       GFX1201,
       {{f32(-5.75f), 0, 0, 0, 0}, {f32(3e9f), 0, 0, 3000000000u, 0}}},
      {"s_cvt_f16_f32 s0, s2", GFX1201, {{f32(1.5f), 0, 0, 0x3e00, 0}}},
      {"s_cvt_f32_f16 s0, s2", GFX1201, {{0x3e00, 0, 0, f32(1.5f), 0}}},
      {"s_cvt_hi_f32_f16 s0, s2", GFX1201, {{0x3e000000, 0, 0, f32(1.5f), 0}}},
      {"s_cvt_pk_rtz_f16_f32 s0, s2, s4",
       GFX1201,
       {{f32(1.5f), f32(65519.0f), 0, 0x7bff3e00, 0}}},
      {"s_add_f16 s0, s2, s4", GFX1201, {{0x3c00, 0x3800, 0, 0x3e00, 0}}},
      {"s_mul_f16 s0, s2, 2.0", GFX1201, {{0x3c00, 0, 0, 0x4000, 0}}},
      {"s_ceil_f32 s0, s2", GFX1201, {{f32(1.25f), 0, 0, f32(2.0f), 0}}},
      {"s_floor_f32 s0, s2", GFX1201, {{f32(-1.25f), 0, 0, f32(-2.0f), 0}}},
      {"s_trunc_f32 s0, s2", GFX1201, {{f32(-1.75f), 0, 0, f32(-1.0f), 0}}},
      {"s_rndne_f32 s0, s2", GFX1201, {{f32(2.5f), 0, 0, f32(2.0f), 0}}},
      {"s_cmp_lt_f32 s2, s4",
       GFX1201,
       {{f32(1.0f), f32(2.0f), 0, 0xdddddddd, 1},
        {NaN32, f32(2.0f), 1, 0xdddddddd, 0}}},
      {"s_cmp_nge_f32 s2, s4", GFX1201, {{NaN32, f32(2.0f), 0, 0xdddddddd, 1}}},
      {"s_cmp_u_f32 s2, s4", GFX1201, {{NaN32, f32(2.0f), 0, 0xdddddddd, 1}}},
      {"s_cmp_eq_f16 s2, s4", GFX1201, {{0x8000, 0, 0, 0xdddddddd, 1}}},
      {"v_s_rcp_f32 s0, s2", GFX1201, {{f32(4.0f), 0, 0, f32(0.25f), 0}}},
      {"v_s_sqrt_f32 s0, s2", GFX1201, {{f32(9.0f), 0, 0, f32(3.0f), 0}}},
      {"v_s_exp_f32 s0, s2", GFX1201, {{f32(3.0f), 0, 0, f32(8.0f), 0}}},
      {"v_s_log_f32 s0, s2", GFX1201, {{f32(8.0f), 0, 0, f32(3.0f), 0}}},
      {"v_s_rsq_f32 s0, s2", GFX1201, {{f32(4.0f), 0, 0, f32(0.5f), 0}}},
  });
}

namespace {
struct SaveExec {
  const char *Gfx9, *Later;
  uint64_t (*Result)(uint64_t Source, uint64_t Exec);
};
} // namespace

TEST(ScalarAlu, SaveExec) {
  const SaveExec Table[] = {
      {"and", "and", [](uint64_t S, uint64_t E) { return S & E; }},
      {"or", "or", [](uint64_t S, uint64_t E) { return S | E; }},
      {"xor", "xor", [](uint64_t S, uint64_t E) { return S ^ E; }},
      {"andn2", "and_not1", [](uint64_t S, uint64_t E) { return S & ~E; }},
      {"orn2", "or_not1", [](uint64_t S, uint64_t E) { return S | ~E; }},
      {"nand", "nand", [](uint64_t S, uint64_t E) { return ~(S & E); }},
      {"nor", "nor", [](uint64_t S, uint64_t E) { return ~(S | E); }},
      {"xnor", "xnor", [](uint64_t S, uint64_t E) { return ~(S ^ E); }},
      {"andn1", "and_not0", [](uint64_t S, uint64_t E) { return ~S & E; }},
      {"orn1", "or_not0", [](uint64_t S, uint64_t E) { return ~S | E; }},
  };
  const uint64_t Source = 0x123456789abcdef0ull, Exec = 0x00ff00ff00ff00ffull;
  for (const std::string &Chip : chipsIn(AllChips))
    for (const SaveExec &Op : Table) {
      WaveTester T(Chip);
      bool Wide = T.lanes() == 64;
      std::string Name = chipNamed(Chip).Generation <= 10 ? Op.Gfx9 : Op.Later;
      SCOPED_TRACE(Chip + " " + Name);
      T.setS64(2, Source);
      T.setExec(Exec);
      ASSERT_TRUE(T.run("s_" + Name + "_saveexec_" +
                        (Wide ? "b64 s[0:1], s[2:3]" : "b32 s0, s2")))
          << T.error();
      uint64_t Full = T.wave().FullMask;
      EXPECT_EQ(T.exec(), Op.Result(Source, Exec) & Full);
      EXPECT_EQ(T.wave().mask(0), Exec & Full);
      EXPECT_EQ(T.scc(), (Op.Result(Source, Exec) & Full) != 0);
    }
}

TEST(ScalarAlu, NullAndScc) {
  for (const std::string &Chip : chipsIn(GFX11Plus)) {
    WaveTester T(Chip);
    T.s(124) = 5;
    T.setExec(0xff);
    ASSERT_TRUE(T.run("s_mov_b64 null, -1\ns_mov_b32 s0, null")) << T.error();
    EXPECT_EQ(T.s(0), 0u);
    EXPECT_EQ(T.exec(), 0xffu);
  }
  for (const std::string &Chip : chipsIn(AllChips)) {
    WaveTester T(Chip);
    ASSERT_TRUE(T.run("s_cmp_eq_u32 0, 0\ns_mov_b32 s0, src_scc\n"
                      "s_mov_b32 m0, 7\ns_mov_b32 s1, m0"))
        << T.error();
    EXPECT_EQ(T.s(0), 1u);
    EXPECT_EQ(T.s(1), 7u);
  }
}
