//===- SmallConversionOps.cpp - Conversions of 4 to 8 bits ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is too large for fp8 and bf8 becomes NaN or infinity, or with
// MODE.FP16_OVFL the largest number; fp6, bf6 and fp4 have nothing but numbers.
// A random number is added below the last bit that stays, its upper bits first;
// what is below that is cut off.
//
//===----------------------------------------------------------------------===//

#include "Core/Instruction.h"
#include "Core/MatrixShape.h"
#include "Execute/LaneSupport.h"
#include "Execute/SmallFloats.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

constexpr uint32_t ModeSaturates = 1u << 23;

static unsigned fractionBits(MatrixType T) {
  switch (T) {
  case MatrixType::F32:
    return 23;
  case MatrixType::F16:
    return 10;
  case MatrixType::BF16:
    return 7;
  default:
    return smallFormat(T).Mantissa;
  }
}

static SmallFloatFormat formatOf(MatrixType T) {
  if (T == MatrixType::F16)
    return {10, 5, 15, SmallFloatTop::InfNaN};
  if (T == MatrixType::BF16)
    return {7, 8, 127, SmallFloatTop::InfNaN};
  return smallFormat(T);
}

static double valueOf(uint32_t X, MatrixType T) {
  switch (T) {
  case MatrixType::F32:
    return double(asF32(X));
  case MatrixType::F16:
    return double(half(X));
  case MatrixType::BF16:
    return double(bfloat(X));
  default:
    return smallFloat(X, smallFormat(T));
  }
}

/// The elements of a lane. S are its registers, N apart.
static void convertLane(const SmallConversion &C, const uint32_t *const *S,
                        const Operand *Operands, uint32_t *D, unsigned L,
                        unsigned N, bool Saturates) {
  const unsigned Width = bitsOf(C.From), ResultWidth = bitsOf(C.To);
  const bool Narrows = ResultWidth < Width;
  const double Scale =
      C.Scale < 0
          ? 1
          : scaleValue(S[C.Scale][C.scaleLane(L)] >> C.scaleBit(L) & 0xff);
  const unsigned PerSource = C.TwoSources ? C.Count / 2u : C.Count;
  const unsigned Dropped =
      Narrows ? fractionBits(C.From) - fractionBits(C.To) : 0;
  for (unsigned K = 0; K < C.Count; ++K) {
    const unsigned Which = K / PerSource;
    const unsigned Bit = C.SourceBit + K % PerSource * Width;
    double X = valueOf(readBits(S[Which] + L, Bit, Width, N), C.From);
    if (Operands[Which].Mods & ModAbs)
      X = __builtin_fabs(X);
    if (Operands[Which].Mods & ModNeg)
      X = -X;
    X = Narrows ? X / Scale : X * Scale;
    uint32_t Bits;
    if (!Narrows && C.To == MatrixType::F32) {
      Bits = bits(float(X));
    } else {
      double Added = -1; // to the nearest, ties to even
      if (C.Random >= 0)
        Added = double(S[C.Random][L] >> (32 - Dropped)) *
                powerOfTwo(-int(Dropped));
      Bits = toSmallFloat(X, formatOf(C.To), Saturates, Added);
    }
    writeBits(D + L, C.ResultBit + K * ResultWidth, ResultWidth, N, Bits);
  }
}

const Inst *convertSmall(Wave &W, const Inst *I) {
  const SmallConversion &C = *I->Conversion;
  const unsigned N = W.N;
  const uint64_t Exec = W.exec();
  const uint32_t *Sources[4];
  for (unsigned K = 0; K < I->NumSrc; ++K)
    Sources[K] = sourceRow(W, I->Src[K], W.T->Src[K]);
  // The result may overlap the sources.
  uint32_t Result[32 * 64];
  const unsigned Rows = (C.ResultBit + C.Count * bitsOf(C.To) + 31) / 32;
  for (unsigned R = 0; R < Rows; ++R)
    copyRow(Result + R * N, W.row(unsigned(I->Dst.Reg) + R), N);
  for (unsigned L : LaneMask(Exec)) {
    convertLane(C, Sources, I->Src, Result, L, N, W.Mode & ModeSaturates);
  }
  for (unsigned R = 0; R < Rows; ++R)
    copyRow(W.row(unsigned(I->Dst.Reg) + R), Result + R * N, N);
  return I + 1;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
