//===- MatrixTest.cpp - Matrix instructions -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All matrix instructions that LLVM knows for the simulated chips, against
// exact sums, with LLVM's APFloat for the formats; and their modifiers.
//
//===----------------------------------------------------------------------===//

#include "ProductTester.h"
#include "TestKernels.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace lnbwd::sim;

/// What is not executed, and why.
static const std::map<std::string, const char *> NotExecuted = {
    {"v_mfma_ld_scale_b32",
     "loads scales for an instruction that follows; LLVM makes one of the two, "
     "v_mfma_scale_*, and never writes it alone"},
};

static ProductKind kindOf(const std::string &Name) {
  return ProductKind::parse(Name).value();
}

static std::vector<std::pair<std::string, unsigned>> allWaves() {
  std::vector<std::pair<std::string, unsigned>> All;
  for (const SimulatedChip &C : Chips) {
    All.push_back({C.Chip, C.WaveSize});
    if (C.WaveSize == 32 && !C.isCdna5())
      All.push_back({C.Chip, 64});
  }
  return All;
}

/// CDNA5's sparse and scaled products, and those of types in the text.
static bool isLeftOut(const std::string &Chip, llvm::StringRef Name) {
  return chipNamed(Chip).isCdna5() &&
         (Name.contains("swmmac") || Name.contains("scale") ||
          Name.contains("f4") || Name.contains("bf16f32"));
}

TEST(Matrix, EveryInstruction) {
  size_t Checked = 0;
  for (const auto &[Chip, WaveSize] : allWaves())
    for (const std::string &Name : matrixMnemonics(Chip, WaveSize)) {
      if (NotExecuted.count(Name) || isLeftOut(Chip, Name))
        continue;
      const auto Kind = ProductKind::parse(Name);
      if (!Kind) {
        ADD_FAILURE() << Chip << " has " << Name
                      << ": test it, or list it as not executed";
        continue;
      }
      for (const ExecTable *Table : runnableExecTables()) {
        checkProduct(Chip, WaveSize, *Kind, {}, *Table);
        ++Checked;
      }
    }
  // So many LLVM 22 knows; fewer would mean that the search misses some.
  EXPECT_EQ(Checked / runnableExecTables().size(), 334u);
}

/// Numbers of f16, bf16 and f32 with exponents of -Spread to Spread, as far as
/// the type has them: anything, or powers of two, whose sums lie in the middle
/// between two numbers more often.
static ProductChoice numbersOf(int Spread, bool OnlyPowers) {
  ProductChoice C;
  C.Element = [=](const std::string &Type,
                  std::mt19937 &Random) -> std::optional<uint32_t> {
    const bool Half = Type == "f16", Short = Half || Type == "bf16";
    if (!Short && Type != "f32" && Type != "xf32")
      return std::nullopt;
    const unsigned Fraction = Half ? 10 : Short ? 7 : 23;
    const int Bias = Half ? 15 : 127;
    const int Exponent = std::clamp(
        Bias + int(Random() % unsigned(2 * Spread + 1)) - Spread, 0, 2 * Bias);
    const uint32_t Bits = uint32_t(Random());
    return Bits % 2 << (Short ? 15 : 31) | uint32_t(Exponent) << Fraction |
           (OnlyPowers ? 0 : Bits >> 1 & ((1u << Fraction) - 1));
  };
  return C;
}

// However far the terms are apart: sums that fit into 53 bits, that fit into
// about 100, and others. An instruction takes all of them on one chip, and one
// on each other chip that has it; in a full run, all on each.
TEST(Matrix, SumsAreRoundedOnce) {
  std::map<std::string, unsigned> ChipsOf;
  for (const std::string &Chip : chipsIn(AllChips))
    for (const std::string &Name : matrixMnemonics(Chip, 0)) {
      if (isLeftOut(Chip, Name))
        continue;
      const auto Kind = ProductKind::parse(Name);
      if (!Kind || Kind->Result == "f64" || Kind->Result == "i32")
        continue;
      const unsigned Turn = ChipsOf[Name]++;
      unsigned Choice = 0;
      for (int Spread : {15, 40, 127})
        for (bool OnlyPowers : {false, true})
          if (Choice++ == Turn % 6 || Turn == 0 || isFullRun())
            checkProduct(Chip, 0, *Kind, numbersOf(Spread, OnlyPowers));
    }
}

