//===- TransposedLoads.cpp - Loads that transpose matrices ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ds_read_*_tr_* (gfx950) and global_load_tr_* (gfx12): each lane loads a piece
// of a row of a matrix, and gets a piece of a column.
//
//===----------------------------------------------------------------------===//

#include "Execute/MemorySupport.h"
#include "Execute/SmallFloats.h"
#include "lnbwd/ISA/InstructionRecord.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

namespace {
struct LoadedPlace {
  unsigned Lane, Element;
};
} // namespace

/// What becomes element E of a lane. A lane loads Count elements.
static LoadedPlace sourceOf(unsigned Lane, unsigned E, unsigned Count,
                            unsigned Bits, bool FromLds) {
  const unsigned Column = Lane % 16, First = Lane - Column;
  // 16 / Count lanes make a row of 16. CDNA5's eight elements of 16 bits are
  // those of its loads from global memory.
  if (FromLds && !(Bits == 16 && Count == 8))
    return {First + E * (16 / Count) + Column / Count, Column % Count};
  if (Bits == 16) // Eight by eight among eight lanes.
    return {Lane / 8 * 8 + E, Lane % 8};
  // Two blocks of eight columns, four rows at a time.
  return {First + E / 4 * 8 + Column / 8 * 4 + E % 4, Column % 8};
}

void transposeLoaded(Wave &W, const Inst *I) {
  const unsigned N = W.N, Bits = I->Record->Facts.Memory.TransposedBits,
                 Rows = I->Elements;
  const unsigned Count = Rows * 32 / Bits;
  uint32_t Loaded[4 * 64];
  for (unsigned R = 0; R < Rows; ++R)
    copyRow(Loaded + R * N, W.row(unsigned(I->Dst.Reg) + R), N);
  uint32_t *D = W.row(I->Dst.Reg);
  for (unsigned L = 0; L < N; ++L)
    for (unsigned E = 0; E < Count; ++E) {
      const LoadedPlace P =
          sourceOf(L, E, Count, Bits, I->Class == InstClass::LDS);
      writeBits(D + L, E * Bits, Bits, N,
                readBits(Loaded + P.Lane, P.Element * Bits, Bits, N));
    }
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
