//===- SmallConversion.h - Conversions of 4 to 8 bits -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A conversion to or from fp8, bf8, fp6, bf6 and fp4, or one that rounds by a
// random number, as it is executed.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_SMALLCONVERSION_H
#define LNBWD_LIB_SIMULATOR_CORE_SMALLCONVERSION_H

#include "Core/MatrixShape.h"

namespace lnbwd::sim {

/// Count elements, which lie one after the other from SourceBit of Src[0] on
/// (the second half of them in Src[1] with TwoSources), go to those from
/// ResultBit on. Other bits of the result's registers stay.
struct SmallConversion {
  MatrixType From = MatrixType::F32, To = MatrixType::F32;
  uint8_t Count = 1;
  uint8_t SourceBit = 0, ResultBit = 0;
  bool TwoSources = false;
  /// Which source is the scale: a power of two in the exponent of an f32, by
  /// which what is widened is multiplied, and what is narrowed divided; or the
  /// random number; or -1.
  int8_t Scale = -1, Random = -1;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_SMALLCONVERSION_H