// 2^-60 decides what 1 + 2^-24 is rounded to, and an infinity what all is.
TEST(Matrix, TermsThatAreFarApart) {
  for (uint32_t Decides : {f32(0x1p-60f), f32(-0x1p-60f), f32(0x1p-120f), 0u,
                           uint32_t(Inf32), Inf32 | 0x80000000})
    for (const ExecTable *Table : runnableExecTables()) {
      WaveTester T("gfx950", 64, *Table);
      // Row 0 of A is (1, 2^-12, 0, ...), column 0 of B is (1, 2^-12, 0, ...).
      T.v(8)[0] = T.v(12)[0] = 0x0c003c00;
      std::fill_n(T.v(0), 64, Decides);
      ASSERT_TRUE(T.run("v_mfma_f32_16x16x32_f16 v[0:3], v[8:11], v[12:15], "
                        "v[0:3]"))
          << T.error();
      const float Added = llvm::bit_cast<float>(Decides);
      EXPECT_EQ(T.v(0)[0], std::isinf(Added) ? Decides
                           : Added > 0       ? f32(1.0f + 0x1p-23f)
                                             : f32(1.0f));
    }
}

// The bits of a bf16 result below and above the normal numbers.
TEST(Matrix, EndsOfBFloat) {
  struct Case {
    uint32_t A, B, C, Result;
  };
  for (const Case &K : {Case{0x0080, 0x3f00, 0, 0x0040}, // 2^-127
                        Case{0x0001, 0x3f00, 0, 0x0000}, // a tie
                        Case{0x0003, 0x3f00, 0, 0x0002}, // a tie
                        Case{0x8003, 0x3f00, 0, 0x8002}, //
                        Case{0x0001, 0x3f01, 0, 0x0001}, // more than a tie
                        Case{0x00ff, 0x3f00, 0, 0x0080}, // to a normal one
                        Case{0x7f00, 0x4000, 0, 0x7f80}, // 2^128
                        Case{0x7f7f, 0x4100, 0, 0x7f80}, //
                        Case{0xff7f, 0x4100, 0, 0xff80}, //
                        Case{0x7f7f, 0x3f80, 0x7b00, 0x7f80},
                        Case{0x7f7f, 0x3f80, 0x7a80, 0x7f7f}})
    for (const ExecTable *Table : runnableExecTables()) {
      WaveTester T("gfx1201", 32, *Table);
      T.v(8)[0] = K.A;
      T.v(12)[0] = K.B;
      T.v(0)[0] = K.C;
      ASSERT_TRUE(T.run("v_wmma_bf16_16x16x16_bf16 v[0:3], v[8:11], v[12:15], "
                        "v[0:3]"))
          << T.error();
      EXPECT_EQ(T.v(0)[0], K.Result) << std::hex << K.A << " " << K.B;
    }
}

