//===- VectorHalfTest.cpp - f16, bf16 and mixed precision -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 16-bit floating point, packed and not, with half selection.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

#include "lnbwd/ISA/FactTable.h"

#include <cmath>
#include <optional>

using namespace lnbwd;
using namespace lnbwd::sim;

// 0x3c00 is 1.0, 0x4000 2.0, 0x4200 3.0, 0x3800 0.5, 0x7c00 infinity.
TEST(VectorHalf, Arithmetic) {
  runLaneCases({
      // gfx9 clears the high half; later chips keep it.
      {"v_add_f16 v0, v2, v4",
       GFX9,
       {{0x3c00, 0x4000, 0, 0x4200},
        {0x3c00, 0x1000, 0, 0x3c00},
        {0x7bff, 0x7bff, 0, 0x7c00},
        {1, 1, 0, 2}}},
      {"v_add_f16 v0.l, v2.l, v4.l",
       GFX11Plus,
       {{0x3c00, 0x4000, 0, 0xdddd4200}}},
      {"v_add_f16 v0.h, v2.h, v4.l",
       GFX11Plus,
       {{0x3c000000, 0x4000, 0, 0x4200dddd}}},
      {"v_sub_f16 v0, v2, v4", GFX9, {{0x3c00, 0x4000, 0, 0xbc00}}},
      {"v_mul_f16 v0, v2, v4",
       GFX9,
       {{0x4200, 0x4000, 0, 0x4600}, {0x0400, 0x3800, 0, 0x0200}}},
      {"v_mul_f16 v0.l, v2.l, v4.l",
       GFX11Plus,
       {{0x4200, 0x4000, 0, 0xdddd4600}}},
      {"v_fma_f16 v0, v2, v4, v6",
       GFX9,
       {{0x4000, 0x4200, 0x3c00, 0xdddd4700}}},
      {"v_fma_f16 v0.l, v2.l, v4.l, v6.l",
       GFX11Plus,
       {{0x4000, 0x4200, 0x3c00, 0xdddd4700}}},
      // (1 + 2^-10)^2 - 1 = 2^-9 + 2^-20: the product's last bit, a tie here,
      // goes to the even neighbour.
      {"v_fma_f16 v0, v2, v4, v6",
       GFX9,
       {{0x3c01, 0x3c01, 0xbc00, 0xdddd1800},
        {0x3c01, 0x3c03, 0xbc00, 0xdddd1c01}}},
      {"v_max_f16 v0, v2, v4",
       GFX9,
       {{0x3c00, 0x4000, 0, 0x4000}, {0x7e00, 0x4000, 0, 0x4000}}},
      {"v_min_f16 v0.l, v2.l, v4.l",
       GFX1100,
       {{0x3c00, 0x4000, 0, 0xdddd3c00}}},
      {"v_max_num_f16 v0.l, v2.l, v4.l",
       GFX1201,
       {{0x3c00, 0x4000, 0, 0xdddd4000}}},
      {"v_maximum_f16 v0.l, v2.l, v4.l",
       GFX1201,
       {{0x7e00, 0x4000, 0, 0xdddd7e00}}},
      {"v_med3_f16 v0, v2, v4, v6", GFX9, {{0x4200, 0x3c00, 0x4000, 0x4000}}},
      {"v_max3_f16 v0, v2, v4, v6", GFX9, {{0x4200, 0x3c00, 0x4000, 0x4200}}},
      {"v_rcp_f16 v0, v2", GFX9, {{0x4000, 0, 0, 0x3800}}},
      {"v_sqrt_f16 v0, v2", GFX9, {{0x4400, 0, 0, 0x4000}}},
      {"v_rsq_f16 v0, v2", GFX9, {{0x4400, 0, 0, 0x3800}}},
      {"v_exp_f16 v0, v2", GFX9, {{0x4200, 0, 0, 0x4800}}},
      {"v_log_f16 v0, v2", GFX9, {{0x4800, 0, 0, 0x4200}}},
      {"v_rcp_f16 v0.l, v2.l", GFX11Plus, {{0x4000, 0, 0, 0xdddd3800}}},
      {"v_floor_f16 v0, v2", GFX9, {{0xbd00, 0, 0, 0xc000}}},
      {"v_rndne_f16 v0, v2", GFX9, {{0x4100, 0, 0, 0x4000}}},
      {"v_fract_f16 v0, v2", GFX9, {{0x4100, 0, 0, 0x3800}}},
      {"v_frexp_mant_f16 v0, v2", GFX9, {{0x4200, 0, 0, 0x3a00}}},
      {"v_frexp_exp_i16_f16 v0, v2",
       GFX9,
       {{0x4200, 0, 0, 2}, {0x1400, 0, 0, 0xfff7}}},
      {"v_ldexp_f16 v0, v2, v4", GFX9, {{0x3c00, 3, 0, 0x4800}}},
      {"v_div_fixup_f16 v0, v2, v4, v6",
       GFX9,
       {{0x3800, 0x4000, 0x3c00, 0xdddd3800}, {0x3800, 0, 0x3c00, 0xdddd7c00}}},
      {"v_add_f16_e64 v0, -v2, |v4|", GFX9, {{0x3c00, 0xc000, 0, 0x3c00}}},
      {"v_add_f16_e64 v0, v2, v4 clamp", GFX9, {{0x3c00, 0x4000, 0, 0x3c00}}},
      {"v_add_f16 v0, 1.0, v4", GFX9, {{0, 0x4000, 0, 0x4200}}},
      {"v_fma_f16 v0, v2, v4, v6 op_sel:[1,0,0,1]",
       GFX9,
       {{0x40000000, 0x4200, 0x3c00, 0x4700dddd}}},
      {"v_pack_b32_f16 v0, v2, v4", GFX9, {{0x1234, 0x5678, 0, 0x56781234}}},
      {"v_pack_b32_f16 v0, v2, v4 op_sel:[1,1,0]",
       GFX9,
       {{0x12340000, 0x56780000, 0, 0x56781234}}},
      {"v_pack_b32_f16 v0, v2.h, v4.l",
       GFX11Plus,
       {{0x12340000, 0x5678, 0, 0x56781234}}},
  });
}

