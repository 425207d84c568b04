//===- ProductTester.cpp - Products of matrices, by name ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header. Layouts: AMD's ISA documents and AMD's matrix instruction
// calculator.
//
//===----------------------------------------------------------------------===//

#include "ProductTester.h"

#include "Core/Environment.h"
#include "HalfFloats.h"
#include "lnbwd/ISA/Disassembler.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace lnbwd::sim;
using llvm::APFloat;
using llvm::APInt;
using llvm::StringRef;

static unsigned widthOf(const std::string &Type) {
  if (Type == "f64")
    return 64;
  if (Type == "f32" || Type == "xf32" || Type == "i32")
    return 32;
  if (Type == "f16" || Type == "bf16")
    return 16;
  if (Type == "fp6" || Type == "bf6")
    return 6;
  return Type == "iu4" || Type == "fp4" ? 4 : 8;
}
static bool isInteger(const std::string &Type) {
  return Type == "i8" || Type == "iu8" || Type == "iu4";
}

std::optional<ProductKind> ProductKind::parse(const std::string &Name) {
  ProductKind P;
  P.Name = Name;
  StringRef Rest = Name;
  P.Scaled = Name.rfind("v_mfma_scale_", 0) == 0;
  if (Rest.consume_front("v_mfma_scale_") || Rest.consume_front("v_mfma_"))
    P.Family = Mfma;
  else if (Rest.consume_front("v_smfmac_"))
    P.Family = Smfmac;
  else if (Rest.consume_front("v_wmma_"))
    P.Family = Wmma;
  else if (Rest.consume_front("v_swmmac_"))
    P.Family = Swmmac;
  auto [Result, Sizes] = Rest.split('_');
  P.Result = Result.str();
  unsigned N;
  if (Sizes.consumeInteger(10, P.M) || !Sizes.consume_front("x") ||
      Sizes.consumeInteger(10, N) || !Sizes.consume_front("x") || N != P.M ||
      Sizes.consumeInteger(10, P.K))
    return std::nullopt;
  const bool Doubled = Sizes.consume_back("_1k");
  const bool New = Sizes.consume_front("_");
  if (New && Sizes.contains("b_"))
    Sizes.consumeInteger(10, P.Blocks), Sizes.consume_front("b_");
  auto [A, B] = Sizes.split('_');
  P.A = A.str();
  P.B = B.empty() ? P.A : B.str();
  if (!New) { // The name leaves out the blocks.
    const unsigned PerLane = P.A == "f16" || P.A == "i8" || Doubled ? 4
                             : P.A == "bf16"                        ? 2
                                                                    : 1;
    P.Blocks = 64 * PerLane / (P.K * P.M);
  }
  return P;
}

