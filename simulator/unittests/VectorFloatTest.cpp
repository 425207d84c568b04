//===- VectorFloatTest.cpp - f32 and f64 vector instructions --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values, special values, modes and modifiers.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace lnbwd::sim;

TEST(VectorFloat, Arithmetic) {
  runLaneCases({
      {"v_add_f32 v0, v2, v4",
       AllChips,
       {{f32(1.5f), f32(2.25f), 0, f32(3.75f)},
        {f32(1.0f), f32(0x1p-24f), 0, f32(1.0f)}, // tie to even
        {f32(1.0f), f32(0x1.8p-23f), 0, f32(1.0f + 0x1p-22f)},
        {Inf32, f32(1.0f), 0, Inf32},
        {1, 1, 0, 2}, // denormals are kept
        {f32(3e38f), f32(3e38f), 0, Inf32}}},
      {"v_sub_f32 v0, v2, v4",
       AllChips,
       {{f32(1.5f), f32(2.25f), 0, f32(-0.75f)}, {f32(1.0f), f32(1.0f), 0, 0}}},
      {"v_subrev_f32 v0, v2, v4",
       AllChips,
       {{f32(1.5f), f32(2.25f), 0, f32(0.75f)}}},
      {"v_mul_f32 v0, v2, v4",
       AllChips,
       {{f32(1.5f), f32(-2.0f), 0, f32(-3.0f)},
        {f32(0x1p-100f), f32(0x1p-40f), 0, 0x00000200}}},
      {"v_fma_f32 v0, v2, v4, v6",
       AllChips,
       {{f32(2.0f), f32(3.0f), f32(4.0f), f32(10.0f)},
        // One rounding: the product's low part survives.
        {f32(1.0f + 0x1p-23f), f32(1.0f - 0x1p-23f), f32(-1.0f),
         f32(-0x1p-46f)}}},
      {"v_fmac_f32 v0, v2, v4",
       GFX90A | GFX942 | GFX950 | GFX11Plus,
       {{0, f32(3.0f), 0, 0xdddddddd}}},
      {"v_fmaak_f32 v0, v2, v4, 0x41200000",
       GFX942 | GFX950 | GFX11Plus,
       {{f32(2.0f), f32(3.0f), 0, f32(16.0f)}}},
      {"v_fmamk_f32 v0, v2, 0x41200000, v4",
       GFX942 | GFX950 | GFX11Plus,
       {{f32(2.0f), f32(3.0f), 0, f32(23.0f)}}},
      {"v_mul_legacy_f32 v0, v2, v4",
       GFX90A,
       {{0, Inf32, 0, 0}, {f32(2.0f), f32(3.0f), 0, f32(6.0f)}}},
      {"v_mul_dx9_zero_f32 v0, v2, v4", GFX11Plus, {{0, NaN32, 0, 0}}},
      {"v_max_f32 v0, v2, v4",
       GFX9 | GFX1100,
       {{f32(1.0f), f32(2.0f), 0, f32(2.0f)},
        {NaN32, f32(2.0f), 0, f32(2.0f)},
        {f32(2.0f), NaN32, 0, f32(2.0f)},
        {f32(-0.0f), 0, 0, 0},
        {0x7f800001, f32(2.0f), 0, 0x7fc00001}}}, // IEEE mode: sNaN is quieted
      {"v_min_f32 v0, v2, v4",
       GFX9 | GFX1100,
       {{f32(1.0f), f32(2.0f), 0, f32(1.0f)},
        {0, f32(-0.0f), 0, f32(-0.0f)},
        {NaN32, f32(2.0f), 0, f32(2.0f)}}},
      {"v_max_num_f32 v0, v2, v4",
       GFX1201,
       {{NaN32, f32(2.0f), 0, f32(2.0f)},
        {0x7f800001, f32(2.0f), 0, f32(2.0f)}}},
      {"v_min_num_f32 v0, v2, v4",
       GFX1201,
       {{f32(1.0f), f32(2.0f), 0, f32(1.0f)}}},
      {"v_maximum_f32 v0, v2, v4",
       GFX1201,
       {{NaN32, f32(2.0f), 0, NaN32}, {f32(1.0f), f32(2.0f), 0, f32(2.0f)}}},
      {"v_minimum_f32 v0, v2, v4", GFX1201, {{f32(1.0f), NaN32, 0, NaN32}}},
      {"v_maximum3_f32 v0, v2, v4, v6",
       GFX950 | GFX1201,
       {{f32(1.0f), f32(2.0f), f32(3.0f), f32(3.0f)},
        {f32(1.0f), NaN32, f32(3.0f), NaN32}}},
      {"v_max3_f32 v0, v2, v4, v6",
       GFX9 | GFX1100,
       {{f32(1.0f), f32(3.0f), f32(2.0f), f32(3.0f)}}},
      {"v_min3_f32 v0, v2, v4, v6",
       GFX9 | GFX1100,
       {{f32(1.0f), f32(3.0f), NaN32, f32(1.0f)}}},
      {"v_med3_f32 v0, v2, v4, v6",
       GFX9 | GFX1100,
       {{f32(1.0f), f32(3.0f), f32(2.0f), f32(2.0f)},
        {f32(3.0f), f32(1.0f), f32(2.0f), f32(2.0f)},
        {f32(3.0f), f32(1.0f), NaN32, f32(1.0f)}}},
      {"v_max3_num_f32 v0, v2, v4, v6",
       GFX1201,
       {{f32(1.0f), f32(3.0f), f32(2.0f), f32(3.0f)}}},
      {"v_med3_num_f32 v0, v2, v4, v6",
       GFX1201,
       {{f32(3.0f), f32(1.0f), f32(2.0f), f32(2.0f)}}},
      {"v_maxmin_f32 v0, v2, v4, v6",
       GFX1100,
       {{f32(1.0f), f32(3.0f), f32(2.0f), f32(2.0f)}}},
      {"v_minmax_num_f32 v0, v2, v4, v6",
       GFX1201,
       {{f32(1.0f), f32(3.0f), f32(2.0f), f32(2.0f)}}},
  });
}