// gfx9 has instructions that clear the upper half of the destination and some
// that keep it; compilers leave out the clearing where they know of it. The
// first list is that of LLVM (GCNSubtarget::zeroesHigh16BitsOfDest and
// AMDGPUDAGToDAGISel::fp16SrcZerosHighBits); the second is that of Mesa's
// compiler, and of ISA documents where they say that the half is preserved.
TEST(VectorHalf, UpperHalfOfGfx9) {
  const char *const Clears[] = {
      "v_cvt_f16_f32 v0, v2",       "v_cvt_f16_u16 v0, v2",
      "v_cvt_f16_i16 v0, v2",       "v_cvt_u16_f16 v0, v2",
      "v_cvt_i16_f16 v0, v2",       "v_cvt_norm_i16_f16 v0, v2",
      "v_cvt_norm_u16_f16 v0, v2",  "v_rcp_f16 v0, v2",
      "v_rsq_f16 v0, v2",           "v_sqrt_f16 v0, v2",
      "v_log_f16 v0, v2",           "v_exp_f16 v0, v2",
      "v_sin_f16 v0, v2",           "v_cos_f16 v0, v2",
      "v_floor_f16 v0, v2",         "v_ceil_f16 v0, v2",
      "v_trunc_f16 v0, v2",         "v_rndne_f16 v0, v2",
      "v_fract_f16 v0, v2",         "v_frexp_mant_f16 v0, v2",
      "v_frexp_exp_i16_f16 v0, v2", "v_ldexp_f16 v0, v2, v4",
      "v_lshlrev_b16 v0, v2, v4",   "v_lshrrev_b16 v0, v2, v4",
      "v_ashrrev_i16 v0, v2, v4",   "v_add_u16 v0, v2, v4",
      "v_sub_u16 v0, v2, v4",       "v_subrev_u16 v0, v2, v4",
      "v_mul_lo_u16 v0, v2, v4",    "v_add_f16 v0, v2, v4",
      "v_sub_f16 v0, v2, v4",       "v_subrev_f16 v0, v2, v4",
      "v_mul_f16 v0, v2, v4",       "v_max_f16 v0, v2, v4",
      "v_min_f16 v0, v2, v4",       "v_max_u16 v0, v2, v4",
      "v_min_u16 v0, v2, v4",       "v_max_i16 v0, v2, v4",
      "v_min_i16 v0, v2, v4",       "v_mad_legacy_u16 v0, v2, v4, v6",
      "v_min3_f16 v0, v2, v4, v6",  "v_max3_f16 v0, v2, v4, v6",
      "v_med3_f16 v0, v2, v4, v6",  "v_min3_u16 v0, v2, v4, v6",
      "v_max3_u16 v0, v2, v4, v6",  "v_med3_u16 v0, v2, v4, v6",
      "v_min3_i16 v0, v2, v4, v6",  "v_max3_i16 v0, v2, v4, v6",
      "v_med3_i16 v0, v2, v4, v6",
  };
  const char *const Keeps[] = {
      "v_fma_f16 v0, v2, v4, v6",       "v_mad_u16 v0, v2, v4, v6",
      "v_mad_i16 v0, v2, v4, v6",       "v_div_fixup_f16 v0, v2, v4, v6",
      "v_fma_mixlo_f16 v0, v2, v4, v6",
  };
  for (const std::string &Chip : chipsIn(GFX9 | GFX908)) {
    const auto UpperHalf = [&](const char *Text) {
      SCOPED_TRACE(Chip + ": " + Text);
      WaveTester T(Chip);
      // All bits of the sources are set in one lane or another.
      for (unsigned R = 2; R < 8; ++R)
        for (unsigned L = 0; L < T.lanes(); ++L)
          T.v(R)[L] = 0x9e3779b9 * (L + R * 64);
      std::fill_n(T.v(0), T.lanes(), 0xdddddddd);
      EXPECT_TRUE(T.run(Text)) << T.error();
      for (unsigned L = 1; L < T.lanes(); ++L)
        EXPECT_EQ(T.v(0)[L] >> 16, T.v(0)[0] >> 16) << "lane " << L;
      return T.v(0)[0] >> 16;
    };
    for (const char *Text : Clears)
      EXPECT_EQ(UpperHalf(Text), 0u) << Chip << ": " << Text;
    for (const char *Text : Keeps)
      EXPECT_EQ(UpperHalf(Text), 0xddddu) << Chip << ": " << Text;
  }
}