// MI200 counts subnormal factors, addends and results of f16's and bf16's
// products as 0, whatever MODE says; no other chip does.
TEST(Matrix, SubnormalsOfGfx90a) {
  struct Case {
    uint32_t A, B, C;
    uint32_t Flushed, Kept;
  };
  const std::vector<Case> Half = {
      {0x03ff, 0x3c00, f32(1.0f), f32(1.0f), f32(1.0f + 0x3ffp-24f)},
      {0x83ff, 0x3c00, f32(1.0f), f32(1.0f), f32(1.0f - 0x3ffp-24f)},
      {0x3c00, 0x0001, 0, 0, f32(0x1p-24f)},
      {0x3c00, 0x0400, 0, f32(0x1p-14f), f32(0x1p-14f)},
      {0x0400, 0x0400, 0, f32(0x1p-28f), f32(0x1p-28f)},
      {0, 0, 0x007fffff, 0, 0x007fffff},
      {0, 0, 0x807fffff, 0, 0x807fffff},
      {0, 0, 0x00800000, 0x00800000, 0x00800000}};
  const std::vector<Case> Brain = {
      {0x007f, 0x4e80, 0, 0, f32(0x7fp-103f)},
      {0x4e80, 0x8001, f32(0x1p-110f), f32(0x1p-110f),
       f32(0x1p-110f - 0x1p-103f)},
      {0x0080, 0x3f00, 0, 0, 0x00400000},
      {0x8080, 0x3f00, 0, 0x80000000, 0x80400000},
      {0x0080, 0x3f80, 0x80800001, 0x80000000, 0x80000001},
      {0, 0, 0x00000001, 0, 1}};
  for (const SimulatedChip &C : Chips)
    for (const std::string &Name : matrixMnemonics(C.Chip, C.WaveSize)) {
      const auto Kind = ProductKind::parse(Name);
      if (!Kind || Kind->Family != ProductKind::Mfma || Kind->B != Kind->A ||
          (Kind->A != "f16" && Kind->A != "bf16"))
        continue;
      const bool Old = std::string(C.Chip) == "gfx908";
      for (const Case &K : Kind->A == "f16" ? Half : Brain)
        for (uint32_t Mode : {0xf0u, 0u}) {
          WaveTester T(C.Chip);
          T.setMode(Mode);
          T.v(64)[0] = K.A;
          T.v(72)[0] = K.B;
          (Old ? T.a(0) : T.v(0))[0] = K.C;
          const unsigned Last = Kind->Blocks * Kind->M * Kind->M / 64 - 1;
          const std::string Result =
              std::string(Old ? "a" : "v") + "[0:" + std::to_string(Last) + "]";
          const unsigned Used =
              std::max(1u, Kind->K * Kind->M * Kind->Blocks / 128);
          const auto Factor = [&](unsigned First) {
            return Used == 1 ? "v" + std::to_string(First)
                             : "v[" + std::to_string(First) + ":" +
                                   std::to_string(First + Used - 1) + "]";
          };
          ASSERT_TRUE(T.run(Name + " " + Result + ", " + Factor(64) + ", " +
                            Factor(72) + ", " + Result))
              << T.error();
          EXPECT_EQ((Old ? T.a(0) : T.v(0))[0],
                    std::string(C.Chip) == "gfx90a" ? K.Flushed : K.Kept)
              << C.Chip << " " << Name << std::hex << " " << K.A << " " << K.B
              << " " << K.C;
        }
    }
}

// f32's and f64's keep subnormal numbers on MI200 as well.
TEST(Matrix, SubnormalsOfWideTypes) {
  WaveTester T("gfx90a");
  T.v(8)[0] = 1;
  T.v(9)[0] = f32(1.0f);
  T.v(0)[0] = 0x00000002;
  ASSERT_TRUE(T.run("v_mfma_f32_16x16x4f32 v[0:3], v8, v9, v[0:3]"));
  EXPECT_EQ(T.v(0)[0], 3u);
  T.v(0)[0] = 2;
  T.v(1)[0] = 0;
  T.v(8)[0] = 1;
  T.v(9)[0] = 0;
  T.v(10)[0] = 0;
  T.v(11)[0] = uint32_t(f64(1.0) >> 32);
  ASSERT_TRUE(T.run("v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7]"));
  EXPECT_EQ(T.v(0)[0], 3u);
}

TEST(Matrix, SmallFloatsThatAreNoNumbers) {
  ProductChoice C;
  C.Element = [](const std::string &Type, std::mt19937 &Random) -> uint32_t {
    if (Type == "f32")
      return f32(1.5f);
    constexpr uint8_t Some[] = {0x7c, 0xfc, 0x7f, 0x80, 0xff, 0x7e};
    const unsigned X = unsigned(Random());
    return X % 64 < 6 ? Some[X % 64] : uint8_t(0x30 + X / 64 % 16);
  };
  for (const char *Types : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"}) {
    for (const char *Chip : {"gfx942", "gfx950"}) {
      checkProduct(Chip, 64,
                   kindOf(std::string("v_mfma_f32_16x16x32_") + Types), C);
      checkProduct(Chip, 64,
                   kindOf(std::string("v_smfmac_f32_32x32x32_") + Types), C);
    }
    checkProduct("gfx1201", 32,
                 kindOf(std::string("v_wmma_f32_16x16x16_") + Types), C);
  }
}

TEST(Matrix, Formats) {
  for (const char *Shape : {"16x16x128", "32x32x64"})
    for (unsigned A = 0; A < 5; ++A)
      for (unsigned B = 0; B < 5; ++B) {
        ProductChoice C;
        C.Cbsz = A;
        C.Blgp = B;
        checkProduct("gfx950", 64,
                     kindOf(std::string("v_mfma_f32_") + Shape + "_f8f6f4"), C);
        C.ScaleBytes[0] = (A + B) % 4;
        C.ScaleBytes[1] = B % 4;
        checkProduct(
            "gfx950", 64,
            kindOf(std::string("v_mfma_scale_f32_") + Shape + "_f8f6f4"), C);
      }
}