TEST(VectorFloat, FmacAccumulates) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(0)[L] = f32(float(L));
      T.v(1)[L] = f32(3.0f);
    }
    ASSERT_TRUE(T.run("v_fmac_f32 v0, 2.0, v1\nv_fmac_f32_e64 v0, -v1, |v1|"))
        << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L)
      EXPECT_EQ(T.v(0)[L], f32(float(L) + 6.0f - 9.0f));
  }
}

TEST(VectorFloat, Modifiers) {
  runLaneCases({
      {"v_add_f32_e64 v0, -v2, |v4|",
       AllChips,
       {{f32(1.5f), f32(-2.0f), 0, f32(0.5f)}}},
      {"v_add_f32_e64 v0, -|v2|, v4",
       AllChips,
       {{f32(-1.5f), f32(1.0f), 0, f32(-0.5f)}}},
      {"v_add_f32_e64 v0, v2, v4 clamp",
       AllChips,
       {{f32(1.5f), f32(1.0f), 0, f32(1.0f)},
        {f32(-1.5f), f32(1.0f), 0, 0},
        {f32(0.25f), f32(0.5f), 0, f32(0.75f)},
        {NaN32, 0, 0, 0}}},
      {"v_mul_f32_e64 v0, v2, v4 mul:2",
       AllChips,
       {{f32(1.5f), f32(2.0f), 0, f32(6.0f)}}},
      {"v_mul_f32_e64 v0, v2, v4 mul:4",
       AllChips,
       {{f32(1.5f), f32(2.0f), 0, f32(12.0f)}}},
      {"v_mul_f32_e64 v0, v2, v4 div:2",
       AllChips,
       {{f32(1.5f), f32(2.0f), 0, f32(1.5f)}}},
      {"v_mul_f32_e64 v0, v2, v4 clamp mul:2",
       AllChips,
       {{f32(0.375f), f32(1.0f), 0, f32(0.75f)},
        {f32(0.75f), f32(1.0f), 0, f32(1.0f)}}},
      {"v_add_f32 v0, 0.5, v4", AllChips, {{0, f32(2.0f), 0, f32(2.5f)}}},
      {"v_mul_f32 v0, 0.15915494, v4",
       AllChips,
       {{0, f32(1.0f), 0, 0x3e22f983}}},
      {"v_add_f32 v0, 0x3fc00000, v4",
       AllChips,
       {{0, f32(2.0f), 0, f32(3.5f)}}},
      // An integer inline constant is the bits of a denormal.
      {"v_add_f32 v0, 1, v4", AllChips, {{0, 0, 0, 1}}},
  });
}