TEST(VectorHalf, Packed) {
  runLaneCases({
      {"v_pk_add_f16 v0, v2, v4",
       AllChips,
       {{0x3c004000, 0x3c003c00, 0, 0x40004200}}},
      {"v_pk_mul_f16 v0, v2, v4",
       AllChips,
       {{0x3c004000, 0x42004200, 0, 0x42004600}}},
      {"v_pk_fma_f16 v0, v2, v4, v6",
       AllChips,
       {{0x3c004000, 0x42004200, 0x3c003c00, 0x44004700}}},
      {"v_pk_max_f16 v0, v2, v4",
       GFX9 | GFX1100,
       {{0x3c004000, 0x42003c00, 0, 0x42004000}}},
      {"v_pk_min_num_f16 v0, v2, v4",
       GFX1201,
       {{0x3c004000, 0x42003c00, 0, 0x3c003c00}}},
      {"v_pk_add_f16 v0, v2, v4 neg_lo:[1,0] neg_hi:[0,1]",
       AllChips,
       {{0x3c003c00, 0x40004000, 0, 0xbc003c00}}},
      {"v_pk_add_f16 v0, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]",
       AllChips,
       {{0x3c004000, 0x00000000, 0, 0x40003c00}}},
      {"v_pk_mul_f16 v0, v2, 2.0 op_sel_hi:[1,0]",
       AllChips,
       {{0x3c004000, 0, 0, 0x40004400}}},
      {"v_pk_add_f16 v0, v2, v4 clamp",
       AllChips,
       {{0x3c003800, 0x3c00b400, 0, 0x3c003400}}},
      {"v_dot2_f32_f16 v0, v2, v4, v6",
       DotChips,
       {{0x3c004000, 0x42004200, f32(1.0f), f32(10.0f)}}},
      {"v_dot2_f32_bf16 v0, v2, v4, v6",
       GFX950 | Dot11Plus,
       {{0x3f804000, 0x40404040, f32(1.0f), f32(10.0f)}}},
      {"v_dot2_f16_f16 v0.l, v2, v4, v6.l",
       Dot11Plus,
       {{0x3c004000, 0x42004200, 0x3c00, 0xdddd4900}}},
      {"v_dot2_bf16_bf16 v0.l, v2, v4, v6.l",
       Dot11Plus,
       {{0x3f804000, 0x40404040, 0x3f80, 0xdddd4120}}},
      {"v_pk_maximum3_f16 v0, v2, v4, v6",
       GFX950,
       {{0x3c004000, 0x42003c00, 0x3c007e00, 0x42007e00}}},
  });
}

