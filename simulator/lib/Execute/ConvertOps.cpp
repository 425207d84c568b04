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

LANE_KERNEL(f32FromF16, halfToF32(A))
LANE_KERNEL(f16FromF32, f32ToHalf(A))
LANE_KERNEL(f32FromBF16, A << 16)
LANE_KERNEL(bf16FromF32, f32ToBFloat(A))
LANE_KERNEL(pkBF16FromF32, f32ToBFloat(A) | f32ToBFloat(B) << 16)
LANE_KERNEL(pkF16FromF32, f32ToHalf(A) | f32ToHalf(B) << 16)
LANE_KERNEL(pkrtzF16FromF32, f32ToHalfTowardZero(A) | f32ToHalfTowardZero(B)
                                                          << 16)
LANE_KERNEL(f32FromI32, bits(float(int32_t(A))))
LANE_KERNEL(f32FromU32, bits(float(A)))
LANE_KERNEL(u32FromF32, toU32(wide(A)))
LANE_KERNEL(i32FromF32, toI32(wide(A)))
LANE_KERNEL(i32FromF32Nearest, toI32(__builtin_floor(wide(A) + 0.5)))
LANE_KERNEL(i32FromF32Floor, toI32(__builtin_floor(wide(A))))
LANE_KERNEL(f32FromByte0, bits(float(A & 0xff)))
LANE_KERNEL(f32FromByte1, bits(float(A >> 8 & 0xff)))
LANE_KERNEL(f32FromByte2, bits(float(A >> 16 & 0xff)))
LANE_KERNEL(f32FromByte3, bits(float(A >> 24)))
LANE_KERNEL(offF32FromI4, bits(float(int32_t(A << 28) >> 28) * 0.0625f))
LANE_KERNEL(f16FromU16, halfBits(float(A & 0xffff)))
LANE_KERNEL(f16FromI16, halfBits(float(sext16(A))))
LANE_KERNEL(u16FromF16, toU16(half(A)))
LANE_KERNEL(i16FromF16, toI16(half(A)))
LANE_KERNEL(pkU16FromU32, umin(A, 0xffff) | umin(B, 0xffff) << 16)
LANE_KERNEL(pkI16FromI32, (uint32_t(saturate16(int32_t(A))) & 0xffff) |
                              uint32_t(saturate16(int32_t(B))) << 16)
LANE_KERNEL(pkU16FromF32, toU16(asF32(A)) | toU16(asF32(B)) << 16)
LANE_KERNEL(pkI16FromF32, toI16(asF32(A)) | toI16(asF32(B)) << 16)

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
LANE_KERNEL(pknormI16FromF32, signedNorm(asF32(A)) | signedNorm(asF32(B)) << 16)
LANE_KERNEL(pknormU16FromF32, unsignedNorm(asF32(A)) | unsignedNorm(asF32(B))
                                                           << 16)
LANE_KERNEL(pknormI16FromF16, signedNorm(half(A)) | signedNorm(half(B)) << 16)
LANE_KERNEL(pknormU16FromF16, unsignedNorm(half(A)) | unsignedNorm(half(B))
                                                          << 16)
LANE_KERNEL(normI16FromF16, signedNorm(half(A)))
LANE_KERNEL(normU16FromF16, unsignedNorm(half(A)))
static uint32_t packByte(uint32_t A, uint32_t B, uint32_t C) {
  float X = roundEven(asF32(A));
  uint32_t Byte = !(X > 0) ? 0 : X >= 255 ? 255 : uint32_t(X);
  unsigned Shift = (B & 3) * 8;
  return (C & ~(0xffu << Shift)) | Byte << Shift;
}
LANE_KERNEL(pkU8FromF32, packByte(A, B, C))

#define TO_F64(NAME, NUMBER)                                                   \
  static void NAME(uint32_t *D, const uint32_t *const *S, unsigned N) {        \
    for (unsigned L = 0; L < N; ++L) {                                         \
      const uint32_t A = S[0][L];                                              \
      const uint64_t X = bits(double(NUMBER));                                 \
      D[L] = uint32_t(X);                                                      \
      D[L + N] = uint32_t(X >> 32);                                            \
    }                                                                          \
  }