TEST(VectorFloat, ScalarOperands) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.s(7) = f32(2.5f);
    for (unsigned L = 0; L < T.lanes(); ++L)
      T.v(2)[L] = f32(float(L));
    ASSERT_TRUE(T.run("v_add_f32 v0, s7, v2")) << T.error();
    for (unsigned L = 0; L < T.lanes(); ++L)
      EXPECT_EQ(T.v(0)[L], f32(float(L) + 2.5f));
  }
}

TEST(VectorFloat, Transcendentals) {
  runLaneCases({
      {"v_rcp_f32 v0, v2",
       AllChips,
       {{f32(4.0f), 0, 0, f32(0.25f)},
        {f32(3.0f), 0, 0, f32(1.0f / 3.0f)},
        {0, 0, 0, Inf32},
        {f32(-0.0f), 0, 0, 0xff800000},
        {Inf32, 0, 0, 0},
        {1, 0, 0, Inf32}}},
      {"v_rcp_iflag_f32 v0, v2", AllChips, {{f32(8.0f), 0, 0, f32(0.125f)}}},
      {"v_rsq_f32 v0, v2",
       AllChips,
       {{f32(4.0f), 0, 0, f32(0.5f)}, {0, 0, 0, Inf32}, {Inf32, 0, 0, 0}}},
      {"v_sqrt_f32 v0, v2",
       AllChips,
       {{f32(9.0f), 0, 0, f32(3.0f)}, {f32(2.0f), 0, 0, f32(1.41421356f)}}},
      {"v_exp_f32 v0, v2",
       AllChips,
       {{f32(3.0f), 0, 0, f32(8.0f)},
        {f32(-1.0f), 0, 0, f32(0.5f)},
        {f32(-149.0f), 0, 0, 0},
        {f32(128.0f), 0, 0, Inf32}}},
      {"v_log_f32 v0, v2",
       AllChips,
       {{f32(8.0f), 0, 0, f32(3.0f)},
        {f32(0.5f), 0, 0, f32(-1.0f)},
        {0, 0, 0, 0xff800000}}},
      // The argument counts turns.
      {"v_sin_f32 v0, v2",
       AllChips,
       {{f32(0.25f), 0, 0, f32(1.0f)}, {0, 0, 0, 0}}},
      {"v_cos_f32 v0, v2",
       AllChips,
       {{f32(0.5f), 0, 0, f32(-1.0f)}, {0, 0, 0, f32(1.0f)}}},
      {"v_rcp_f64 v[0:1], v[2:3]", AllChips, {{f64(4.0), 0, 0, f64(0.25)}}},
      {"v_rsq_f64 v[0:1], v[2:3]", AllChips, {{f64(4.0), 0, 0, f64(0.5)}}},
      {"v_sqrt_f64 v[0:1], v[2:3]", AllChips, {{f64(9.0), 0, 0, f64(3.0)}}},
  });
}

TEST(VectorFloat, Rounding) {
  runLaneCases({
      {"v_floor_f32 v0, v2", AllChips, {{f32(-1.25f), 0, 0, f32(-2.0f)}}},
      {"v_ceil_f32 v0, v2",
       AllChips,
       {{f32(-1.25f), 0, 0, f32(-1.0f)}, {f32(-0.5f), 0, 0, f32(-0.0f)}}},
      {"v_trunc_f32 v0, v2", AllChips, {{f32(-1.75f), 0, 0, f32(-1.0f)}}},
      {"v_rndne_f32 v0, v2",
       AllChips,
       {{f32(2.5f), 0, 0, f32(2.0f)},
        {f32(3.5f), 0, 0, f32(4.0f)},
        {f32(-0.25f), 0, 0, f32(-0.0f)},
        {f32(1e20f), 0, 0, f32(1e20f)},
        {f32(8388609.0f), 0, 0, f32(8388609.0f)}}},
      {"v_fract_f32 v0, v2",
       AllChips,
       {{f32(1.25f), 0, 0, f32(0.25f)}, {f32(-0x1p-30f), 0, 0, 0x3f7fffff}}},
      {"v_frexp_mant_f32 v0, v2",
       AllChips,
       {{f32(12.0f), 0, 0, f32(0.75f)},
        {Inf32, 0, 0, Inf32},
        {1, 0, 0, f32(0.5f)}}},
      {"v_frexp_exp_i32_f32 v0, v2",
       AllChips,
       {{f32(12.0f), 0, 0, 4},
        {0, 0, 0, 0},
        {Inf32, 0, 0, 0},
        {1, 0, 0, uint32_t(-148)}}},
      {"v_ldexp_f32 v0, v2, v4",
       AllChips,
       {{f32(1.5f), 4, 0, f32(24.0f)}, {f32(1.0f), uint32_t(-149), 0, 1}}},
      {"v_floor_f64 v[0:1], v[2:3]", AllChips, {{f64(-1.25), 0, 0, f64(-2.0)}}},
      {"v_ceil_f64 v[0:1], v[2:3]", AllChips, {{f64(1.25), 0, 0, f64(2.0)}}},
      {"v_trunc_f64 v[0:1], v[2:3]", AllChips, {{f64(-1.75), 0, 0, f64(-1.0)}}},
      {"v_rndne_f64 v[0:1], v[2:3]", AllChips, {{f64(2.5), 0, 0, f64(2.0)}}},
      {"v_fract_f64 v[0:1], v[2:3]", AllChips, {{f64(2.75), 0, 0, f64(0.75)}}},
      {"v_frexp_mant_f64 v[0:1], v[2:3]",
       AllChips,
       {{f64(12.0), 0, 0, f64(0.75)}}},
      {"v_frexp_exp_i32_f64 v0, v[2:3]", AllChips, {{f64(12.0), 0, 0, 4}}},
      {"v_ldexp_f64 v[0:1], v[2:3], v4",
       AllChips,
       {{f64(1.5), 4, 0, f64(24.0)}}},
  });
}