// MI200's counts subnormal numbers as 0, whatever MODE says.
TEST(VectorHalf, SubnormalsOfDotProducts) {
  const std::vector<LaneRow> Kept = {
      {0x03ff, 0x3c00, f32(1.0f), f32(1.0f + 0x3ffp-24f)},
      {0x3c000000, 0x80010000, 0, f32(-0x1p-24f)},
      {0, 0, 0x007fffff, 0x007fffff},
      {0x0400, 0x0400, 0, f32(0x1p-28f)}};
  const std::vector<LaneRow> Flushed = {{0x03ff, 0x3c00, f32(1.0f), f32(1.0f)},
                                        {0x3c000000, 0x80010000, 0, 0},
                                        {0, 0, 0x007fffff, 0},
                                        {0x0400, 0x0400, 0, f32(0x1p-28f)}};
  runLaneCases({
      {"v_dot2_f32_f16 v0, v2, v4, v6", DotChips & ~GFX90A, Kept},
      {"v_dot2_f32_f16 v0, v2, v4, v6", GFX90A, Flushed},
      {"v_mov_b32 v0, v6\nv_dot2c_f32_f16 v0, v2, v4", GFX908 | GFX942 | GFX950,
       Kept},
      {"v_mov_b32 v0, v6\nv_dot2c_f32_f16 v0, v2, v4", GFX90A, Flushed},
  });
}

TEST(VectorHalf, Mixed) {
  runLaneCases({
      {"v_fma_mix_f32 v0, v2, v4, v6",
       AllChips,
       {{f32(2.0f), f32(3.0f), f32(1.0f), f32(7.0f)}}},
      {"v_fma_mix_f32 v0, v2, v4, v6 op_sel_hi:[1,0,0]",
       AllChips,
       {{0x4000, f32(3.0f), f32(1.0f), f32(7.0f)}}},
      {"v_fma_mix_f32 v0, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
       AllChips,
       {{0x40000000, f32(3.0f), 0x3c00, f32(7.0f)}}},
      {"v_fma_mix_f32 v0, -v2, |v4|, v6 op_sel_hi:[1,0,0]",
       AllChips,
       {{0x4000, f32(-3.0f), f32(1.0f), f32(-5.0f)}}},
      {"v_fma_mixlo_f16 v0, v2, v4, v6",
       AllChips,
       {{f32(2.0f), f32(3.0f), f32(1.0f), 0xdddd4700}}},
      {"v_fma_mixhi_f16 v0, v2, v4, v6",
       AllChips,
       {{f32(2.0f), f32(3.0f), f32(1.0f), 0x4700dddd}}},
      {"v_fma_mixlo_f16 v0, v2, v4, 0",
       AllChips,
       {{f32(2.0f), f32(3.0f), 0, 0xdddd4600}}},
  });
}

