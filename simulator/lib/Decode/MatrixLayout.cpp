//===- MatrixLayout.cpp - Where the elements of matrices lie --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts of AMD's ISA documents (MI100 to MI350: 7.1 and its successors;
// RDNA3 and RDNA4: 7.9 and 7.12) and of AMD's matrix instruction calculator.
//
// Rows of A and columns of B go over lanes; along K each lane has some elements
// in a row. Only the order in which products are added depends on which of a
// lane's elements is which k, as long as A and B agree; where they have
// different types, or A is sparse, it decides what is multiplied.
//
//===----------------------------------------------------------------------===//

#include "Decode/MatrixLayout.h"

#include "llvm/ADT/StringSwitch.h"

using namespace lnbwd::sim;

std::optional<MatrixType> lnbwd::sim::matrixType(llvm::StringRef Name,
                                                 bool OneZero) {
  return llvm::StringSwitch<std::optional<MatrixType>>(Name)
      .Case("f64", MatrixType::F64)
      .Case("f32", MatrixType::F32)
      .Case("xf32", MatrixType::XF32)
      .Case("f16", MatrixType::F16)
      .Case("bf16", MatrixType::BF16)
      .Case("fp8", OneZero ? MatrixType::FP8Fnuz : MatrixType::FP8)
      .Case("bf8", OneZero ? MatrixType::BF8Fnuz : MatrixType::BF8)
      .Case("fp6", MatrixType::FP6)
      .Case("bf6", MatrixType::BF6)
      .Case("fp4", MatrixType::FP4)
      .Case("i32", MatrixType::I32)
      .Cases({"i8", "iu8"}, MatrixType::I8)
      .Case("iu4", MatrixType::I4)
      .Default(std::nullopt);
}

namespace {
/// A group of lanes, and an element of theirs.
struct AlongK {
  unsigned Group, Element;
};
} // namespace

static unsigned bitOf(unsigned X, unsigned Bit) { return X >> Bit & 1; }

/// Element K of a row that Groups of lanes share, PerLane each: runs of Run
/// elements round-robin.
static AlongK inRuns(unsigned K, unsigned Groups, unsigned Run) {
  return {K / Run % Groups, K / Run / Groups * Run + K % Run};
}

/// A kept element of a sparse row of A, of v_smfmac.
static AlongK sparseMfma(unsigned C, unsigned M, unsigned PerLane,
                         unsigned Bits) {
  const unsigned Groups = 64 / M;
  if (Bits != 8)
    return inRuns(C, Groups, PerLane);
  if (PerLane == 8)
    return inRuns(C, Groups, 4);
  if (M == 16)
    return {2 * bitOf(C, 5) + bitOf(C, 3),
            4 * (2 * bitOf(C, 2) + bitOf(C, 4)) + C % 4};
  return {bitOf(C, 4), 4 * (2 * bitOf(C, 2) + bitOf(C, 3)) + C % 4};
}

/// Of gfx12; in waves of 64 the upper half of the registers of a wave of 32
/// lies in the upper half of the lanes.
static AlongK wmmaGfx12(unsigned K, unsigned PerLane, unsigned Depth) {
  const unsigned Groups = Depth / PerLane, Group = K / PerLane;
  return {Groups == 4 ? 2 * (Group & 1) + Group / 2 : Group, K % PerLane};
}

/// The lane that gives B where it would be Lane, by BLGP.
static unsigned permuted(unsigned Lane, unsigned Pattern) {
  switch (Pattern) {
  case 0:
    return Lane;
  case 1:
  case 2:
    return Lane % 32 + 32 * (Pattern - 1);
  case 3:
    return (Lane + 16) % 64;
  default:
    return Lane % 16 + 16 * (Pattern - 4);
  }
}