TEST(VectorFloat, Double) {
  runLaneCases({
      {"v_add_f64 v[0:1], v[2:3], v[4:5]",
       AllChips,
       {{f64(1.5), f64(2.25), 0, f64(3.75)},
        {f64(1.0), f64(0x1p-53), 0, f64(1.0)}}},
      {"v_mul_f64 v[0:1], v[2:3], v[4:5]",
       AllChips,
       {{f64(1.5), f64(-2.0), 0, f64(-3.0)}}},
      {"v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
       AllChips,
       {{f64(1.0 + 0x1p-52), f64(1.0 - 0x1p-52), f64(-1.0), f64(-0x1p-104)}}},
      {"v_max_f64 v[0:1], v[2:3], v[4:5]",
       GFX9 | GFX1100,
       {{f64(1.5), f64(2.0), 0, f64(2.0)}, {NaN64, f64(2.0), 0, f64(2.0)}}},
      {"v_min_num_f64 v[0:1], v[2:3], v[4:5]",
       GFX1201,
       {{f64(1.5), f64(2.0), 0, f64(1.5)}}},
      {"v_maximum_f64 v[0:1], v[2:3], v[4:5]",
       GFX1201,
       {{NaN64, f64(2.0), 0, NaN64}}},
      {"v_add_f64 v[0:1], -v[2:3], |v[4:5]|",
       AllChips,
       {{f64(1.5), f64(-2.0), 0, f64(0.5)}}},
      {"v_add_f64 v[0:1], v[2:3], 1.0", AllChips, {{f64(1.5), 0, 0, f64(2.5)}}},
      // The literal is the high dword.
      {"v_add_f64 v[0:1], v[2:3], 0x40240000",
       GFX11Plus,
       {{f64(1.5), 0, 0, f64(11.5)}}},
  });
}

/// What a division is of: bits, quotient, registers of an operand.
struct SingleDivision {
  using Number = float;
  static constexpr int Registers = 1, Least = -149, Most = 127, Step = 6;
  static std::string at(unsigned R) { return "v" + std::to_string(R); }
  static constexpr const char *Type = "f32";
};
struct DoubleDivision {
  using Number = double;
  static constexpr int Registers = 2, Least = -1074, Most = 1023, Step = 43;
  static std::string at(unsigned R) {
    return "v[" + std::to_string(R) + ":" + std::to_string(R + 1) + "]";
  }
  static constexpr const char *Type = "f64";
};

