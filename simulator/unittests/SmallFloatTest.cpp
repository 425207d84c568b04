//===- SmallFloatTest.cpp - Conversions of 4 to 8 bits --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions to and from fp8, bf8, fp6, bf6 and fp4, against LLVM's APFloat;
// what is too large, halfway between two numbers or rounded by a random number
// against values from AMD's ISA documents (MI300, MI350, RDNA4).
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "WaveTester.h"

#include <cmath>
#include <random>

using namespace lnbwd::sim;
using llvm::APFloat;

static const llvm::fltSemantics &semanticsOf(const std::string &Type,
                                             const std::string &Chip) {
  const bool OneZero = Chip == "gfx942";
  if (Type == "fp8")
    return OneZero ? APFloat::Float8E4M3FNUZ() : APFloat::Float8E4M3FN();
  if (Type == "bf8")
    return OneZero ? APFloat::Float8E5M2FNUZ() : APFloat::Float8E5M2();
  if (Type == "fp6")
    return APFloat::Float6E2M3FN();
  if (Type == "bf6")
    return APFloat::Float6E3M2FN();
  if (Type == "fp4")
    return APFloat::Float4E2M1FN();
  return Type == "f16"    ? APFloat::IEEEhalf()
         : Type == "bf16" ? APFloat::BFloat()
                          : APFloat::IEEEsingle();
}

static unsigned widthOf(const std::string &Type) {
  return Type == "fp4"                     ? 4
         : Type == "fp6" || Type == "bf6"  ? 6
         : Type == "f32"                   ? 32
         : Type == "f16" || Type == "bf16" ? 16
                                           : 8;
}

static double valueOf(uint32_t Bits, const std::string &Type,
                      const std::string &Chip) {
  return APFloat(semanticsOf(Type, Chip), llvm::APInt(widthOf(Type), Bits))
      .convertToDouble();
}

static uint32_t bitsOf(double X, const std::string &Type,
                       const std::string &Chip) {
  APFloat F(X);
  bool Inexact;
  F.convert(semanticsOf(Type, Chip), APFloat::rmNearestTiesToEven, &Inexact);
  return uint32_t(F.bitcastToAPInt().getZExtValue());
}

static uint32_t field(const uint32_t *First, unsigned N, unsigned Lane,
                      unsigned Bit, unsigned Width) {
  uint32_t X = 0;
  for (unsigned K = 0; K < Width; ++K)
    X |= (First[(Bit + K) / 32 * N + Lane] >> (Bit + K) % 32 & 1) << K;
  return X;
}

static void expectSame(uint32_t Got, double Value) {
  if (std::isnan(Value))
    EXPECT_GT(Got & 0x7fffffff, Inf32);
  else
    EXPECT_EQ(Got, f32(float(Value)));
}

TEST(SmallFloat, EveryByteWidens) {
  for (const std::string Chip : {"gfx942", "gfx950", "gfx1201"})
    for (const std::string Type : {"fp8", "bf8"})
      for (unsigned Byte = 0; Byte < 4; ++Byte) {
        WaveTester T(Chip);
        std::string Part;
        if (Byte)
          Part = isGfx12(Chip)
                     ? "_e64 v0, v2 byte_sel:" + std::to_string(Byte)
                     : "_sdwa v0, v2 src0_sel:BYTE_" + std::to_string(Byte);
        for (unsigned Base = 0; Base < 256; Base += T.lanes()) {
          for (unsigned L = 0; L < T.lanes(); ++L)
            T.v(2)[L] = (Base + L) << 8 * Byte | (0x5au << 8 * (Byte ^ 1));
          ASSERT_TRUE(T.run("v_cvt_f32_" + Type + (Byte ? Part : " v0, v2")))
              << T.error();
          for (unsigned L = 0; L < T.lanes(); ++L)
            expectSame(T.v(0)[L], valueOf(Base + L, Type, Chip));
        }
      }
}

TEST(SmallFloat, PairsWiden) {
  for (const std::string Chip : {"gfx942", "gfx950", "gfx1201"})
    for (const std::string Type : {"fp8", "bf8"})
      for (bool High : {false, true}) {
        WaveTester T(Chip);
        for (unsigned L = 0; L < T.lanes(); ++L)
          T.v(2)[L] = High ? (0x3000 + L * 7) << 16 | 0x1234
                           : 0x12340000 | (0x3000 + L * 7);
        const std::string Part = !High ? " v[0:1], v2"
                                 : isGfx12(Chip)
                                     ? "_e64 v[0:1], v2 op_sel:[1,0]"
                                     : "_sdwa v[0:1], v2 src0_sel:WORD_1";
        ASSERT_TRUE(T.run("v_cvt_pk_f32_" + Type + Part)) << T.error();
        for (unsigned L = 0; L < T.lanes(); ++L) {
          expectSame(T.v(0)[L], valueOf((L * 7) & 0xff, Type, Chip));
          expectSame(T.v(1)[L],
                     valueOf((0x3000 + L * 7) >> 8 & 0xff, Type, Chip));
        }
      }
}

