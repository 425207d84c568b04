//===- VectorConvertTest.cpp - Conversions --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every v_cvt instruction, with saturation, NaN and rounding.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

using namespace lnbwd::sim;

TEST(VectorConvert, Half) {
  runLaneCases({
      {"v_cvt_f16_f32 v0, v2",
       GFX9,
       {{f32(1.0f), 0, 0, 0x3c00},
        {f32(65519.0f), 0, 0, 0x7bff},
        {f32(65520.0f), 0, 0, 0x7c00},
        {f32(0x1p-24f), 0, 0, 1},
        {f32(0x1p-25f), 0, 0, 0},
        {f32(0x1.8p-25f), 0, 0, 1},
        {f32(1.0f + 0x1p-11f), 0, 0, 0x3c00},
        {f32(1.0f + 0x1.8p-10f), 0, 0, 0x3c02},
        {NaN32, 0, 0, 0x7e00},
        {f32(-2.0f), 0, 0, 0xc000}}},
      {"v_cvt_f16_f32 v0.l, v2", GFX11Plus, {{f32(1.0f), 0, 0, 0xdddd3c00}}},
      {"v_cvt_f16_f32 v0.h, v2", GFX11Plus, {{f32(1.0f), 0, 0, 0x3c00dddd}}},
      {"v_cvt_f32_f16 v0, v2",
       GFX9,
       {{0x3c00, 0, 0, f32(1.0f)},
        {0x0001, 0, 0, f32(0x1p-24f)},
        {0x7c00, 0, 0, Inf32},
        {0x7c01, 0, 0, 0x7fc02000},
        {0x8000, 0, 0, f32(-0.0f)},
        {0x03ff, 0, 0, f32(1023 * 0x1p-24f)}}},
      {"v_cvt_f32_f16 v0, v2.h", GFX11Plus, {{0x3c000000, 0, 0, f32(1.0f)}}},
      {"v_cvt_pkrtz_f16_f32 v0, v2, v4",
       GFX9,
       {{f32(1.0f + 0x1.8p-10f), f32(70000.0f), 0, 0x7bff3c01},
        {f32(-0x1.8p-24f), Inf32, 0, 0x7c008001}}},
      {"v_cvt_pk_rtz_f16_f32 v0, v2, v4",
       GFX11Plus,
       {{f32(1.0f), f32(2.0f), 0, 0x40003c00}}},
      {"v_cvt_pk_f16_f32 v0, v2, v4",
       GFX950,
       {{f32(1.0f), f32(65519.0f), 0, 0x7bff3c00}}},
      {"v_cvt_pk_bf16_f32 v0, v2, v4",
       GFX950,
       {{f32(1.0f), f32(1.0f + 0x1p-8f), 0, 0x3f803f80},
        {f32(1.0f + 0x1.8p-7f), NaN32, 0, 0x7fc03f82},
        {0x7f7fffff, 0x7f800001, 0, 0x7fc07f80}}},
      {"v_cvt_f16_u16 v0, v2", GFX9, {{3, 0, 0, 0x4200}}},
      {"v_cvt_f16_i16 v0, v2", GFX9, {{0xffff, 0, 0, 0xbc00}}},
      {"v_cvt_u16_f16 v0, v2",
       GFX9,
       {{0x4200, 0, 0, 3},
        {0xbc00, 0, 0, 0},
        {0x7c00, 0, 0, 0xffff},
        {0x7e00, 0, 0, 0}}},
      {"v_cvt_i16_f16 v0, v2",
       GFX9,
       {{0xc200, 0, 0, 0xfffd}, {0x7c00, 0, 0, 0x7fff}}},
  });
}