/// The sequence that LLVM emits for v[2] / v[4], with the result in v[0].
template <typename T> static std::string divisionSequence(bool IsWave64) {
  const auto V = [](unsigned R) { return T::at(R); };
  const std::string Y = V(4), X = V(2), Scaled = V(10), Numerator = V(12),
                    Inverse = V(14), Error = V(16), Quotient = V(18),
                    Mask = IsWave64 ? "s[10:11]" : "s10",
                    Vcc = IsWave64 ? "vcc" : "vcc_lo";
  std::string Text;
  const auto Add = [&](const std::string &Name, const std::string &Operands) {
    Text += "v_" + Name + "_" + T::Type + " " + Operands + "\n";
  };
  const auto Refine = [&] {
    Add("fma", Error + ", -" + Scaled + ", " + Inverse + ", 1.0");
    Add("fma", Inverse + ", " + Error + ", " + Inverse + ", " + Inverse);
  };
  const std::string Rest =
      Error + ", -" + Scaled + ", " + Quotient + ", " + Numerator;
  Add("div_scale", Scaled + ", " + Mask + ", " + Y + ", " + Y + ", " + X);
  Add("div_scale", Numerator + ", " + Vcc + ", " + X + ", " + Y + ", " + X);
  Add("rcp", Inverse + ", " + Scaled);
  Refine();
  if (T::Registers == 2)
    Refine();
  Add("mul", Quotient + ", " + Numerator + ", " + Inverse);
  Add("fma", Rest);
  if (T::Registers == 1) {
    Add("fma", Quotient + ", " + Error + ", " + Inverse + ", " + Quotient);
    Add("fma", Rest);
  }
  Add("div_fmas", Quotient + ", " + Error + ", " + Inverse + ", " + Quotient);
  Add("div_fixup", V(0) + ", " + Quotient + ", " + Y + ", " + X);
  return Text;
}

/// Divides numbers of all sizes, and 0, infinity and NaN: the quotients are
/// those of the host, which rounds correctly.
template <typename T> static void expectQuotients(const std::string &Chip) {
  using Number = typename T::Number;
  std::vector<Number> Numbers = {0, -0.0f, INFINITY, -INFINITY, NAN};
  const Number Last = std::numeric_limits<Number>::max();
  const Number Fractions[] = {1, -4.0f / 3, 1 + 1 / Number(1 << 20)};
  const auto AddAt = [&](int Exponent) {
    for (Number Fraction : Fractions)
      Numbers.push_back(std::ldexp(Fraction, Exponent));
  };
  for (int Exponent = T::Least; Exponent <= T::Most; Exponent += T::Step)
    AddAt(Exponent);
  // Where numbers, and their inverses, become subnormal.
  const int LeastNormal = 1 - T::Most;
  for (int By : {-2, -1, 0, 1, 2})
    AddAt(LeastNormal + By);
  for (int By : {-3, -2, -1, 0})
    AddAt(T::Most + By);
  Numbers.push_back(Last);

  WaveTester W(Chip);
  const std::string Text = divisionSequence<T>(W.lanes() == 64);
  // One run has the quotients of one divisor and as many numbers as lanes.
  for (Number Y : Numbers)
    for (size_t Begin = 0; Begin < Numbers.size(); Begin += W.lanes()) {
      const auto X = [&](unsigned L) {
        return Numbers[(Begin + L) % Numbers.size()];
      };
      const auto Set = [&](unsigned R, unsigned L, Number Value) {
        uint32_t Bits[2];
        std::memcpy(Bits, &Value, sizeof(Value));
        for (int K = 0; K < T::Registers; ++K)
          W.v(R + unsigned(K))[L] = Bits[K];
      };
      for (unsigned L = 0; L < W.lanes(); ++L) {
        Set(2, L, X(L));
        Set(4, L, Y);
      }
      ASSERT_TRUE(W.run(Text)) << W.error();
      for (unsigned L = 0; L < W.lanes(); ++L) {
        const uint32_t Bits[2] = {W.v(0)[L], W.v(1)[L]};
        Number Got, Expected = X(L) / Y;
        std::memcpy(&Got, Bits, sizeof(Got));
        ASSERT_TRUE(Expected != Expected
                        ? Got != Got
                        : Got == Expected &&
                              std::signbit(Got) == std::signbit(Expected))
            << Chip << ", " << T::Type << ": " << X(L) << " / " << Y
            << ": expected " << Expected << ", got " << Got;
      }
    }
}

TEST(VectorFloat, DivisionSequence) {
  for (const std::string &Chip : chipsIn(GFX942 | GFX1100)) {
    expectQuotients<SingleDivision>(Chip);
    expectQuotients<DoubleDivision>(Chip);
  }
}