TEST(Matrix, ScalesThatAreNoNumbers) {
  WaveTester T("gfx950");
  for (unsigned R = 0; R < 16; ++R)
    std::fill_n(T.v(R), 64, 0x38383838); // 1.0
  std::fill_n(T.v(20), 64, 0x7f);        // 1.0
  std::fill_n(T.v(21), 64, 0x7f);
  T.v(20)[3 + 16] = 0xff; // of row 3 and the second 32 products
  ASSERT_TRUE(T.run("v_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[0:7], "
                    "v[8:15], 0, v20, v21"))
      << T.error();
  for (unsigned Lane = 0; Lane < 64; ++Lane)
    for (unsigned R = 0; R < 4; ++R) {
      if (Lane / 16 * 4 + R == 3)
        EXPECT_GT(T.v(16 + R)[Lane] & 0x7fffffff, Inf32);
      else
        EXPECT_EQ(T.v(16 + R)[Lane], f32(128.0f));
    }
}

TEST(Matrix, Broadcasts) {
  struct Case {
    const char *Chip, *Name;
    unsigned Groups; ///< log2 of the blocks
  };
  for (const Case &K : {Case{"gfx942", "v_mfma_f32_4x4x4_16b_f16", 4},
                        Case{"gfx942", "v_mfma_f32_16x16x1_4b_f32", 2},
                        Case{"gfx950", "v_mfma_i32_32x32x4_2b_i8", 1},
                        Case{"gfx90a", "v_mfma_f32_4x4x4bf16_1k", 4},
                        Case{"gfx908", "v_mfma_f32_16x16x2bf16", 2},
                        Case{"gfx908", "v_mfma_f32_32x32x2f32", 0}})
    for (unsigned Group = 0; Group <= K.Groups; ++Group)
      for (unsigned Block : {0u, (1u << Group) / 2, (1u << Group) - 1})
        for (unsigned Pattern = 0; Pattern < 8; ++Pattern) {
          ProductChoice C;
          C.Cbsz = Group;
          C.Abid = Block;
          C.Blgp = Pattern;
          checkProduct(K.Chip, 64, kindOf(K.Name), C);
        }
}

TEST(Matrix, Negations) {
  for (unsigned Bits = 0; Bits < 8; ++Bits) {
    ProductChoice C;
    C.Neg = Bits;
    for (const char *Chip : {"gfx942", "gfx950"}) {
      checkProduct(Chip, 64, kindOf("v_mfma_f64_16x16x4_f64"), C);
      checkProduct(Chip, 64, kindOf("v_mfma_f64_4x4x4_4b_f64"), C);
    }
    C = {};
    C.NegLo = Bits;
    C.NegHi = Bits * 3 % 8;
    for (const char *Chip : {"gfx1100", "gfx1201"})
      for (const char *Name :
           {"v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16",
            "v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"})
        checkProduct(Chip, 32, kindOf(Name), C);
  }
}

TEST(Matrix, UpperHalvesOfResults) {
  ProductChoice C;
  C.High = true;
  for (unsigned WaveSize : {32u, 64u})
    for (const char *Name :
         {"v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"})
      checkProduct("gfx1100", WaveSize, kindOf(Name), C);
}

TEST(Matrix, SignsAndSaturation) {
  for (unsigned Bits = 0; Bits < 8; ++Bits) {
    ProductChoice C;
    C.SignedA = Bits & 1;
    C.SignedB = Bits & 2;
    C.Clamp = Bits & 4;
    for (const char *Chip : {"gfx1100", "gfx1201"})
      for (unsigned WaveSize : {32u, 64u})
        for (const char *Name :
             {"v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4"})
          checkProduct(Chip, WaveSize, kindOf(Name), C);
    for (unsigned WaveSize : {32u, 64u})
      for (const char *Name :
           {"v_wmma_i32_16x16x32_iu4", "v_swmmac_i32_16x16x32_iu8",
            "v_swmmac_i32_16x16x32_iu4", "v_swmmac_i32_16x16x64_iu4"})
        checkProduct("gfx1201", WaveSize, kindOf(Name), C);
  }
}