namespace {
struct Element {
  unsigned Block, Row, Depth; ///< Depth is the column of a result
};

/// A product on a chip, whose registers hold the matrices.
class Runner {
public:
  Runner(const std::string &Chip, unsigned WaveSize, const ProductKind &P,
         const ProductChoice &C, const ExecTable &Table)
      : Chip(Chip), P(P), C(C), T(Chip, WaveSize, Table), N(T.lanes()),
        Generation(chipNamed(Chip).Generation) {
    if (this->P.A == "f8f6f4") {
      const char *const Types[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
      this->P.A = Types[C.Cbsz];
      this->P.B = Types[C.Blgp];
      Typed = true;
    }
  }
  void run();

private:
  unsigned registersOf(bool IsA) const;
  Element factorAt(bool IsA, unsigned Lane, unsigned E) const;
  Element resultAt(unsigned Lane, unsigned E) const;
  double value(const std::string &Type, uint64_t Bits, bool Signed) const;
  uint64_t someBits(const std::string &Type);
  void fillFactor(bool IsA);
  void fillIndex();
  void fillScales();
  void fillAddend();
  std::string text() const;
  /// The products that an element of the result is the sum of, with its addend.
  std::vector<double> terms(unsigned Block, unsigned Row, unsigned Column,
                            double Addend) const;
  /// Whether these bits are the result's element, of which those are the terms.
  bool isSum(uint64_t Got, const std::vector<double> &Terms) const;
  /// What MI200 makes of a subnormal number of a type.
  double flushed(const std::string &Type, double X) const;
  uint32_t *row(unsigned R) { return Chip == "gfx908" ? T.a(R) : T.v(R); }
  unsigned resultElements() const { return P.Blocks * P.M * P.M / N; }
  bool oneHalf() const { return Generation == 11 && widthOf(P.Result) == 16; }
  unsigned resultRegisters() const {
    return oneHalf() ? resultElements()
                     : resultElements() * widthOf(P.Result) / 32;
  }
  uint64_t &at(std::vector<uint64_t> &X, Element E, unsigned Columns) const {
    return X[(E.Block * P.M + E.Row) * Columns + E.Depth];
  }

  const std::string Chip;
  ProductKind P;
  const ProductChoice &C;
  WaveTester T;
  const unsigned N, Generation;
  bool Typed = false;
  std::mt19937 Random{1};
  /// By lane and element, and of A the index as well.
  std::vector<double> Factors[2];
  std::vector<unsigned> Chosen;
  std::vector<double> Scales[2];
  std::vector<double> Addends; ///< by lane and element
  static constexpr unsigned RegD = 0, RegC = 32, RegA = 64, RegB = 72,
                            RegIndex = 88, RegScaleB = 89;
};
} // namespace

unsigned Runner::registersOf(bool IsA) const {
  const unsigned Bits = widthOf(IsA ? P.A : P.B);
  const unsigned Depth = IsA ? P.kept() : P.K;
  if (Generation == 11)
    return Depth * Bits / 32;
  return std::max(1u, P.M * P.Blocks * Depth * Bits / (32 * N));
}

/// Which element of a factor a lane holds. Groups of lanes share a row.
Element Runner::factorAt(bool IsA, unsigned Lane, unsigned E) const {
  const unsigned Bits = widthOf(IsA ? P.A : P.B);
  const unsigned PerLane = registersOf(IsA) * 32 / Bits;
  if (P.Family == ProductKind::Mfma) {
    const unsigned Stride = P.M * P.Blocks, Group = Lane / Stride,
                   Groups = N / Stride;
    unsigned K = Group * (P.K / Groups) + E;
    if (PerLane > 16 && Bits == 8)
      K = E / 16 * 16 * Groups + 16 * Group + E % 16;
    return {Lane / P.M % P.Blocks, Lane % P.M, K};
  }
  if (P.Family == ProductKind::Smfmac) {
    const unsigned Group = Lane / P.M, Groups = 64 / P.M, Row = Lane % P.M;
    if (!IsA)
      return {0, Row, E / 8 * 8 * Groups + 8 * Group + E % 8};
    if (Bits == 16)
      return {0, Row, Group * PerLane + E};
    if (PerLane == 8)
      return {0, Row, E / 4 * 4 * Groups + 4 * Group + E % 4};
    const unsigned Word = E / 4, High = Word / 2, Low = Word % 2;
    if (P.M == 16)
      return {0, Row,
              32 * (Group / 2) + 16 * Low + 8 * (Group % 2) + 4 * High + E % 4};
    return {0, Row, 16 * Group + 8 * Low + 4 * High + E % 4};
  }
  if (Generation == 11)
    return {0, Lane % 16, E};
  // In waves of 64 the upper lanes continue the lower ones' registers.
  const unsigned Depth = IsA ? P.kept() : P.K;
  unsigned Group = Lane / 16;
  if (Depth / PerLane == 4)
    Group = Group % 2 * 2 + Group / 2;
  return {0, Lane % 16, Group * PerLane + E};
}

Element Runner::resultAt(unsigned Lane, unsigned E) const {
  if (P.Family == ProductKind::Mfma || P.Family == ProductKind::Smfmac) {
    if (P.Result == "f64")
      return P.M == 4 ? Element{Lane / 4 % 4, Lane / 16, Lane % 4}
                      : Element{0, 4 * E + Lane / 16, Lane % 16};
    if (P.M == 4)
      return {Lane / 4, E, Lane % 4};
    if (P.M == 16)
      return {E / 4, 4 * (Lane / 16) + E % 4, Lane % 16};
    return {E / 16, 8 * (E % 16 / 4) + 4 * (Lane / 32) + E % 4, Lane % 32};
  }
  if (Generation == 11)
    return {0, N / 16 * E + Lane / 16, Lane % 16};
  return {0,
          N == 32 ? E + 8 * (Lane / 16)
                  : E + 8 * (Lane / 16 % 2) + 4 * (Lane / 32),
          Lane % 16};
}

double Runner::value(const std::string &Type, uint64_t Bits,
                     bool Signed) const {
  auto Small = [&](const llvm::fltSemantics &S) {
    return APFloat(S, APInt(widthOf(Type), Bits)).convertToDouble();
  };
  const bool OneZero = Chip == "gfx942";
  if (Type == "f16")
    return double(fromHalf(uint16_t(Bits)));
  if (Type == "bf16")
    return double(fromBFloat(uint16_t(Bits)));
  if (Type == "f32")
    return Small(APFloat::IEEEsingle());
  if (Type == "xf32") {
    // Of 23 bits of fraction 10 are left.
    APFloat F(APFloat::IEEEsingle(), APInt(32, Bits));
    bool Inexact;
    F.convert(APFloat::FloatTF32(), APFloat::rmNearestTiesToEven, &Inexact);
    return F.convertToDouble();
  }
  if (Type == "f64")
    return Small(APFloat::IEEEdouble());
  if (Type == "fp8")
    return Small(OneZero ? APFloat::Float8E4M3FNUZ() : APFloat::Float8E4M3FN());
  if (Type == "bf8")
    return Small(OneZero ? APFloat::Float8E5M2FNUZ() : APFloat::Float8E5M2());
  if (Type == "fp6")
    return Small(APFloat::Float6E2M3FN());
  if (Type == "bf6")
    return Small(APFloat::Float6E3M2FN());
  if (Type == "fp4")
    return Small(APFloat::Float4E2M1FN());
  const unsigned Width = widthOf(Type);
  const bool Minus = Signed && (Bits >> (Width - 1) & 1);
  return double(Bits) - (Minus ? std::ldexp(1, int(Width)) : 0);
}

double Runner::flushed(const std::string &Type, double X) const {
  if (Chip != "gfx90a" || (P.A != "f16" && P.A != "bf16"))
    return X;
  return std::fabs(X) < (Type == "f16" ? 0x1p-14 : 0x1p-126) ? 0 : X;
}

/// Of a number that leaves sums exact in double precision.
uint64_t Runner::someBits(const std::string &Type) {
  if (C.Element && widthOf(Type) <= 32)
    if (const std::optional<uint32_t> Bits = C.Element(Type, Random))
      return *Bits;
  const double Number = (int(Random() % 129) - 64) / 16.0;
  if (Type == "f16")
    return toHalf(Number);
  if (Type == "bf16")
    return toBFloat(Number);
  if (Type == "f32" || Type == "xf32")
    return f32(float(Number));
  if (Type == "f64")
    return f64(Number);
  if (Type == "i32")
    return uint32_t(int(Random() % 2001) - 1000);
  for (;;) {
    const uint64_t Bits = Random() & ((1u << widthOf(Type)) - 1);
    if (isInteger(Type) || std::isfinite(value(Type, Bits, true)))
      return Bits;
  }
}

static void setBits(uint32_t *First, unsigned Lanes, unsigned Lane,
                    unsigned Bit, unsigned Width, uint64_t X) {
  for (unsigned K = 0; K < Width; ++K)
    First[(Bit + K) / 32 * Lanes + Lane] |= uint32_t(X >> K & 1)
                                            << (Bit + K) % 32;
}

void Runner::fillFactor(bool IsA) {
  const std::string &Type = IsA ? P.A : P.B;
  const unsigned Registers = registersOf(IsA), Width = widthOf(Type),
                 PerLane = Registers * 32 / Width;
  uint32_t *First = T.v(IsA ? RegA : RegB);
  std::fill_n(First, Registers * N, 0);
  std::vector<double> &F = Factors[!IsA];
  F.assign(size_t(P.Blocks) * P.M * P.K, 0);
  // On gfx11 the upper lanes hold what the lower ones hold.
  const unsigned Own = Generation == 11 ? 16 : N;
  const unsigned Columns = IsA ? P.kept() : P.K;
  for (unsigned Lane = 0; Lane < Own; ++Lane)
    for (unsigned E = 0; E < PerLane; ++E) {
      const Element Where = factorAt(IsA, Lane, E);
      if (Where.Depth >= Columns)
        continue; // Lanes that are not read.
      const uint64_t Bits = someBits(Type);
      for (unsigned Copy = Lane; Copy < N; Copy += Own)
        setBits(First, N, Copy, E * Width, Width, Bits);
      double X = flushed(Type, value(Type, Bits, IsA ? C.SignedA : C.SignedB));
      const unsigned Mask = IsA ? 1 : 2;
      if ((C.Neg & Mask) || ((E % 2 ? C.NegHi : C.NegLo) & Mask))
        X = -X;
      F[(Where.Block * P.M + Where.Row) * Columns + Where.Depth] = X;
    }
}

/// Two different ones of four, in order.
void Runner::fillIndex() {
  const unsigned PerLane = registersOf(true) * 32 / widthOf(P.A);
  const unsigned Sets = 32 / (2 * PerLane);
  const unsigned Set = P.Family == ProductKind::Smfmac
                           ? (C.Cbsz ? 0 : C.Abid % Sets)
                           : C.Set % Sets;
  Chosen.assign(size_t(P.M) * P.kept(), 0);
  for (unsigned Lane = 0; Lane < N; ++Lane) {
    T.v(RegIndex)[Lane] = 0;
    for (unsigned S = 0; S < Sets; ++S)
      for (unsigned E = 0; E < PerLane; E += 2) {
        const unsigned First = Random() % 3,
                       Second = First + 1 + Random() % (3 - First);
        setBits(T.v(RegIndex), N, Lane, (S * PerLane + E) * 2, 4,
                First | Second << 2);
        const Element Where = factorAt(true, Lane, E);
        if (S != Set || Where.Depth >= P.kept())
          continue;
        Chosen[Where.Row * P.kept() + Where.Depth] = First;
        Chosen[Where.Row * P.kept() + Where.Depth + 1] = Second;
      }
  }
}

void Runner::fillScales() {
  for (unsigned S = 0; S < 2; ++S) {
    Scales[S].assign(size_t(P.M) * (P.K / 32), 0);
    for (unsigned Lane = 0; Lane < N; ++Lane) {
      const uint32_t Bits = Random() % 4 * 0x01010101u + 0x807d7f7eu;
      T.v(S ? RegScaleB : RegIndex)[Lane] = Bits;
      const int Power = int(Bits >> 8 * C.ScaleBytes[S] & 0xff) - 127;
      // A scale is in the lane of its row; then the next 32 elements follow.
      Scales[S][Lane] = std::ldexp(1.0, Power);
    }
  }
}

void Runner::fillAddend() {
  const unsigned Width = widthOf(P.Result), Registers = resultRegisters();
  uint32_t *First = row(P.sparse() ? RegD : RegC);
  std::fill_n(row(RegD), Registers * N, oneHalf() ? 0xdddddddd : 0);
  std::fill_n(First, Registers * N, 0);
  Addends.clear();
  for (unsigned Lane = 0; Lane < N; ++Lane)
    for (unsigned E = 0; E < resultElements(); ++E) {
      uint64_t Bits = someBits(P.Result);
      if (C.Clamp)
        Bits = Lane % 2 ? 0x7fffff00 : 0x80000100;
      double X = flushed(P.Result, value(P.Result, Bits, true));
      if (C.NegHi & 4)
        X = std::fabs(X);
      if ((C.Neg | C.NegLo) & 4)
        X = -X;
      Addends.push_back(X);
      setBits(First, N, Lane,
              oneHalf() ? E * 32 + (C.High ? 16 : 0) : E * Width, Width, Bits);
    }
}

static std::string range(char Letter, unsigned First, unsigned Count) {
  const std::string Name(1, Letter);
  if (Count == 1)
    return Name + std::to_string(First);
  return Name + "[" + std::to_string(First) + ":" +
         std::to_string(First + Count - 1) + "]";
}

static std::string list(const char *Name, unsigned Bits) {
  return std::string(" ") + Name + ":[" + std::to_string(Bits & 1) + "," +
         std::to_string(Bits >> 1 & 1) + "," + std::to_string(Bits >> 2 & 1) +
         "]";
}

std::string Runner::text() const {
  const char Letter = Chip == "gfx908" ? 'a' : 'v';
  const unsigned Results = resultRegisters();
  std::string S =
      P.Name + " " + range(Letter, RegD, Results) + ", " +
      range('v', RegA, registersOf(true)) + ", " +
      range('v', RegB, registersOf(false)) + ", " +
      (P.sparse() ? range('v', RegIndex, 1) : range(Letter, RegC, Results));
  if (P.Scaled)
    S += ", v88, v89" +
         list("op_sel", (C.ScaleBytes[0] & 1) | (C.ScaleBytes[1] & 1) << 1) +
         list("op_sel_hi", C.ScaleBytes[0] >> 1 | C.ScaleBytes[1] >> 1 << 1);
  if (C.Set)
    S += " index_key:" + std::to_string(C.Set);
  if (C.High)
    S += list("op_sel", 4);
  unsigned Lo = C.NegLo;
  if (P.A == "iu8" || P.A == "iu4")
    Lo = C.SignedA | C.SignedB << 1;
  if (Lo)
    S += list("neg_lo", Lo);
  if (C.NegHi)
    S += list("neg_hi", C.NegHi);
  if (C.Neg)
    S += list("neg", C.Neg);
  for (auto [Name, X] : {std::pair("cbsz", C.Cbsz), std::pair("abid", C.Abid),
                         std::pair("blgp", C.Blgp)})
    if (X)
      S += std::string(" ") + Name + ":" + std::to_string(X);
  return C.Clamp ? S + " clamp" : S;
}

/// Which lane gives B where it would be another.
static unsigned patternOf(unsigned Lane, unsigned Blgp) {
  constexpr unsigned Halves[] = {0, 0, 32};
  if (Blgp == 0)
    return Lane;
  if (Blgp < 3)
    return Halves[Blgp] + Lane % 32;
  if (Blgp == 3)
    return (Lane + 16) % 64;
  return (Blgp - 4) * 16 + Lane % 16;
}

std::vector<double> Runner::terms(unsigned Block, unsigned Row, unsigned Column,
                                  double Addend) const {
  std::vector<double> Terms = {Addend};
  const unsigned ABlock =
      Typed || P.sparse() ? Block : (Block >> C.Cbsz << C.Cbsz) + C.Abid;
  for (unsigned K = 0; K < P.kept(); ++K) {
    const unsigned Dense =
        P.sparse() ? K / 2 * 4 + Chosen[Row * P.kept() + K] : K;
    double A = Factors[0][(ABlock * P.M + Row) * P.kept() + K];
    size_t AtB = (Block * P.M + Column) * P.K + Dense;
    if (C.Blgp && !Typed) {
      // Whose element lies in the lane that is read instead.
      const unsigned Stride = P.M * P.Blocks, PerLane = P.K * Stride / N;
      const unsigned Lane = Column + P.M * Block + Stride * (Dense / PerLane);
      const Element Where =
          factorAt(false, patternOf(Lane, C.Blgp), Dense % PerLane);
      AtB = (Where.Block * P.M + Where.Row) * P.K + Where.Depth;
    }
    double B = Factors[1][AtB];
    if (P.Scaled) {
      A *= Scales[0][Row + P.M * (K / 32)];
      B *= Scales[1][Column + P.M * (K / 32)];
    }
    Terms.push_back(A * B); // exact: there are no more than 48 bits
  }
  return Terms;
}

/// A number in units of 2^-320.
static APInt fixedPoint(double X) {
  int Exponent;
  const double Significand = std::frexp(X, &Exponent);
  APInt Fixed(768, uint64_t(int64_t(std::ldexp(Significand, 53))), true);
  const int Up = X == 0 ? 0 : Exponent - 53 + 320;
  return Up < 0 ? Fixed.ashr(unsigned(-Up)) : Fixed.shl(unsigned(Up));
}

bool Runner::isSum(uint64_t Got, const std::vector<double> &Terms) const {
  double Plain = 0;
  for (double X : Terms)
    Plain += X;
  if (P.Result == "f64") // of numbers whose sum is exact
    return Got == f64(Plain);
  if (P.Result == "i32") {
    const auto Whole = int64_t(Plain);
    return uint32_t(Got) ==
           uint32_t(C.Clamp ? std::clamp<int64_t>(Whole, INT32_MIN, INT32_MAX)
                            : Whole);
  }
  const double Value = value(P.Result, Got, true);
  if (std::isnan(Plain))
    return std::isnan(Value);
  if (std::isinf(Plain))
    return Value == Plain;
  APInt Exact(768, 0);
  for (double X : Terms)
    Exact += fixedPoint(X);
  // No number of the type is nearer, and as near only one that is odd. Where
  // the next number would follow the largest one, infinity is.
  const uint64_t Sign = 1ull << (widthOf(P.Result) - 1);
  const auto Distance = [&](uint64_t Magnitude) {
    const auto Number = [&](uint64_t Bits) {
      return fixedPoint(value(P.Result, Bits, true));
    };
    const bool Infinite = std::isinf(value(P.Result, Magnitude, true));
    const APInt At = Infinite
                         ? Number(Magnitude - 1) * 2 - Number(Magnitude - 2)
                         : Number(Magnitude);
    return (Exact.abs() - At).abs();
  };
  const uint64_t Magnitude = Got & (Sign - 1);
  if (std::isnan(Value) ||
      (Magnitude && Exact.isNegative() != bool(Got & Sign)))
    return false;
  if (Magnitude == 0 && flushed(P.Result, 0x1p-127) == 0)
    return Exact.abs().ult(fixedPoint(0x1p-126));
  if (flushed(P.Result, Value) != Value)
    return false;
  const APInt Here = Distance(Magnitude);
  const auto Better = [&](uint64_t Other) {
    const APInt There = Distance(Other);
    return There.ult(Here) || (There == Here && (Magnitude & 1));
  };
  return !(Magnitude && Better(Magnitude - 1)) &&
         !(!std::isinf(Value) && Better(Magnitude + 1));
}

void Runner::run() {
  const std::string Text = text();
  SCOPED_TRACE(Chip + " (waves of " + std::to_string(N) + "): " + Text);
  fillFactor(true);
  fillFactor(false);
  if (P.sparse())
    fillIndex();
  if (P.Scaled)
    fillScales();
  fillAddend();
  ASSERT_TRUE(T.run(Text)) << T.error();
  const unsigned Width = widthOf(P.Result);
  size_t Next = 0;
  for (unsigned Lane = 0; Lane < N; ++Lane)
    for (unsigned E = 0; E < resultElements(); ++E) {
      const Element Where = resultAt(Lane, E);
      const std::vector<double> Terms =
          terms(Where.Block, Where.Row, Where.Depth, Addends[Next++]);
      const unsigned Bit = oneHalf() ? E * 32 + (C.High ? 16 : 0) : E * Width;
      const uint32_t *R = row(RegD + Bit / 32) + Lane;
      uint64_t Got = R[0] >> Bit % 32;
      if (Width == 64)
        Got |= uint64_t(R[N]) << 32;
      else if (Width == 16)
        Got &= 0xffff;
      ASSERT_TRUE(isSum(Got, Terms))
          << std::hex << "got 0x" << Got << std::dec << " in block "
          << Where.Block << " row " << Where.Row << " column " << Where.Depth
          << " of the sum of " << testing::PrintToString(Terms);
      if (oneHalf()) { // The other half keeps what it was.
        ASSERT_EQ(R[0] >> (C.High ? 0 : 16) & 0xffff, 0xddddu);
      }
    }
}

void lnbwd::sim::checkProduct(const std::string &Chip, unsigned WaveSize,
                              const ProductKind &P, const ProductChoice &C,
                              const ExecTable &Table) {
  Runner(Chip, WaveSize, P, C, Table).run();
}

std::vector<std::string> lnbwd::sim::matrixMnemonics(const std::string &Chip,
                                                     unsigned WaveSize) {
  auto D = lnbwd::isa::Disassembler::create(Chip, WaveSize);
  EXPECT_TRUE(bool(D));
  std::set<std::string> Names;
  CrashGuard Guard;
  // Every number of an operation in the encodings of packed and matrix
  // instructions, alone and after the scales that belong to it.
  constexpr uint32_t Encodings[] = {0xd3800000, 0xcc004000};
  constexpr uint32_t Scales[] = {0xd3ac0000, 0x1802b358};
  for (uint32_t Encoding : Encodings)
    for (uint32_t Operation = 0; Operation < 128; ++Operation)
      for (bool Scaled : {false, true})
        // Factors of eight, of four and of fewer registers.
        for (uint32_t Types : {0u, 4u << 8 | 4u << 29}) {
          const uint32_t Words[4] = {
              Scaled ? Scales[0] : Encoding | Operation << 16 | Types % 65536,
              Scaled ? Scales[1] : 0x1c829140u | (Types >> 16 << 16),
              Encoding | Operation << 16 | 0x800, 0x04829140};
          lnbwd::isa::Disassembled Read;
          bool Valid = false;
          if (!Guard.survives([&] {
                Valid = (*D)->read(
                    {reinterpret_cast<const uint8_t *>(Words), 16}, 0, Read);
              }) ||
              !Valid)
            continue;
          const StringRef Name = StringRef(Read.Text).trim().take_until(
              [](char X) { return X == ' ' || X == '\t'; });
          for (const char *Start : {"v_mfma", "v_smfma", "v_wmma", "v_swmma"})
            if (Name.starts_with(Start))
              Names.insert(Name.str());
        }
  return {Names.begin(), Names.end()};
}
