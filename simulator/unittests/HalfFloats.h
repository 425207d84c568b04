//===- HalfFloats.h - f16 and bf16 in the tests' own words ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's conversions, which share nothing with those that are under test.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_HALFFLOATS_H
#define LNBWD_UNITTESTS_SIMULATOR_HALFFLOATS_H

#include "llvm/ADT/APFloat.h"

#include <cstdint>

namespace lnbwd::sim {

/// The bits of the nearest number of a type of 16 bits, ties to even.
inline uint16_t narrow(double Value, const llvm::fltSemantics &Type) {
  llvm::APFloat F(Value);
  bool Inexact;
  F.convert(Type, llvm::APFloat::rmNearestTiesToEven, &Inexact);
  return uint16_t(F.bitcastToAPInt().getZExtValue());
}
inline float widen(uint16_t Bits, const llvm::fltSemantics &Type) {
  return llvm::APFloat(Type, llvm::APInt(16, Bits)).convertToFloat();
}

inline uint16_t toHalf(double Value) {
  return narrow(Value, llvm::APFloat::IEEEhalf());
}
inline float fromHalf(uint16_t Bits) {
  return widen(Bits, llvm::APFloat::IEEEhalf());
}
inline uint16_t toBFloat(double Value) {
  return narrow(Value, llvm::APFloat::BFloat());
}
inline float fromBFloat(uint16_t Bits) {
  return widen(Bits, llvm::APFloat::BFloat());
}

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_HALFFLOATS_H