TEST(Matrix, SetsOfTheIndex) {
  for (unsigned Set = 0; Set < 4; ++Set) {
    ProductChoice C;
    C.Abid = Set;
    for (unsigned NoSet : {0u, 1u}) {
      C.Cbsz = NoSet; // then the first set counts
      checkProduct("gfx942", 64, kindOf("v_smfmac_f32_16x16x32_f16"), C);
      checkProduct("gfx942", 64, kindOf("v_smfmac_f32_32x32x16_bf16"), C);
      if (Set < 2) {
        checkProduct("gfx942", 64, kindOf("v_smfmac_i32_16x16x64_i8"), C);
        checkProduct("gfx950", 64, kindOf("v_smfmac_f32_16x16x64_f16"), C);
        checkProduct("gfx950", 64, kindOf("v_smfmac_f32_32x32x32_bf8_fp8"), C);
      }
    }
    C = {};
    C.Set = Set;
    checkProduct("gfx1201", 64, kindOf("v_swmmac_f32_16x16x32_f16"), C);
    checkProduct("gfx1201", 64, kindOf("v_swmmac_i32_16x16x32_iu8"), C);
    if (Set < 2) {
      checkProduct("gfx1201", 32, kindOf("v_swmmac_bf16_16x16x32_bf16"), C);
      checkProduct("gfx1201", 32, kindOf("v_swmmac_f32_16x16x32_fp8_bf8"), C);
      checkProduct("gfx1201", 64, kindOf("v_swmmac_i32_16x16x64_iu4"), C);
    }
  }
}

// f32 loses what xf32 has no bits for, rounded to the nearest; NaN and
// infinities stay.
TEST(Matrix, RoundingOfFactors) {
  ProductChoice C;
  C.Element = [](const std::string &Type, std::mt19937 &Random) -> uint32_t {
    return Type == "xf32" ? 0x3f800000u + (uint32_t(Random()) & 0x1fffff)
                          : f32(0.5f);
  };
  checkProduct("gfx942", 64, kindOf("v_mfma_f32_16x16x8_xf32"), C);
  checkProduct("gfx942", 64, kindOf("v_mfma_f32_32x32x4_xf32"), C);
}

// 2048 and 1: f16 has no bit for the 1, and 2049 is as near to 2048 as to 2050;
// 2048 + 1 + 1/1024 is nearer to 2050.
TEST(Matrix, RoundingOfResults) {
  for (const char *Chip : {"gfx1100", "gfx1201"}) {
    const bool Dense = isGfx12(Chip);
    WaveTester T(Chip);
    for (unsigned R = 0; R < 32; ++R)
      std::fill_n(T.v(R), 32, 0);
    // Row 0 of A is (1, x, 0, ...), column 0 of B is (1, 1/1024, 0, ...).
    for (unsigned Copy : {0u, 16u}) {
      if (Copy && Dense)
        break;
      T.v(0)[Copy] = 0x3c003c00;
      T.v(8)[Copy] = 0x14003c00;
      T.v(8)[Copy + 1] = 0x00003c00;
    }
    for (unsigned R = 16; R < 24; ++R)
      std::fill_n(T.v(R), 32, 0x68006800); // 2048
    ASSERT_TRUE(
        T.run(Dense ? "v_wmma_f16_16x16x16_f16 v[24:27], v[0:3], v[8:11], "
                      "v[16:19]"
                    : "v_wmma_f16_16x16x16_f16 v[24:31], v[0:7], v[8:15], "
                      "v[16:23]"))
        << T.error();
    EXPECT_EQ(T.v(24)[0] & 0xffff, 0x6801u);
    EXPECT_EQ(T.v(24)[1] & 0xffff, 0x6800u);
  }
}

TEST(Matrix, RefusedModifiers) {
  struct Case {
    const char *Chip, *Text;
  };
  for (const Case &C :
       {Case{"gfx90a", "v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7] "
                       "blgp:1"},
        Case{"gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], "
                       "v[0:3] cbsz:1"},
        Case{"gfx942", "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], "
                       "v[0:3] cbsz:1 abid:2"}}) {
    WaveTester T(C.Chip);
    EXPECT_FALSE(T.run(C.Text));
    EXPECT_NE(T.error().find("not implemented with this broadcast"),
              std::string::npos)
        << T.error();
  }
}