// The same constant is another number in an operand of f16. Its bits are then
// in the low half; above them there are zeros, or the sign of an integer.
TEST(VectorHalf, MixedConstants) {
  runLaneCases({
      // As f32.
      {"v_fma_mix_f32 v0, v2, v4, 1.0",
       AllChips,
       {{f32(2.0f), f32(3.0f), 0, f32(7.0f)}}},
      {"v_fma_mix_f32 v0, v2, -4.0, v6 op_sel_hi:[1,0,1]",
       AllChips,
       {{0x4000, 0, 0x3c00, f32(-7.0f)}}},
      {"v_fma_mix_f32 v0, v2, 1, v6", AllChips, {{f32(1.0f), 0, 0, 1}}},
      // As f16.
      {"v_fma_mix_f32 v0, v2, v4, 1.0 op_sel_hi:[0,0,1]",
       AllChips,
       {{f32(2.0f), f32(3.0f), 0, f32(7.0f)}}},
      {"v_fma_mix_f32 v0, 0.5, v4, -2.0 op_sel_hi:[1,1,1]",
       AllChips,
       {{0, 0x4200, 0, f32(-0.5f)}}},
      {"v_fma_mix_f32 v0, -|-4.0|, v4, v6 op_sel_hi:[1,0,0]",
       AllChips,
       {{0, f32(3.0f), f32(1.0f), f32(-11.0f)}}},
      // 1 / (2 pi) has fewer digits.
      {"v_fma_mix_f32 v0, v2, 0.15915494, 0",
       AllChips,
       {{f32(1.0f), 0, 0, 0x3e22f983}}},
      {"v_fma_mix_f32 v0, v2, 0.15915494, 0 op_sel_hi:[0,1,0]",
       AllChips,
       {{f32(1.0f), 0, 0, 0x3e230000}}},
      // Integers are bits.
      {"v_fma_mix_f32 v0, v2, 1, v6 op_sel_hi:[0,1,0]",
       AllChips,
       {{f32(1.0f), 0, 0, f32(0x1p-24f)}}},
      {"v_fma_mix_f32 v0, v2, 64, v6 op_sel_hi:[0,1,0]",
       AllChips,
       {{f32(1.0f), 0, 0, f32(0x1p-18f)}}},
      // The upper half: zeros.
      {"v_fma_mix_f32 v0, v2, 2.0, v6 op_sel:[0,1,0] op_sel_hi:[0,1,0]",
       AllChips,
       {{f32(3.0f), 0, f32(5.0f), f32(5.0f)}}},
      {"v_fma_mix_f32 v0, v2, 7, v6 op_sel:[0,1,0] op_sel_hi:[0,1,0]",
       AllChips,
       {{f32(3.0f), 0, f32(5.0f), f32(5.0f)}}},
      {"v_fma_mixlo_f16 v0, v2, 2.0, 1.0 op_sel_hi:[0,1,1]",
       AllChips,
       {{f32(3.0f), 0, 0, 0xdddd4700}}},
      {"v_fma_mixhi_f16 v0, 4.0, v4, 0.5 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
       AllChips,
       {{0, 0x42000000, 0, 0x4a40dddd}}},
  });
  // A literal has all of its bits.
  runLaneCases({
      {"v_fma_mix_f32 v0, v2, 0x4200, v6 op_sel_hi:[0,1,0]",
       GFX1030 | GFX11Plus,
       {{f32(2.0f), 0, f32(1.0f), f32(7.0f)}}},
  });
}

// The fused f16 multiply-add must round once. Every result is compared with one
// computed exactly: products and sums of f16 fit into 80-bit long double.
TEST(VectorHalf, FmaRoundsOnce) {
  auto Value = [](uint32_t H) {
    int E = H >> 10 & 31;
    double M = H & 0x3ff;
    double X = E ? std::ldexp(1024 + M, E - 25) : std::ldexp(M, -24);
    return H & 0x8000 ? -X : X;
  };
  WaveTester T("gfx942");
  uint32_t State = 12345;
  auto Next = [&] {
    State = State * 1664525 + 1013904223;
    return State >> 16;
  };
  for (unsigned Round = 0; Round < 200; ++Round) {
    for (unsigned L = 0; L < 64; ++L)
      for (unsigned R = 2; R < 5; ++R) {
        uint32_t H = Next() & 0xffff;
        T.v(R)[L] = (H & 0x7c00) == 0x7c00 ? H & 0xfbff : H;
      }
    ASSERT_TRUE(T.run("v_fma_f16 v0, v2, v3, v4")) << T.error();
    for (unsigned L = 0; L < 64; ++L) {
      long double Exact =
          (long double)Value(T.v(2)[L]) * Value(T.v(3)[L]) + Value(T.v(4)[L]);
      uint32_t Got = T.v(0)[L] & 0xffff;
      if ((Got & 0x7c00) == 0x7c00) {
        EXPECT_GE(std::fabs((double)Exact), 65520.0);
        continue;
      }
      // No other f16 is closer; a tie goes to the even one.
      long double Error = std::fabs((double)(Exact - Value(Got)));
      for (int Step : {-1, 1}) {
        uint32_t Other = (Got & 0x7fff) == 0 && Step < 0 ? (Got ^ 0x8000) | 1
                                                         : Got + uint32_t(Step);
        if ((Other & 0x7c00) == 0x7c00)
          continue;
        long double OtherError = std::fabs((double)(Exact - Value(Other)));
        EXPECT_TRUE(Error < OtherError || (Error == OtherError && !(Got & 1)))
            << std::hex << T.v(2)[L] << " " << T.v(3)[L] << " " << T.v(4)[L]
            << " " << Got;
      }
    }
  }
}

namespace {
/// A source of a packed or mixed operation, and the registers that stand for
/// it.
struct Form {
  const char *Text; ///< null: a register
  bool Low, High;   ///< its bits in op_sel and op_sel_hi
  uint32_t Register;
};
} // namespace