TEST(SmallFloat, PairsNarrow) {
  std::mt19937 Random(1);
  for (const std::string Chip : {"gfx942", "gfx950", "gfx1201"})
    for (const std::string Type : {"fp8", "bf8"})
      for (bool High : {false, true}) {
        WaveTester T(Chip);
        const unsigned N = T.lanes();
        for (unsigned L = 0; L < N; ++L) {
          // From what becomes 0 to the greatest numbers.
          for (unsigned R : {2u, 3u})
            T.v(R)[L] = f32(float(std::ldexp(
                double(int(Random() % 513) - 256) / 256, int(L % 24) - 16)));
          T.v(0)[L] = 0xabcdef01;
        }
        ASSERT_TRUE(T.run("v_cvt_pk_" + Type + "_f32 v0, v2, -v3" +
                          (High ? " op_sel:[0,0,1]" : "")))
            << T.error();
        for (unsigned L = 0; L < N; ++L) {
          float A, B;
          std::memcpy(&A, &T.v(2)[L], 4);
          std::memcpy(&B, &T.v(3)[L], 4);
          const uint32_t Pair = bitsOf(A, Type, Chip) | bitsOf(-B, Type, Chip)
                                                            << 8;
          EXPECT_EQ(T.v(0)[L], High ? Pair << 16 | 0xef01 : 0xabcd0000 | Pair)
              << Chip << " " << Type << " " << A << " " << B;
        }
      }
}

// What is too large, by kind and MODE.FP16_OVFL (bit 23); ties; zeros.
TEST(SmallFloat, Limits) {
  struct Case {
    const char *Chip, *Type;
    float X;
    uint32_t Bits, Saturated;
  };
  const float Infinity = HUGE_VALF;
  for (const Case &C :
       {Case{"gfx950", "fp8", 448, 0x7e, 0x7e},
        Case{"gfx950", "fp8", 464, 0x7e, 0x7e}, // ties to even
        Case{"gfx950", "fp8", 465, 0x7f, 0x7e},
        Case{"gfx950", "fp8", -1e9f, 0xff, 0xfe},
        Case{"gfx950", "fp8", Infinity, 0x7f, 0x7e},
        Case{"gfx950", "bf8", 57344, 0x7b, 0x7b},
        Case{"gfx950", "bf8", 61440, 0x7c, 0x7b},
        Case{"gfx950", "bf8", -Infinity, 0xfc, 0xfb},
        Case{"gfx950", "fp8", -0.0f, 0x80, 0x80},
        Case{"gfx950", "fp8", 0x1p-9f, 0x01, 0x01},
        Case{"gfx950", "fp8", 0x1p-10f, 0x00, 0x00}, // ties to even
        Case{"gfx950", "fp8", 0x1.8p-9f, 0x02, 0x02},
        Case{"gfx942", "fp8", 240, 0x7f, 0x7f},
        Case{"gfx942", "fp8", 250, 0x80, 0x7f},
        Case{"gfx942", "fp8", -0.0f, 0x00, 0x00},
        Case{"gfx942", "bf8", Infinity, 0x80, 0x7f},
        Case{"gfx1201", "fp8", 1e9f, 0x7f, 0x7e},
        Case{"gfx1201", "bf8", -1e9f, 0xfc, 0xfb}})
    for (bool Saturates : {false, true}) {
      WaveTester T(C.Chip);
      T.setMode(T.mode() | (Saturates ? 1u << 23 : 0));
      std::fill_n(T.v(2), T.lanes(), f32(C.X));
      std::fill_n(T.v(0), T.lanes(), 0);
      ASSERT_TRUE(T.run(std::string("v_cvt_pk_") + C.Type + "_f32 v0, v2, 1.0"))
          << T.error();
      EXPECT_EQ(T.v(0)[0] & 0xff, Saturates ? C.Saturated : C.Bits)
          << C.Chip << " " << C.Type << " " << C.X;
    }
}