TEST(VectorFloat, Packed) {
  auto Pair = [](float Low, float High) {
    return f32(Low) | uint64_t(f32(High)) << 32;
  };
  runLaneCases({
      {"v_pk_add_f32 v[0:1], v[2:3], v[4:5]",
       GFX9,
       {{Pair(1, 2), Pair(10, 20), 0, Pair(11, 22)}}},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]",
       GFX9,
       {{Pair(3, 2), Pair(10, 20), 0, Pair(30, 40)}}},
      {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
       GFX9,
       {{Pair(3, 2), Pair(10, 20), Pair(1, 2), Pair(31, 42)}}},
      {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] neg_lo:[1,0,0] "
       "neg_hi:[0,0,1]",
       GFX9,
       {{Pair(3, 2), Pair(10, 20), Pair(1, 2), Pair(-29, 38)}}},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,0]",
       GFX9,
       {{Pair(3, 2), Pair(10, 20), 0, Pair(30, 20)}}},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]",
       GFX9,
       {{Pair(3, 2), Pair(10, 20), 0, Pair(60, 40)}}},
      // How clang 22 negates a pair.
      {"v_pk_add_f32 v[0:1], v[2:3], 0 neg_lo:[1,1] neg_hi:[1,1]",
       GFX9,
       {{Pair(3, -2), 0, 0, Pair(-3, 2)},
        {Pair(0, -0.0f), 0, 0, Pair(-0.0f, 0)}}},
      {"v_pk_mul_f32 v[0:1], v[2:3], 2.0 op_sel_hi:[1,0]",
       GFX9,
       {{Pair(3, 2), 0, 0, Pair(6, 4)}}},
      // As Triton 3.9's LLVM writes a product with a pair of equal constants.
      {"v_pk_mul_f32 v[0:1], v[2:3], 0.5",
       GFX9,
       {{Pair(3, 2), 0, 0, Pair(1.5f, 1)}}},
      {"v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]",
       GFX9,
       {{0x0000000200000001ull, 0x0000000400000003ull, 0,
         0x0000000400000001ull}}},
      {"v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]",
       GFX9,
       {{0x0000000200000001ull, 0x0000000400000003ull, 0,
         0x0000000300000002ull}}},
      {"v_mov_b64 v[0:1], v[2:3]",
       GFX942 | GFX950,
       {{0x123456789abcdef0ull, 0, 0, 0x123456789abcdef0ull}}},
  });
}

TEST(VectorFloat, DenormalModes) {
  for (const std::string &Chip : chipsIn(AllChips)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(2)[L] = 0x00400000;
      T.v(3)[L] = f32(1.0f);
      T.v(4)[L] = f32(0x1p-126f);
      T.v(5)[L] = f32(0.5f);
    }
    const std::string Text = "v_mul_f32 v0, v2, v3\nv_mul_f32 v1, v4, v5";
    ASSERT_TRUE(T.run(Text)) << T.error();
    EXPECT_EQ(T.v(0)[0], 0x00400000u);
    EXPECT_EQ(T.v(1)[0], 0x00400000u);
    T.setMode(T.mode() & ~0x30u); // flush f32 inputs and outputs
    ASSERT_TRUE(T.run(Text)) << T.error();
    EXPECT_EQ(T.v(0)[0], 0u);
    EXPECT_EQ(T.v(1)[0], 0u);
    // A move is no arithmetic, f64 has its own bits.
    ASSERT_TRUE(T.run("v_mov_b32 v0, v2")) << T.error();
    EXPECT_EQ(T.v(0)[0], 0x00400000u);
  }
}

TEST(VectorFloat, RoundingModes) {
  // 1 + 2^-24 lies half way; 1/3 of the modes round it up.
  const uint32_t Expected[4] = {f32(1.0f), f32(1.0f + 0x1p-23f), f32(1.0f),
                                f32(1.0f)};
  const uint32_t Negative[4] = {f32(-1.0f), f32(-1.0f), f32(-1.0f - 0x1p-23f),
                                f32(-1.0f)};
  for (const std::string &Chip : chipsIn(AllChips))
    for (unsigned Mode = 0; Mode < 4; ++Mode) {
      SCOPED_TRACE(Chip + " mode " + std::to_string(Mode));
      WaveTester T(Chip);
      for (unsigned L = 0; L < T.lanes(); ++L) {
        T.v(2)[L] = f32(1.0f);
        T.v(3)[L] = f32(0x1p-24f);
      }
      ASSERT_TRUE(T.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), " +
                        std::to_string(Mode) +
                        "\nv_add_f32 v0, v2, v3\nv_sub_f32_e64 v1, -v2, v3\n"
                        "s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 2)"))
          << T.error();
      EXPECT_EQ(T.v(0)[0], Expected[Mode]);
      EXPECT_EQ(T.v(1)[0], Negative[Mode]);
      EXPECT_EQ(T.s(0), Mode);
    }
}