/// The forms of a source, each as good as the first one.
static std::vector<Form> formsOf(OperandType T) {
  switch (T) {
  case OperandType::Mix:
    return {{nullptr, false, false, f32(2.0f)},
            {"2.0", false, false, 0},
            {nullptr, false, true, 0x12344000},
            {nullptr, true, true, 0x40001234},
            {"2.0", false, true, 0}};
  case OperandType::PkF16:
    return {{nullptr, false, true, 0x00004000}, {"2.0", false, true, 0}};
  case OperandType::PkI16:
    return {{nullptr, false, true, 0x00000007}, {"7", false, true, 0}};
  case OperandType::PkF32:
    return {{nullptr, false, false, f32(2.0f)}, {"2.0", false, false, 0}};
  default:
    return {};
  }
}

/// A list of bits of sources, where they are not what is usual.
static std::string bitList(const char *Name, const std::vector<bool> &Bits,
                           const std::vector<bool> &Usual) {
  if (Bits == Usual)
    return "";
  std::string Text = std::string(" ") + Name + ":[";
  for (size_t K = 0; K < Bits.size(); ++K)
    Text += (K ? "," : "") + std::to_string(int(Bits[K]));
  return Text + "]";
}

/// What an operation makes of registers in which source Which has a form, or
/// nothing if the chip does not have the operation.
static std::optional<uint64_t> runForm(const std::string &Chip,
                                       llvm::StringRef Mnemonic,
                                       const LaneOpInfo &Op, unsigned Which,
                                       const Form &F) {
  WaveTester T(Chip);
  const bool Wide = rowsOf(Op.Dst) == 2;
  std::string Text = Mnemonic.str() + (Wide ? " v[0:1]" : " v0");
  std::vector<bool> Low, High, UsualHigh;
  for (unsigned K = 0; K < 4 && Op.Src[K] != OperandType::None; ++K) {
    const OperandType Type = Op.Src[K];
    const unsigned R = 2 + 2 * K;
    const bool Here = K == Which;
    T.v(R)[0] = Here                         ? F.Register
                : Type == OperandType::PkF16 ? 0x42003c00
                                             : f32(3.0f);
    T.v(R + 1)[0] = f32(5.0f);
    Low.push_back(Here && F.Low);
    UsualHigh.push_back(Type != OperandType::Mix);
    High.push_back(Here ? F.High : UsualHigh.back());
    const std::string Name = std::to_string(R);
    Text += ", " + (Here && F.Text ? std::string(F.Text)
                    : rowsOf(Type) == 2
                        ? "v[" + Name + ":" + std::to_string(R + 1) + "]"
                        : "v" + Name);
  }
  Text += bitList("op_sel", Low, std::vector<bool>(Low.size())) +
          bitList("op_sel_hi", High, UsualHigh);
  if (!T.run(Text)) {
    // The text is the same but for the form.
    EXPECT_FALSE(F.Text) << Chip << ": " << Text << ": " << T.error();
    return std::nullopt;
  }
  return T.v(0)[0] | (Wide ? uint64_t(T.v(1)[0]) << 32 : 0);
}

// Each form of each source gives what a register with the same number gives.
TEST(VectorHalf, FormsOfOperands) {
  const ExecTable &Table = hostExecTable();
  unsigned Compared = 0;
  for (const std::string &Chip : chipsIn(AllChips))
    for (TableRef<LaneOpInfo> Ops : Table.LaneOps)
      for (unsigned J = 0; J < Ops.Size; ++J) {
        const LaneOpInfo &Op = Ops.Begin[J];
        if (Op.Flags & LaneAccumulate)
          continue; // Another encoding, without op_sel.
        for (llvm::StringRef Name : isa::canonicalNames(Op.Names))
          for (unsigned Which = 0; Which < 4; ++Which) {
            const std::vector<Form> Forms = formsOf(Op.Src[Which]);
            if (Forms.empty())
              continue;
            const auto Expected = runForm(Chip, Name, Op, Which, Forms[0]);
            if (!Expected)
              break;
            for (Form F : Forms) {
              // bf16 of a constant is the upper half of f32's.
              if (F.Text && F.High && Op.Src[Which] == OperandType::Mix &&
                  Op.Flags & LaneMixesBFloat)
                F.Low = true;
              EXPECT_EQ(runForm(Chip, Name, Op, Which, F), Expected)
                  << Chip << " " << Name.str() << ", source " << Which << ": "
                  << (F.Text ? F.Text : "register") << " " << F.Low << F.High;
              ++Compared;
            }
          }
      }
  EXPECT_GT(Compared, 500u);
}
