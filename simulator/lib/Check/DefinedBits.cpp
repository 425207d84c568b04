//===- DefinedBits.cpp - Which bits of registers are defined --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of which some lanes are defined in part.
//
//===----------------------------------------------------------------------===//

#include "Check/DefinedBits.h"

#include "Core/LaneMask.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace lnbwd::sim;

void VectorBits::start(unsigned RowsDefined) {
  llvm::fill(Whole, 0);
  llvm::fill(Partly, 0);
  llvm::fill(Old, 0);
  std::fill_n(Whole, RowsDefined, ~0ull);
}

void VectorBits::missing(unsigned Row, uint32_t *Out, unsigned N) const {
  for (unsigned Lane = 0; Lane < N; ++Lane)
    Out[Lane] = missing(Row, Lane);
}

void VectorBits::copy(unsigned Row, unsigned From, uint64_t Lanes) {
  const uint64_t Parts = Partly[From] & Lanes;
  Whole[Row] = (Whole[Row] & ~Lanes) | (Whole[From] & Lanes);
  Partly[Row] = (Partly[Row] & ~Lanes) | Parts;
  for (unsigned Lane : LaneMask(Parts))
    Bits[size_t(Row) * 64 + Lane] = Bits[size_t(From) * 64 + Lane];
}

void VectorBits::set(unsigned Row, uint64_t Lanes, const uint32_t *Missing) {
  if (!Bits)
    Bits.reset(new uint32_t[size_t(NumVectorRows) * 64]);
  for (unsigned Lane : LaneMask(Lanes)) {
    const uint64_t Bit = 1ull << Lane;
    Whole[Row] &= ~Bit;
    Partly[Row] &= ~Bit;
    if (!Missing[Lane])
      Whole[Row] |= Bit;
    else if (~Missing[Lane])
      Partly[Row] |= Bit;
    Bits[size_t(Row) * 64 + Lane] = Missing[Lane];
  }
}
