//===- DefinedBits.h - Which bits of registers are defined ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits of a wave's registers that nothing has been computed into. Most
// registers are defined or undefined as a whole, so that a lane mask says it;
// the others have a row of bits of their own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_DEFINEDBITS_H
#define LNBWD_LIB_SIMULATOR_CHECK_DEFINEDBITS_H

#include "Core/Instruction.h"

#include <cstdint>
#include <memory>

namespace lnbwd::sim {

/// The missing bits of the vector rows of a wave: those that are not defined.
class VectorBits {
public:
  /// The first rows of a new wave are defined, the others are not.
  void start(unsigned RowsDefined);

  /// The lanes of a row in which no bit is missing.
  uint64_t defined(unsigned Row) const { return Whole[Row]; }
  /// Those in which some bits are missing and others are not.
  uint64_t partlyDefined(unsigned Row) const { return Partly[Row]; }
  /// The missing bits of a lane.
  uint32_t missing(unsigned Row, unsigned Lane) const {
    if (Whole[Row] >> Lane & 1)
      return 0;
    return Partly[Row] >> Lane & 1 ? Bits[Row * 64 + Lane] : ~0u;
  }
  /// Those of the first N lanes.
  void missing(unsigned Row, uint32_t *Out, unsigned N) const;
  /// In the lanes, all bits become defined where Good has the lane, and
  /// missing elsewhere.
  void set(unsigned Row, uint64_t Lanes, uint64_t Good) {
    Whole[Row] = (Whole[Row] & ~Lanes) | (Good & Lanes);
    Partly[Row] &= ~Lanes;
  }
  /// In the lanes, what is missing in another row becomes missing.
  void copy(unsigned Row, unsigned From, uint64_t Lanes);
  /// In the lanes, the bits of Missing become missing, and no others.
  void set(unsigned Row, uint64_t Lanes, const uint32_t *Missing);

  /// A result went to these lanes, and to no others: what the others hold is
  /// older, and nothing that an active lane may ask for.
  void written(unsigned Row, uint64_t Lanes) { Old[Row] = ~Lanes; }
  void writtenToo(unsigned Row, unsigned Lane) { Old[Row] &= ~(1ull << Lane); }
  uint64_t old(unsigned Row) const { return Old[Row]; }

private:
  uint64_t Whole[NumVectorRows];
  uint64_t Partly[NumVectorRows];
  uint64_t Old[NumVectorRows];
  /// 64 for each row; made when a lane first needs them.
  std::unique_ptr<uint32_t[]> Bits;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_DEFINEDBITS_H