// 1.0625 lies halfway between 1.0 and 1.125, the next fp8; and a quarter of the
// way from 1.0 to 1.25, the next bf8.
TEST(SmallFloat, RandomRounding) {
  struct Case {
    const char *Type;
    uint32_t Random;
    bool Up;
  };
  for (const std::string Chip : {"gfx942", "gfx950", "gfx1201"})
    for (const Case &C :
         {Case{"fp8", 0, false}, Case{"fp8", 0x7fffffff, false},
          Case{"fp8", 0x80000000, true}, Case{"bf8", 0xbfffffff, false},
          Case{"bf8", 0xc0000000, true}})
      for (unsigned Byte = 0; Byte < 4; ++Byte) {
        WaveTester T(Chip);
        std::fill_n(T.v(0), T.lanes(), 0x11111111);
        std::fill_n(T.v(2), T.lanes(), f32(1.0625f));
        std::fill_n(T.v(3), T.lanes(), C.Random);
        const std::string Part =
            isGfx12(Chip) ? " byte_sel:" + std::to_string(Byte)
                          : " op_sel:[0,0," + std::to_string(Byte % 2) + "," +
                                std::to_string(Byte / 2) + "]";
        ASSERT_TRUE(T.run(std::string("v_cvt_sr_") + C.Type +
                          "_f32 v0, v2, v3" + (Byte ? Part : "")))
            << T.error();
        const uint32_t One = bitsOf(1.0, C.Type, Chip) + C.Up;
        EXPECT_EQ(T.v(0)[5],
                  (0x11111111 & ~(0xffu << 8 * Byte)) | One << 8 * Byte)
            << Chip << " " << C.Type;
      }
}

TEST(SmallFloat, RandomRoundingToHalves) {
  WaveTester T("gfx950");
  const uint32_t Between =
      0x3f801000; // of f16 halfway, of bf16 1/16 of the way
  std::fill_n(T.v(2), 64, Between);
  for (bool Up : {false, true}) {
    std::fill_n(T.v(3), 64, Up ? 0x80000000 : 0x7fffffff);
    std::fill_n(T.v(0), 64, 0x77777777);
    ASSERT_TRUE(T.run("v_cvt_sr_f16_f32 v0, v2, v3")) << T.error();
    EXPECT_EQ(T.v(0)[0], 0x77770000u | (0x3c00 + Up));
    std::fill_n(T.v(3), 64, Up ? 0xf0000000 : 0xefffffff);
    ASSERT_TRUE(T.run("v_cvt_sr_bf16_f32 v0, v2, v3 op_sel:[0,0,1]"))
        << T.error();
    EXPECT_EQ(T.v(0)[0], (0x3f80u + Up) << 16 | (0x3c00 + (Up ? 1 : 0)));
  }
}

namespace {
/// A conversion of gfx950 with a scale of 4.
struct Scaled {
  const char *Text; ///< operands after the name; the result is at v0
  const char *To, *From;
  unsigned Count;
  unsigned FirstSource;        ///< register of the first value
  unsigned From0 = 0, To0 = 0; ///< bits where values and results begin
  const char *Name = "";       ///< "pk_", "pk32_", ...
};
} // namespace

