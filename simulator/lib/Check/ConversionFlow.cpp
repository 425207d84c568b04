//===- ConversionFlow.cpp - What of a conversion is defined ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a conversion of 4 to 8 bits an element of the result is defined if the
// element that it is made of is, with its scale and its random number; the rest
// of the result's registers stays what it was.
//
//===----------------------------------------------------------------------===//

#include "Check/RegisterChecker.h"

#include "Core/LaneMask.h"
#include "Core/SmallConversion.h"

using namespace lnbwd::sim;

void RegisterChecker::propagateConversion(const Inst *I, const Effects &E,
                                          uint64_t Exec) {
  const SmallConversion &C = *I->Conversion;
  const RegisterSpan To = E.VectorWrite[0];
  const unsigned Width = bitsOf(C.From), ResultWidth = bitsOf(C.To);
  const unsigned PerSource = C.TwoSources ? C.Count / 2u : C.Count;
  const bool KeepsBits = C.ResultBit || C.Count * ResultWidth % 32;
  bool Whole = true;
  for (unsigned K = 0; K < I->NumSrc; ++K) {
    for (unsigned R = 0; R < E.VectorRead[K].Count; ++R)
      Whole &= !(Exec & ~Vectors.defined(E.VectorRead[K].First + R));
    Whole &= scalarDefined(E.ScalarRead[K]);
  }
  if (Whole && (!KeepsBits || !(Exec & ~Vectors.defined(To.First))))
    return define(To, Exec, ~0ull, Source());

  auto Missing = [&](unsigned K, unsigned Bit, unsigned Bits, unsigned Lane) {
    if (!scalarDefined(E.ScalarRead[K]))
      return true;
    if (!E.VectorRead[K].Count)
      return false;
    const unsigned Row = E.VectorRead[K].First + Bit / 32;
    uint64_t Holes = Vectors.missing(Row, Lane);
    if (Bit % 32 + Bits > 32)
      Holes |= uint64_t(Vectors.missing(Row + 1, Lane)) << 32;
    return (Holes >> Bit % 32 & ((1ull << Bits) - 1)) != 0;
  };
  const Source Reason = Whole ? Why[To.First] : blame(I, E, Exec);
  uint32_t Holes[32][64];
  for (unsigned R = 0; R < To.Count; ++R)
    Vectors.missing(To.First + R, Holes[R], W.N);
  for (unsigned Lane : LaneMask(Exec)) {
    // The exponent of an f32.
    const bool All =
        (C.Scale >= 0 && Missing(unsigned(C.Scale), 23, 8, Lane)) ||
        (C.Random >= 0 && Missing(unsigned(C.Random), 0, 32, Lane));
    for (unsigned K = 0; K < C.Count; ++K) {
      const bool Hole =
          All || Missing(K / PerSource, C.SourceBit + K % PerSource * Width,
                         Width, Lane);
      const unsigned Bit = C.ResultBit + K * ResultWidth;
      const uint64_t Bits = ((1ull << ResultWidth) - 1) << Bit % 32;
      for (unsigned Part = 0; Part < 2; ++Part) {
        const uint32_t Mask = uint32_t(Bits >> 32 * Part);
        if (!Mask)
          continue;
        uint32_t &H = Holes[Bit / 32 + Part][Lane];
        H = Hole ? H | Mask : H & ~Mask;
      }
    }
  }
  for (unsigned R = 0; R < To.Count; ++R) {
    Vectors.set(To.First + R, Exec, Holes[R]);
    Vectors.written(To.First + R, Exec);
    if (Exec & ~Vectors.defined(To.First + R))
      Why[To.First + R] = Reason;
  }
}
