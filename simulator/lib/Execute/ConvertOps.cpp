//===- ConvertOps.cpp - Conversions between number formats ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the v_cvt instructions. Conversions to integers
// saturate and turn a NaN into zero.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

static uint32_t toU32(double X) {
  if (!(X > 0))
    return 0;
  return X >= 4294967296.0 ? ~0u : uint32_t(X);
}
static uint32_t toI32(double X) {
  if (X != X)
    return 0;
  if (X >= 2147483648.0)
    return 0x7fffffff;
  return X <= -2147483648.0 ? 0x80000000 : uint32_t(int32_t(X));
}
static uint32_t toU16(float X) {
  if (!(X > 0))
    return 0;
  return X >= 65535.0f ? 0xffff : uint32_t(X);
}
static uint32_t toI16(float X) {
  if (X != X)
    return 0;
  return uint32_t(X >= 32767.0f    ? 32767
                  : X <= -32768.0f ? -32768
                                   : int32_t(X)) &
         0xffff;
}
static double wide(uint32_t A) { return double(asF32(A)); }

static uint32_t signedNorm(float X) {
  if (X != X)
    return 0;
  X = X > 1 ? 1 : X < -1 ? -1 : X;
  return uint32_t(int32_t(roundEven(X * 32767.0f))) & 0xffff;
}
static uint32_t unsignedNorm(float X) {
  if (X != X)
    return 0;
  X = X > 1 ? 1 : X < 0 ? 0 : X;
  return uint32_t(roundEven(X * 65535.0f));
}
static uint32_t packByte(uint32_t A, uint32_t B, uint32_t C) {
  float X = roundEven(asF32(A));
  uint32_t Byte = !(X > 0) ? 0 : X >= 255 ? 255 : uint32_t(X);
  unsigned Shift = (B & 3) * 8;
  return (C & ~(0xffu << Shift)) | Byte << Shift;
}

using namespace operand_types;

const LaneOpInfo Table[] = {
#include "ISA/Instructions/Convert.def"
};

TableRef<LaneOpInfo> convertOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