// Values that the small types have: what is widened is multiplied by the scale,
// what is narrowed divided, and both are exact.
TEST(SmallFloat, Scales) {
  const Scaled Cases[] = {
      {" v0, v8, v7", "f32", "fp8", 1, 8},
      {" v0, v8, v7 op_sel:[1,1,0]", "f32", "bf8", 1, 8, 24},
      {" v0, v8, v7 op_sel:[1,0,1]", "f16", "fp8", 1, 8, 8, 16},
      {" v0, v8, v7", "f16", "bf8", 1, 8},
      {" v[0:1], v8, v7 op_sel:[1,0,0]", "f32", "fp8", 2, 8, 16, 0, "pk_"},
      {" v0, v8, v7", "bf16", "bf8", 2, 8, 0, 0, "pk_"},
      {" v0, v8, v7", "f16", "fp8", 2, 8, 0, 0, "pk_"},
      {" v[0:1], v8, v7 op_sel:[1,1,0]", "f32", "fp4", 2, 8, 24, 0, "pk_"},
      {" v0, v8, v7 op_sel:[0,1,0]", "bf16", "fp4", 2, 8, 16, 0, "pk_"},
      {" v[40:71], v[8:13], v7", "f32", "fp6", 32, 8, 0, 40 * 32, "pk32_"},
      {" v[40:55], v[8:13], v7", "f16", "bf6", 32, 8, 0, 40 * 32, "pk32_"},
      {" v[40:55], v[8:13], v7", "bf16", "fp6", 32, 8, 0, 40 * 32, "pk32_"},
      {" v0, v8, v9, v7", "fp8", "f32", 2, 8, 0, 0, "pk_"},
      {" v0, v8, v9, v7 op_sel:[0,0,0,1]", "bf8", "f32", 2, 8, 0, 16, "pk_"},
      {" v0, v8, v7 op_sel:[0,0,1]", "fp8", "f16", 2, 8, 0, 16, "pk_"},
      {" v0, v8, v7", "bf8", "bf16", 2, 8, 0, 0, "pk_"},
      {" v0, v8, v9, v7 op_sel:[0,0,1,1]", "fp4", "f32", 2, 8, 0, 24, "pk_"},
      {" v0, v8, v7 op_sel:[0,0,1,0]", "fp4", "f16", 2, 8, 0, 8, "pk_"},
      {" v[0:5], v[8:23], v7", "fp6", "f16", 32, 8, 0, 0, "pk32_"},
      {" v[0:5], v[8:23], v7", "bf6", "bf16", 32, 8, 0, 0, "pk32_"},
      {" v[0:5], v[8:23], v[24:39], v7", "fp6", "f32", 32, 8, 0, 0, "2xpk16_"},
      {" v[0:5], v[8:23], v[24:39], v7", "bf6", "f32", 32, 8, 0, 0, "2xpk16_"},
      // A random number rounds what is exact to itself.
      {" v0, v8, v6, v7 op_sel:[0,0,1,1]", "fp8", "f32", 1, 8, 0, 24, "sr_"},
      {" v0, v8, v6, v7", "bf8", "f16", 1, 8, 0, 0, "sr_"},
      {" v0, v[8:9], v6, v7", "fp4", "f32", 2, 8, 0, 0, "sr_pk_"},
      {" v0, v8, v6, v7", "fp4", "bf16", 2, 8, 0, 0, "sr_pk_"},
      {" v[0:5], v[8:39], v6, v7", "bf6", "f32", 32, 8, 0, 0, "sr_pk32_"},
      {" v[0:5], v[8:23], v6, v7", "fp6", "bf16", 32, 8, 0, 0, "sr_pk32_"},
  };
  std::mt19937 Random(3);
  for (const ExecTable *Table : runnableExecTables())
    for (const Scaled &C : Cases) {
      const std::string Text = std::string("v_cvt_scalef32_") + C.Name + C.To +
                               "_" + C.From + C.Text;
      SCOPED_TRACE(Text);
      WaveTester T("gfx950", 0, *Table);
      const unsigned Width = widthOf(C.From), ResultWidth = widthOf(C.To);
      const bool Narrows = ResultWidth < Width;
      const std::string Small = Narrows ? C.To : C.From;
      for (unsigned R = 0; R < 72; ++R)
        std::fill_n(T.v(R), 64, 0);
      std::fill_n(T.v(6), 64, 0xdeadbeef);
      std::fill_n(T.v(7), 64, f32(4.0f));
      std::vector<uint32_t> Codes;
      for (unsigned L = 0; L < 64; ++L)
        for (unsigned K = 0; K < C.Count; ++K) {
          uint32_t Code;
          do
            Code = Random() & ((1u << widthOf(Small)) - 1);
          // The magnitudes that f16 has, divided or multiplied by 4, too.
          while (!std::isfinite(valueOf(Code, Small, "gfx950")) ||
                 std::fabs(valueOf(Code, Small, "gfx950")) > 8192);
          Codes.push_back(Code);
          const uint32_t Bits =
              Narrows
                  ? bitsOf(valueOf(Code, Small, "gfx950") * 4, C.From, "gfx950")
                  : Code;
          const unsigned At = C.From0 + K * Width;
          for (unsigned B = 0; B < Width; ++B)
            T.v(C.FirstSource + (At + B) / 32)[L] |= (Bits >> B & 1)
                                                     << (At + B) % 32;
        }
      ASSERT_TRUE(T.run(Text)) << T.error();
      for (unsigned L = 0; L < 64; ++L)
        for (unsigned K = 0; K < C.Count; ++K) {
          const uint32_t Code = Codes[L * C.Count + K];
          const uint32_t Want =
              Narrows
                  ? Code
                  : bitsOf(valueOf(Code, Small, "gfx950") * 4, C.To, "gfx950");
          ASSERT_EQ(field(T.v(0), 64, L, C.To0 + K * ResultWidth, ResultWidth),
                    Want)
              << "lane " << L << " element " << K;
        }
    }
}

// fp6, bf6 and fp4 have nothing that is no number.
TEST(SmallFloat, LargestOfFewBits) {
  WaveTester T("gfx950");
  std::fill_n(T.v(2), 64, f32(1e9f));
  std::fill_n(T.v(3), 64, f32(-7.0f));
  std::fill_n(T.v(0), 64, 0);
  ASSERT_TRUE(T.run("v_cvt_scalef32_pk_fp4_f32 v0, v2, v3, 1.0")) << T.error();
  EXPECT_EQ(T.v(0)[0], 0xf7u); // 6 and -6
}

TEST(SmallFloat, InactiveLanesKeepTheirs) {
  WaveTester T("gfx942");
  std::fill_n(T.v(0), 64, 0x55555555);
  std::fill_n(T.v(2), 64, f32(1.0f));
  T.setExec(0xff);
  ASSERT_TRUE(T.run("v_cvt_pk_fp8_f32 v0, v2, v2")) << T.error();
  EXPECT_EQ(T.v(0)[7], 0x55554040u);
  EXPECT_EQ(T.v(0)[8], 0x55555555u);
}