/// Row (or column) I, depth K of block B of a factor.
static ElementLocation locateFactor(const MatrixShape &S, MatrixFamily Family,
                                    const MatrixLayout &P, bool IsA, unsigned I,
                                    unsigned K, unsigned B, unsigned Dwords) {
  const unsigned Bits = bitsOf(IsA ? S.A : S.B);
  const unsigned PerLane = Dwords * 32 / Bits;
  const unsigned Depth = IsA ? S.keptK() : S.K;
  const bool K128 = Depth == 128;
  AlongK Where{0, K};
  unsigned Stride = 16;
  switch (Family) {
  case MatrixFamily::Mfma: {
    const unsigned Groups = P.WaveSize / (S.M * S.Blocks);
    if (IsA && P.AGroup)
      B = (B >> P.AGroup << P.AGroup) + P.ABlock;
    // f8f6f4: the bytes of a lane are of two places.
    const unsigned Run = PerLane > 16 && Bits == 8 ? 16 : Depth / Groups;
    Where = inRuns(K, Groups, Run);
    Stride = S.M * S.Blocks;
    break;
  }
  case MatrixFamily::Smfmac:
    Where = IsA ? sparseMfma(K, S.M, PerLane, Bits)
                : inRuns(K, P.WaveSize / S.M, 8);
    Stride = S.M;
    break;
  case MatrixFamily::Wmma:
    // On gfx11 the upper lanes hold the same once more. On CDNA5 two halves of
    // the lanes take turns, as Triton has it: factors of one size have the same
    // order, on which sums do not depend.
    if (P.IsCdna5)
      Where = inRuns(K, 2, Bits == 32 ? 2 : !K128 ? 8 : Bits == 8 ? 16 : 32);
    else if (P.Generation >= 12)
      Where = wmmaGfx12(K, PerLane, Depth);
    break;
  case MatrixFamily::Swmmac:
    Where = wmmaGfx12(K, PerLane, Depth);
    break;
  }
  unsigned Lane = I + S.M * B + Stride * Where.Group;
  if (!IsA)
    Lane = permuted(Lane, P.BPattern);
  return {uint8_t(Lane), uint16_t(Where.Element * Bits)};
}

/// Lane and number of row I, column J of block B of the result.
static AlongK locateResult(const MatrixShape &S, MatrixFamily Family,
                           const MatrixLayout &P, unsigned I, unsigned J,
                           unsigned B) {
  const bool Wave64 = P.WaveSize == 64;
  if (Family == MatrixFamily::Mfma || Family == MatrixFamily::Smfmac) {
    if (S.Result == MatrixType::F64)
      return S.M == 4 ? AlongK{J + 4 * B + 16 * I, 0}
                      : AlongK{J + 16 * (I % 4), I / 4};
    if (S.M == 4)
      return {J + 4 * B, I};
    if (S.M == 16)
      return {J + 16 * (I / 4), 4 * B + I % 4};
    return {J + 32 * (I / 4 % 2), 16 * B + 4 * (I / 8) + I % 4};
  }
  if (P.Generation == 11)
    return Wave64 ? AlongK{J + 16 * (I % 4), I / 4}
                  : AlongK{J + 16 * (I % 2), I / 2};
  return Wave64 ? AlongK{J + 16 * (I / 8) + 32 * (I / 4 % 2), I % 4}
                : AlongK{J + 16 * (I / 8), I % 8};
}

void lnbwd::sim::locateElements(MatrixShape &S, MatrixFamily Family,
                                const MatrixLayout &P, unsigned DwordsA,
                                unsigned DwordsB) {
  const unsigned M = S.M, ResultBits = S.OneHalf ? 32 : bitsOf(S.Result);
  for (unsigned B = 0; B < S.Blocks; ++B) {
    for (unsigned I = 0; I < M; ++I)
      for (unsigned K = 0; K < S.keptK(); ++K)
        S.LocationsA.push_back(
            locateFactor(S, Family, P, true, I, K, B, DwordsA));
    for (unsigned K = 0; K < S.K; ++K)
      for (unsigned J = 0; J < M; ++J)
        S.LocationsB.push_back(
            locateFactor(S, Family, P, false, J, K, B, DwordsB));
    for (unsigned I = 0; I < M; ++I)
      for (unsigned J = 0; J < M; ++J) {
        const AlongK D = locateResult(S, Family, P, I, J, B);
        S.LocationsD.push_back(
            {uint8_t(D.Group),
             uint16_t(D.Element * ResultBits + (S.HighHalf ? 16 : 0))});
      }
  }
}