TEST(VectorConvert, Integers) {
  runLaneCases({
      {"v_cvt_f32_i32 v0, v2",
       AllChips,
       {{0xfffffffb, 0, 0, f32(-5.0f)},
        {0x7fffffff, 0, 0, f32(2147483648.0f)}}},
      {"v_cvt_f32_u32 v0, v2",
       AllChips,
       {{0xffffffff, 0, 0, f32(4294967296.0f)},
        {16777217, 0, 0, f32(16777216.0f)}}},
      {"v_cvt_u32_f32 v0, v2",
       AllChips,
       {{f32(3.99f), 0, 0, 3},
        {f32(-1.0f), 0, 0, 0},
        {f32(5e9f), 0, 0, 0xffffffff},
        {NaN32, 0, 0, 0}}},
      {"v_cvt_i32_f32 v0, v2",
       AllChips,
       {{f32(-3.99f), 0, 0, 0xfffffffd},
        {f32(5e9f), 0, 0, 0x7fffffff},
        {f32(-5e9f), 0, 0, 0x80000000},
        {NaN32, 0, 0, 0}}},
      {"v_cvt_rpi_i32_f32 v0, v2",
       GFX9,
       {{f32(2.5f), 0, 0, 3}, {f32(-2.5f), 0, 0, 0xfffffffe}}},
      {"v_cvt_nearest_i32_f32 v0, v2", GFX11Plus, {{f32(2.5f), 0, 0, 3}}},
      {"v_cvt_flr_i32_f32 v0, v2", GFX9, {{f32(-2.5f), 0, 0, 0xfffffffd}}},
      {"v_cvt_floor_i32_f32 v0, v2",
       GFX11Plus,
       {{f32(-2.5f), 0, 0, 0xfffffffd}}},
      {"v_cvt_f32_ubyte0 v0, v2", AllChips, {{0x44332211, 0, 0, f32(17.0f)}}},
      {"v_cvt_f32_ubyte1 v0, v2", AllChips, {{0x44332211, 0, 0, f32(34.0f)}}},
      {"v_cvt_f32_ubyte2 v0, v2", AllChips, {{0x44332211, 0, 0, f32(51.0f)}}},
      {"v_cvt_f32_ubyte3 v0, v2", AllChips, {{0xff332211, 0, 0, f32(255.0f)}}},
      {"v_cvt_off_f32_i4 v0, v2",
       AllChips,
       {{8, 0, 0, f32(-0.5f)}, {7, 0, 0, f32(0.4375f)}}},
      {"v_cvt_pk_u8_f32 v0, v2, v4, v6",
       AllChips,
       {{f32(2.5f), 1, 0x11223344, 0x11220244},
        {f32(300.0f), 3, 0, 0xff000000}}},
      {"v_cvt_pknorm_i16_f32 v0, v2, v4",
       GFX9,
       {{f32(1.0f), f32(-1.0f), 0, 0x80017fff}}},
      {"v_cvt_pk_norm_u16_f32 v0, v2, v4",
       GFX11Plus,
       {{f32(1.0f), f32(0.5f), 0, 0x8000ffff}}},
  });
}

TEST(VectorConvert, Double) {
  runLaneCases({
      {"v_cvt_f64_f32 v[0:1], v2", AllChips, {{f32(1.5f), 0, 0, f64(1.5)}}},
      {"v_cvt_f32_f64 v0, v[2:3]",
       AllChips,
       {{f64(1.0 + 0x1p-24), 0, 0, f32(1.0f)}, {f64(1e300), 0, 0, Inf32}}},
      {"v_cvt_f64_i32 v[0:1], v2", AllChips, {{0xfffffffb, 0, 0, f64(-5.0)}}},
      {"v_cvt_f64_u32 v[0:1], v2",
       AllChips,
       {{0xffffffff, 0, 0, f64(4294967295.0)}}},
      {"v_cvt_i32_f64 v0, v[2:3]",
       AllChips,
       {{f64(-3.99), 0, 0, 0xfffffffd}, {f64(1e10), 0, 0, 0x7fffffff}}},
      {"v_cvt_u32_f64 v0, v[2:3]",
       AllChips,
       {{f64(4294967295.5), 0, 0, 0xffffffff}, {NaN64, 0, 0, 0}}},
  });
}
