//===- TransposedLoads.cpp - Loads that transpose matrices ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ds_read_*_tr_* (gfx950), global_load_tr_* (gfx12), and both on CDNA5: each
// lane loads a piece of a row of a matrix, and gets a piece of a column.
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
                            unsigned Bits, bool LanesMakeRows) {
  const unsigned Column = Lane % 16, First = Lane - Column;
  if (LanesMakeRows) // 16 / Count lanes make a row of 16.
    return {First + E * (16 / Count) + Column / Count, Column % Count};
  switch (Bits) {
  case 16: // Eight by eight among eight lanes.
    return {Lane / 8 * 8 + E, Lane % 8};
  case 8: // Two blocks of eight columns, four rows at a time.
    return {First + E / 4 * 8 + Column / 8 * 4 + E % 4, Column % 8};
  case 6: // The halves of the lanes take turns, four rows at a time.
    return {E / 4 * 8 + Lane / 16 * 4 + E % 4, Column};
  default: // Eight rows at a time.
    return {E / 8 * 16 + Lane / 16 * 8 + E % 8, Column};
  }
}

void transposeLoaded(Wave &W, const Inst *I) {
  const isa::MemoryFacts &Facts = I->Record->Facts.Memory;
  const unsigned N = W.N, Bits = Facts.TransposedBits, Rows = I->Elements;
  const unsigned Count = Rows * 32 / Bits;
  uint32_t Loaded[4 * 64];
  for (unsigned R = 0; R < Rows; ++R)
    copyRow(Loaded + R * N, W.row(unsigned(I->Dst.Reg) + R), N);
  uint32_t *D = W.row(I->Dst.Reg);
  for (unsigned L = 0; L < N; ++L)
    for (unsigned E = 0; E < Count; ++E) {
      const LoadedPlace P = sourceOf(L, E, Count, Bits, Facts.LanesMakeRows);
      writeBits(D + L, E * Bits, Bits, N,
                readBits(Loaded + P.Lane, P.Element * Bits, Bits, N));
    }
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