TEST(VectorFloat, IeeeModeOff) {
  for (const std::string &Chip : chipsIn(GFX9 | GFX1100)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    T.setMode(T.mode() & ~uint32_t(ModeIEEE));
    for (unsigned L = 0; L < T.lanes(); ++L) {
      T.v(2)[L] = 0x7f800001;
      T.v(3)[L] = f32(2.0f);
    }
    ASSERT_TRUE(T.run("v_max_f32 v0, v2, v3")) << T.error();
    EXPECT_EQ(T.v(0)[0], f32(2.0f));
  }
}

TEST(VectorFloat, DualIssue) {
  for (const std::string &Chip : chipsIn(GFX11Plus)) {
    SCOPED_TRACE(Chip);
    WaveTester T(Chip);
    auto Reset = [&] {
      for (unsigned L = 0; L < T.lanes(); ++L)
        for (unsigned R = 0; R < 8; ++R)
          T.v(R)[L] = f32(float(R));
    };
    Reset();
    ASSERT_TRUE(T.run("v_dual_mul_f32 v0, v2, v3 :: v_dual_add_f32 v1, v4, v5"))
        << T.error();
    EXPECT_EQ(T.v(0)[3], f32(6.0f));
    EXPECT_EQ(T.v(1)[3], f32(9.0f));
    EXPECT_EQ(T.counters().Issued[unsigned(InstClass::Vector)], 1u);
    EXPECT_EQ(T.counters().Issued[unsigned(InstClass::Uncounted)], 1u);
    // Both halves read before either writes.
    Reset();
    ASSERT_TRUE(T.run("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2"))
        << T.error();
    EXPECT_EQ(T.v(2)[0], f32(3.0f));
    EXPECT_EQ(T.v(3)[0], f32(2.0f));
    Reset();
    ASSERT_TRUE(T.run("v_dual_mov_b32 v2, v5 :: v_dual_add_f32 v1, v2, v3"))
        << T.error();
    EXPECT_EQ(T.v(1)[0], f32(5.0f));
    EXPECT_EQ(T.v(2)[0], f32(5.0f));
    Reset();
    ASSERT_TRUE(
        T.run("v_dual_fmac_f32 v2, v3, v5 :: v_dual_fmac_f32 v3, v2, v4"))
        << T.error();
    EXPECT_EQ(T.v(2)[0], f32(2.0f + 15.0f));
    EXPECT_EQ(T.v(3)[0], f32(3.0f + 8.0f));
    Reset();
    T.setVcc(2);
    ASSERT_TRUE(T.run("v_dual_cndmask_b32 v0, v2, v3 :: "
                      "v_dual_lshlrev_b32 v1, 1, v4"))
        << T.error();
    EXPECT_EQ(T.v(0)[0], f32(2.0f));
    EXPECT_EQ(T.v(0)[1], f32(3.0f));
    EXPECT_EQ(T.v(1)[0], f32(4.0f) << 1);
  }
}

// After 53 bits of 2/pi come the next ones; large numbers begin further on.
// Values: AMD's description in whole numbers of 2000 bits.
TEST(VectorFloat, TrigPreop) {
  runLaneCases({{"v_trig_preop_f64 v[0:1], v[2:3], v4",
                 GFX9 | GFX11Plus | GFX908 | GFX1030,
                 {{f64(1.0), 0, 0, 0x3fe45f306dc9c882ull},
                  {f64(1.0), 1, 0, 0x3c94a7f09d5f47d4ull},
                  {f64(1.0), 2, 0, 0x394a6ee06db14accull},
                  {f64(-3.5), 0, 0, 0x3fe45f306dc9c882ull},
                  {f64(0x1p100), 0, 0, 0x3cb529fc2757d1e0ull},
                  {f64(0x1p100), 1, 0, 0x39b534ddc0db6295ull},
                  {f64(0x1p1000), 0, 0, 0x0cc516ba93dd63f5ull},
                  {f64(0x1p1000), 2, 0, 0x061e294a4ba9afecull},
                  {f64(0x1p1000), 31, 0, 0x0000000000000000ull}}}});
}