TO_F64(f64FromF32, asF32(A))
TO_F64(f64FromI32, int32_t(A))
TO_F64(f64FromU32, A)
#define FROM_F64(NAME, RESULT)                                                 \
  static void NAME(uint32_t *D, const uint32_t *const *S, unsigned N) {        \
    for (unsigned L = 0; L < N; ++L) {                                         \
      const double X = asF64(join(S[0][L], S[0][L + N]));                      \
      D[L] = RESULT;                                                           \
    }                                                                          \
  }
FROM_F64(f32FromF64, bits(float(X)))
FROM_F64(i32FromF64, toI32(X))
FROM_F64(u32FromF64, toU32(X))

using namespace operand_types;

#define CVT1(NAME, DST, SRC, FN) {NAME, DST, {SRC}, LaneFloat, FN}
#define CVT2(NAME, DST, SRC, FN) {NAME, DST, {SRC, SRC}, LaneFloat, FN}

const LaneOpInfo Table[] = {
    CVT1("v_cvt_f32_f16", F32, F16, f32FromF16),
    CVT1("v_cvt_f16_f32", F16, F32, f16FromF32),
    CVT1("v_cvt_f32_bf16", F32, BF16, f32FromBF16),
    CVT1("v_cvt_bf16_f32", BF16, F32, bf16FromF32),
    CVT2("v_cvt_pk_bf16_f32", PkBF16, F32, pkBF16FromF32),
    CVT2("v_cvt_pk_f16_f32", PkF16, F32, pkF16FromF32),
    CVT2("v_cvt_pkrtz_f16_f32", PkF16, F32, pkrtzF16FromF32),
    CVT1("v_cvt_f32_i32", F32, B32, f32FromI32),
    CVT1("v_cvt_f32_u32", F32, B32, f32FromU32),
    CVT1("v_cvt_u32_f32", B32, F32, u32FromF32),
    CVT1("v_cvt_i32_f32", B32, F32, i32FromF32),
    CVT1("v_cvt_rpi_i32_f32", B32, F32, i32FromF32Nearest),
    CVT1("v_cvt_flr_i32_f32", B32, F32, i32FromF32Floor),
    CVT1("v_cvt_f32_ubyte0", F32, B32, f32FromByte0),
    CVT1("v_cvt_f32_ubyte1", F32, B32, f32FromByte1),
    CVT1("v_cvt_f32_ubyte2", F32, B32, f32FromByte2),
    CVT1("v_cvt_f32_ubyte3", F32, B32, f32FromByte3),
    CVT1("v_cvt_off_f32_i4", F32, B32, offF32FromI4),
    CVT1("v_cvt_f16_u16", F16, I16, f16FromU16),
    CVT1("v_cvt_f16_i16", F16, I16, f16FromI16),
    CVT1("v_cvt_u16_f16", I16, F16, u16FromF16),
    CVT1("v_cvt_i16_f16", I16, F16, i16FromF16),
    CVT1("v_cvt_norm_i16_f16", I16, F16, normI16FromF16),
    CVT1("v_cvt_norm_u16_f16", I16, F16, normU16FromF16),
    CVT2("v_cvt_pk_u16_u32", PkI16, B32, pkU16FromU32),
    CVT2("v_cvt_pk_i16_i32", PkI16, B32, pkI16FromI32),
    CVT2("v_cvt_pk_u16_f32", PkI16, F32, pkU16FromF32),
    CVT2("v_cvt_pk_i16_f32", PkI16, F32, pkI16FromF32),
    CVT2("v_cvt_pknorm_i16_f32", PkI16, F32, pknormI16FromF32),
    CVT2("v_cvt_pknorm_u16_f32", PkI16, F32, pknormU16FromF32),
    CVT2("v_cvt_pknorm_i16_f16", PkI16, F16, pknormI16FromF16),
    CVT2("v_cvt_pknorm_u16_f16", PkI16, F16, pknormU16FromF16),
    {"v_cvt_pk_u8_f32", B32, {F32, B32, B32}, LaneFloat, pkU8FromF32},
    CVT1("v_cvt_f64_f32", F64, F32, f64FromF32),
    CVT1("v_cvt_f64_i32", F64, B32, f64FromI32),
    CVT1("v_cvt_f64_u32", F64, B32, f64FromU32),
    CVT1("v_cvt_f32_f64", F32, F64, f32FromF64),
    CVT1("v_cvt_i32_f64", B32, F64, i32FromF64),
    CVT1("v_cvt_u32_f64", B32, F64, u32FromF64),
};

TableRef<LaneOpInfo> convertOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