// Dot products of floats: from 0 to 1 under clamp, and signs of each half.
TEST(VectorFloat, DotProductsUnderClamp) {
  constexpr unsigned Chips = DotChips;
  constexpr uint32_t Ones = 0x3c003c00, Quarters = 0x34003400;
  runLaneCases({
      {"v_dot2_f32_f16 v0, v2, v4, v6 clamp",
       Chips,
       {{Ones, Ones, f32(5.0f), f32(1.0f)},
        {Ones, Ones, f32(-5.0f), 0},
        {Ones, Quarters, f32(0.25f), f32(0.75f)},
        {Ones, Ones, NaN32, 0}}},
      {"v_dot2_f32_f16 v0, v2, v4, v6 neg_lo:[1,0,0] neg_hi:[0,1,0]",
       Chips,
       {{Ones, Ones, f32(0.5f), f32(-1.5f)},
        {0x40003c00, Ones, 0, f32(-3.0f)}}},
      {"v_dot2_f32_f16 v0, v2, v4, v6 neg_lo:[1,0,0] clamp",
       Chips,
       {{0x3c004000, Ones, f32(1.5f), f32(0.5f)}}},
      {"v_dot2_f32_bf16 v0, v2, v4, v6 clamp",
       GFX950 | Dot11Plus,
       {{0x3f803f80, 0x3f803f80, f32(-1.5f), f32(0.5f)},
        {0x3f803f80, 0x3f803f80, f32(2.0f), f32(1.0f)}}},
  });
}

// 1, 2, -0.5 and 448 (or bf8's 57344) by 1, 0.25, 2 and 2^-6, and what is no
// number.
TEST(VectorFloat, SmallerRoundedResults) {
  // As a card may return them: what depends on rounding shows.
  auto Exponential = [](float X) {
    WaveTester T("gfx942");
    std::fill_n(T.v(2), 64, f32(X));
    EXPECT_TRUE(T.run("v_exp_f32 v0, v2")) << T.error();
    return T.v(0)[5];
  };
  const uint32_t Usual = Exponential(0.3f);
  ASSERT_EQ(setenv("LNBWD_SIM_ROUNDING", "1", 1), 0);
  EXPECT_EQ(Exponential(0.3f), Usual - 1);
  EXPECT_EQ(Exponential(2.0f), f32(4.0f));
  WaveTester T("gfx942");
  std::fill_n(T.v(2), 64, f32(0.1f));
  std::fill_n(T.v(3), 64, f32(1.0f));
  EXPECT_TRUE(T.run("v_mfma_f32_4x4x1_16b_f32 v[4:7], v2, v2, 0\n"
                    "v_mfma_f32_4x4x1_16b_f32 v[8:11], v2, v3, 0"))
      << T.error();
  unsetenv("LNBWD_SIM_ROUNDING");
  EXPECT_LT(T.v(4)[5], f32(0.1f * 0.1f));
  EXPECT_EQ(T.v(8)[5], f32(0.1f));
}

TEST(VectorFloat, DotProductsOfBytes) {
  constexpr uint32_t A8 = 0x7eb04038, B8 = 0x08402838, // fp8
      AB = 0x7bb8403c, BB = 0x2440343c;                // bf8
  runLaneCases({
      {"v_dot4_f32_fp8_fp8 v0, v2, v4, v6",
       GFX1201,
       {{A8, B8, f32(1.0f), f32(8.5f)}, {0x7f, 0x38, 0, NaN32}}},
      {"v_dot4_f32_fp8_bf8 v0, v2, v4, v6",
       GFX1201,
       {{A8, BB, f32(-1.0f), f32(6.5f)}}},
      {"v_dot4_f32_bf8_fp8 v0, v2, v4, v6",
       GFX1201,
       {{AB, B8, 0, f32(896.5f)}}},
      {"v_dot4_f32_bf8_bf8 v0, v2, v4, v6",
       GFX1201,
       {{AB, BB, f32(-896.0f), f32(0.5f)}, {0x7c, 0x3c, 0, Inf32}}},
  });
  WaveTester T("gfx1201");
  EXPECT_FALSE(T.run("v_dot2_f32_f16 v0, v2, v4, v6 neg_lo:[0,0,1]"));
  EXPECT_NE(T.error().find("is not modelled here"), std::string::npos);
}
