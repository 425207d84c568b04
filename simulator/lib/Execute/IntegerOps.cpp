//===- IntegerOps.cpp - 32- and 16-bit integer vector instructions --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the integer vector ALU instructions whose operands are
// single registers.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

LANE_KERNEL(movB32, A)
LANE_KERNEL(notB32, ~A)
LANE_KERNEL(andB32, A &B)
LANE_KERNEL(orB32, A | B)
LANE_KERNEL(xorB32, A ^ B)
LANE_KERNEL(xnorB32, ~(A ^ B))
LANE_KERNEL(or3B32, A | B | C)
LANE_KERNEL(xor3B32, A ^ B ^ C)
LANE_KERNEL(andOrB32, (A & B) | C)
LANE_KERNEL(addU32, A + B)
LANE_KERNEL(subU32, A - B)
LANE_KERNEL(subRevU32, B - A)
LANE_KERNEL(addU32Clamp, A + B < A ? ~0u : A + B)
LANE_KERNEL(subU32Clamp, A < B ? 0 : A - B)
LANE_KERNEL(subRevU32Clamp, B < A ? 0 : B - A)
LANE_KERNEL(addI32Clamp, uint32_t(saturate(int64_t(int32_t(A)) + int32_t(B))))
LANE_KERNEL(subI32Clamp, uint32_t(saturate(int64_t(int32_t(A)) - int32_t(B))))
LANE_KERNEL(add3U32, A + B + C)
LANE_KERNEL(addLshlU32, (A + B) << (C & 31))
LANE_KERNEL(lshlAddU32, (A << (B & 31)) + C)
LANE_KERNEL(lshlOrB32, (A << (B & 31)) | C)
LANE_KERNEL(xadU32, (A ^ B) + C)
LANE_KERNEL(lshlRev, B << (A & 31))
LANE_KERNEL(lshrRev, B >> (A & 31))
LANE_KERNEL(ashrRev, uint32_t(int32_t(B) >> (A & 31)))
LANE_KERNEL(bfeU32, (C & 31) ? (A >> (B & 31)) & ((1u << (C & 31)) - 1) : 0)
/// After the sign bit there are more of it.
static uint32_t signedField(uint32_t A, unsigned Offset, unsigned Width) {
  const uint32_t Field = uint32_t(int32_t(A) >> Offset);
  return Width ? uint32_t(int32_t(Field << (32 - Width)) >> (32 - Width)) : 0;
}
LANE_KERNEL(bfeI32, signedField(A, B & 31, C & 31))
LANE_KERNEL(bfiB32, (A & B) | (~A & C))
LANE_KERNEL(bfmB32, ((1u << (A & 31)) - 1) << (B & 31))
LANE_KERNEL(alignBit, uint32_t(join(B, A) >> (C & 31)))
LANE_KERNEL(alignByte, uint32_t(join(B, A) >> ((C & 3) * 8)))
LANE_KERNEL(minU32, umin(A, B))
LANE_KERNEL(maxU32, umax(A, B))
LANE_KERNEL(minI32, uint32_t(imin(int32_t(A), int32_t(B))))
LANE_KERNEL(maxI32, uint32_t(imax(int32_t(A), int32_t(B))))
LANE_KERNEL(min3U32, umin(umin(A, B), C))
LANE_KERNEL(max3U32, umax(umax(A, B), C))
LANE_KERNEL(min3I32, uint32_t(imin(imin(int32_t(A), int32_t(B)), int32_t(C))))
LANE_KERNEL(max3I32, uint32_t(imax(imax(int32_t(A), int32_t(B)), int32_t(C))))
LANE_KERNEL(med3U32, umax(umin(A, B), umin(umax(A, B), C)))
LANE_KERNEL(med3I32,
            uint32_t(imax(imin(int32_t(A), int32_t(B)),
                          imin(imax(int32_t(A), int32_t(B)), int32_t(C)))))
LANE_KERNEL(maxMinU32, umin(umax(A, B), C))
LANE_KERNEL(minMaxU32, umax(umin(A, B), C))
LANE_KERNEL(maxMinI32, uint32_t(imin(imax(int32_t(A), int32_t(B)), int32_t(C))))
LANE_KERNEL(minMaxI32, uint32_t(imax(imin(int32_t(A), int32_t(B)), int32_t(C))))
LANE_KERNEL(mulLoU32, A *B)
LANE_KERNEL(mulHiU32, uint32_t(uint64_t(A) * B >> 32))
LANE_KERNEL(mulHiI32,
            uint32_t(uint64_t(int64_t(int32_t(A)) * int32_t(B)) >> 32))
LANE_KERNEL(mulU24, (A & 0xffffff) * (B & 0xffffff))
LANE_KERNEL(mulI24, uint32_t(sext24(A)) * uint32_t(sext24(B)))
LANE_KERNEL(mulHiU24, uint32_t(uint64_t(A & 0xffffff) * (B & 0xffffff) >> 32))
LANE_KERNEL(mulHiI24, uint32_t(uint64_t(int64_t(sext24(A)) * sext24(B)) >> 32))
LANE_KERNEL(madU24, (A & 0xffffff) * (B & 0xffffff) + C)
LANE_KERNEL(madI24, uint32_t(sext24(A)) * uint32_t(sext24(B)) + C)
LANE_KERNEL(madU32U16, (A & 0xffff) * (B & 0xffff) + C)
LANE_KERNEL(madI32I16, uint32_t(sext16(A) * sext16(B)) + C)

LANE_KERNEL(ffbhU32, A ? uint32_t(__builtin_clz(A)) : ~0u)
LANE_KERNEL(ffblB32, A ? uint32_t(__builtin_ctz(A)) : ~0u)
static uint32_t signBits(uint32_t X) {
  uint32_t Y = X ^ uint32_t(int32_t(X) >> 31);
  return Y ? uint32_t(__builtin_clz(Y)) : ~0u;
}
LANE_KERNEL(ffbhI32, signBits(A))
static uint32_t population(uint32_t X) {
  X -= X >> 1 & 0x55555555;
  X = (X & 0x33333333) + (X >> 2 & 0x33333333);
  X = (X + (X >> 4)) & 0x0f0f0f0f;
  return X * 0x01010101 >> 24;
}
LANE_KERNEL(bcntU32, population(A) + B)
static uint32_t reverse(uint32_t X) {
  X = (X >> 1 & 0x55555555) | (X & 0x55555555) << 1;
  X = (X >> 2 & 0x33333333) | (X & 0x33333333) << 2;
  X = (X >> 4 & 0x0f0f0f0f) | (X & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(X);
}
LANE_KERNEL(bfrevB32, reverse(A))

// One byte of {A, B}; selectors above 7 give signs and constants.
static uint32_t permByte(uint32_t A, uint32_t B, uint32_t Selector) {
  Selector &= 0xff;
  if (Selector >= 13)
    return 0xff;
  if (Selector == 12)
    return 0;
  uint64_t Data = join(B, A);
  if (Selector >= 8)
    return (Data >> ((Selector - 8) * 16 + 15) & 1) ? 0xff : 0;
  return uint32_t(Data >> (Selector * 8)) & 0xff;
}
LANE_KERNEL(permB32, permByte(A, B, C) | permByte(A, B, C >> 8) << 8 |
                         permByte(A, B, C >> 16) << 16 |
                         permByte(A, B, C >> 24) << 24)
static uint32_t byteDistance(uint32_t A, uint32_t B) {
  uint32_t Sum = 0;
  for (unsigned I = 0; I < 32; I += 8) {
    int32_t Difference = int32_t(A >> I & 0xff) - int32_t(B >> I & 0xff);
    Sum += uint32_t(Difference < 0 ? -Difference : Difference);
  }
  return Sum;
}
static uint32_t halfDistance(uint32_t A, uint32_t B) {
  uint32_t Low = umax(A & 0xffff, B & 0xffff) - umin(A & 0xffff, B & 0xffff);
  return Low + umax(A >> 16, B >> 16) - umin(A >> 16, B >> 16);
}
static uint32_t maskedByteDistance(uint32_t A, uint32_t B) {
  uint32_t Sum = 0;
  for (unsigned I = 0; I < 32; I += 8)
    if (B >> I & 0xff)
      Sum += byteDistance(A >> I & 0xff, B >> I & 0xff);
  return Sum;
}
LANE_KERNEL(msadU8, maskedByteDistance(A, B) + C)
LANE_KERNEL(sadU8, byteDistance(A, B) + C)
LANE_KERNEL(sadHiU8, (byteDistance(A, B) << 16) + C)
LANE_KERNEL(sadU16, halfDistance(A, B) + C)
LANE_KERNEL(sadU32, umax(A, B) - umin(A, B) + C)
static uint32_t lerp(uint32_t A, uint32_t B, uint32_t C) {
  uint32_t R = 0;
  for (unsigned I = 0; I < 32; I += 8)
    R |= ((A >> I & 0xff) + (B >> I & 0xff) + (C >> I & 1)) >> 1 << I;
  return R;
}
LANE_KERNEL(lerpU8, lerp(A, B, C))
LANE_KERNEL(prngB32, A << 1 ^ ((A >> 31) ? 197u : 0u))

// C is a lane mask.
LANE_KERNEL(cndmaskB32, C ? B : A)
LANE_KERNEL(cndmaskB16, (C ? B : A) & 0xffff)

// 16 bits: results are cut to 16 bits here, the other half is the driver's.
LANE_KERNEL(movB16, A & 0xffff)
LANE_KERNEL(notB16, ~A & 0xffff)
LANE_KERNEL(andB16, A & B & 0xffff)
LANE_KERNEL(orB16, (A | B) & 0xffff)
LANE_KERNEL(xorB16, (A ^ B) & 0xffff)
LANE_KERNEL(addU16, (A + B) & 0xffff)
LANE_KERNEL(subU16, (A - B) & 0xffff)
LANE_KERNEL(subRevU16, (B - A) & 0xffff)
LANE_KERNEL(addU16Clamp, umin((A & 0xffff) + (B & 0xffff), 0xffff))
LANE_KERNEL(subU16Clamp,
            (A & 0xffff) < (B & 0xffff) ? 0 : (A & 0xffff) - (B & 0xffff))
LANE_KERNEL(addI16Clamp, uint32_t(saturate16(sext16(A) + sext16(B))) & 0xffff)
LANE_KERNEL(subI16Clamp, uint32_t(saturate16(sext16(A) - sext16(B))) & 0xffff)
LANE_KERNEL(mulLoU16, (A * B) & 0xffff)
LANE_KERNEL(madU16, (A * B + C) & 0xffff)
LANE_KERNEL(lshlRevB16, (B << (A & 15)) & 0xffff)
LANE_KERNEL(lshrRevB16, (B & 0xffff) >> (A & 15))
LANE_KERNEL(ashrRevI16, uint32_t(sext16(B) >> (A & 15)) & 0xffff)
LANE_KERNEL(minU16, umin(A & 0xffff, B & 0xffff))
LANE_KERNEL(maxU16, umax(A & 0xffff, B & 0xffff))
LANE_KERNEL(minI16, uint32_t(imin(sext16(A), sext16(B))) & 0xffff)
LANE_KERNEL(maxI16, uint32_t(imax(sext16(A), sext16(B))) & 0xffff)
LANE_KERNEL(min3U16, umin(umin(A & 0xffff, B & 0xffff), C & 0xffff))
LANE_KERNEL(max3U16, umax(umax(A & 0xffff, B & 0xffff), C & 0xffff))
LANE_KERNEL(min3I16,
            uint32_t(imin(imin(sext16(A), sext16(B)), sext16(C))) & 0xffff)
LANE_KERNEL(max3I16,
            uint32_t(imax(imax(sext16(A), sext16(B)), sext16(C))) & 0xffff)
LANE_KERNEL(med3U16, umax(umin(A & 0xffff, B & 0xffff),
                          umin(umax(A & 0xffff, B & 0xffff), C & 0xffff)))
LANE_KERNEL(med3I16,
            uint32_t(imax(imin(sext16(A), sext16(B)),
                          imin(imax(sext16(A), sext16(B)), sext16(C)))) &
                0xffff)
LANE_KERNEL(satPkU8I16, uint32_t(imax(imin(sext16(A), 255), 0)) |
                            uint32_t(imax(imin(sext16(A >> 16), 255), 0)) << 8)
LANE_KERNEL(packB32, (A & 0xffff) | B << 16)
LANE_KERNEL(cvtI32I16, uint32_t(sext16(A)))
LANE_KERNEL(cvtU32U16, A & 0xffff)

// The truth table of bitop3 is the fourth source.
static uint32_t bitop3(uint32_t A, uint32_t B, uint32_t C, uint32_t Table) {
  uint32_t R = 0;
  for (unsigned I = 0; I < 8; ++I) {
    uint32_t Term =
        ((I & 4) ? A : ~A) & ((I & 2) ? B : ~B) & ((I & 1) ? C : ~C);
    R |= (Table >> I & 1) ? Term : 0;
  }
  return R;
}
LANE_KERNEL(bitop3B32, bitop3(A, B, C, E))
LANE_KERNEL(bitop3B16, bitop3(A, B, C, E) & 0xffff)

static int32_t dot4(uint32_t A, uint32_t B, bool SignedA, bool SignedB) {
  int32_t Sum = 0;
  for (unsigned I = 0; I < 32; I += 8) {
    int32_t X = SignedA ? int8_t(A >> I) : uint8_t(A >> I);
    int32_t Y = SignedB ? int8_t(B >> I) : uint8_t(B >> I);
    Sum += X * Y;
  }
  return Sum;
}
static int32_t dot8(uint32_t A, uint32_t B, bool SignedA, bool SignedB) {
  int32_t Sum = 0;
  for (unsigned I = 0; I < 32; I += 4) {
    const int32_t X = A >> I & 15, Y = B >> I & 15;
    Sum +=
        (X - (SignedA ? (X & 8) * 2 : 0)) * (Y - (SignedB ? (Y & 8) * 2 : 0));
  }
  return Sum;
}
static int64_t dot2I16(uint32_t A, uint32_t B) {
  return int64_t(sext16(A)) * sext16(B) +
         int64_t(sext16(A >> 16)) * sext16(B >> 16);
}
static uint64_t dot2U16(uint32_t A, uint32_t B) {
  return uint64_t(A & 0xffff) * (B & 0xffff) + uint64_t(A >> 16) * (B >> 16);
}
/// Products and the addend: as much as fits, or the nearest number there is.
static uint32_t saturatedI32(int64_t Products, uint32_t Addend) {
  return uint32_t(saturate(Products + int32_t(Addend)));
}
static uint32_t saturatedU32(uint64_t Products, uint32_t Addend) {
  const uint64_t Sum = Products + Addend;
  return Sum > ~0u ? ~0u : uint32_t(Sum);
}
/// A dot product and its form under clamp.
#define DOT_KERNEL(NAME, KIND, PRODUCTS)                                       \
  LANE_KERNEL(NAME, uint32_t(PRODUCTS) + C)                                    \
  LANE_KERNEL(NAME##Clamped, saturated##KIND(PRODUCTS, C))
DOT_KERNEL(dot4I32I8, I32, dot4(A, B, true, true))
DOT_KERNEL(dot4U32U8, U32, uint32_t(dot4(A, B, false, false)))
DOT_KERNEL(dot8I32I4, I32, dot8(A, B, true, true))
DOT_KERNEL(dot8U32U4, U32, uint32_t(dot8(A, B, false, false)))
DOT_KERNEL(dot4I32SU, I32, dot4(A, B, true, false))
DOT_KERNEL(dot4I32US, I32, dot4(A, B, false, true))
DOT_KERNEL(dot4I32UU, I32, dot4(A, B, false, false))
DOT_KERNEL(dot8I32SU, I32, dot8(A, B, true, false))
DOT_KERNEL(dot8I32US, I32, dot8(A, B, false, true))
DOT_KERNEL(dot8I32UU, I32, dot8(A, B, false, false))
DOT_KERNEL(dot2I32I16, I32, dot2I16(A, B))
DOT_KERNEL(dot2U32U16, U32, dot2U16(A, B))

using namespace operand_types;

#define OP1(NAME, FN) {NAME, B32, {B32}, 0, FN}
#define OP2(NAME, FN) {NAME, B32, {B32, B32}, 0, FN}
#define OP2C(NAME, FN, CLAMPED) {NAME, B32, {B32, B32}, 0, FN, nullptr, CLAMPED}
#define DOT(NAME, SOURCE, FLAGS, FN)                                           \
  {NAME, B32, {SOURCE, SOURCE, B32}, FLAGS, FN, nullptr, FN##Clamped}
#define OP3(NAME, FN) {NAME, B32, {B32, B32, B32}, 0, FN}
#define SHORT1(NAME, FN) {NAME, I16, {I16}, 0, FN}
#define SHORT2(NAME, FN, CLAMPED)                                              \
  {NAME, I16, {I16, I16}, 0, FN, nullptr, CLAMPED}
#define SHORT3(NAME, FN) {NAME, I16, {I16, I16, I16}, 0, FN}
#define SHORT3H(NAME, FN) {NAME, I16, {I16, I16, I16}, LanePreservesHigh, FN}

const LaneOpInfo Table[] = {
    OP1("v_mov_b32", movB32),
    OP1("v_accvgpr_read_b32", movB32),
    OP1("v_accvgpr_write_b32", movB32),
    OP1("v_accvgpr_mov_b32", movB32),
    OP1("v_not_b32", notB32),
    OP1("v_bfrev_b32", bfrevB32),
    OP1("v_ffbh_u32", ffbhU32),
    OP1("v_ffbl_b32", ffblB32),
    OP1("v_ffbh_i32", ffbhI32),
    OP1("v_prng_b32", prngB32),
    OP1("v_sat_pk_u8_i16", satPkU8I16),
    {"v_cvt_i32_i16", B32, {I16}, 0, cvtI32I16},
    {"v_cvt_u32_u16", B32, {I16}, 0, cvtU32U16},
    OP2("v_and_b32", andB32),
    OP2("v_or_b32", orB32),
    OP2("v_xor_b32", xorB32),
    OP2("v_xnor_b32", xnorB32),
    OP2C("v_add_u32", addU32, addU32Clamp),
    OP2C("v_sub_u32", subU32, subU32Clamp),
    OP2C("v_subrev_u32", subRevU32, subRevU32Clamp),
    OP2C("v_add_i32", addU32, addI32Clamp),
    OP2C("v_sub_i32", subU32, subI32Clamp),
    OP2("v_lshlrev_b32", lshlRev),
    OP2("v_lshrrev_b32", lshrRev),
    OP2("v_ashrrev_i32", ashrRev),
    OP2("v_min_u32", minU32),
    OP2("v_max_u32", maxU32),
    OP2("v_min_i32", minI32),
    OP2("v_max_i32", maxI32),
    OP2("v_mul_lo_u32", mulLoU32),
    OP2("v_mul_hi_u32", mulHiU32),
    OP2("v_mul_hi_i32", mulHiI32),
    OP2("v_mul_u32_u24", mulU24),
    OP2("v_mul_i32_i24", mulI24),
    OP2("v_mul_hi_u32_u24", mulHiU24),
    OP2("v_mul_hi_i32_i24", mulHiI24),
    OP2("v_bfm_b32", bfmB32),
    OP2("v_bcnt_u32_b32", bcntU32),
    OP3("v_or3_b32", or3B32),
    OP3("v_xor3_b32", xor3B32),
    OP3("v_and_or_b32", andOrB32),
    OP3("v_add3_u32", add3U32),
    OP3("v_add_lshl_u32", addLshlU32),
    OP3("v_lshl_add_u32", lshlAddU32),
    OP3("v_lshl_or_b32", lshlOrB32),
    OP3("v_xad_u32", xadU32),
    OP3("v_bfe_u32", bfeU32),
    OP3("v_bfe_i32", bfeI32),
    OP3("v_bfi_b32", bfiB32),
    OP3("v_alignbit_b32", alignBit),
    OP3("v_alignbyte_b32", alignByte),
    OP3("v_perm_b32", permB32),
    OP3("v_min3_u32", min3U32),
    OP3("v_max3_u32", max3U32),
    OP3("v_med3_u32", med3U32),
    OP3("v_min3_i32", min3I32),
    OP3("v_max3_i32", max3I32),
    OP3("v_med3_i32", med3I32),
    OP3("v_maxmin_u32", maxMinU32),
    OP3("v_minmax_u32", minMaxU32),
    OP3("v_maxmin_i32", maxMinI32),
    OP3("v_minmax_i32", minMaxI32),
    OP3("v_mad_u32_u24", madU24),
    OP3("v_mad_i32_i24", madI24),
    OP3("v_msad_u8", msadU8),
    // These say of each source whether it is signed, which the decoder adds to
    // the name.
    DOT("v_dot4_i32_iu8:ss", B32, 0, dot4I32I8),
    DOT("v_dot4_i32_iu8:su", B32, 0, dot4I32SU),
    DOT("v_dot4_i32_iu8:us", B32, 0, dot4I32US),
    DOT("v_dot4_i32_iu8:uu", B32, 0, dot4I32UU),
    DOT("v_dot8_i32_iu4:ss", B32, 0, dot8I32I4),
    DOT("v_dot8_i32_iu4:su", B32, 0, dot8I32SU),
    DOT("v_dot8_i32_iu4:us", B32, 0, dot8I32US),
    DOT("v_dot8_i32_iu4:uu", B32, 0, dot8I32UU),
    OP3("v_sad_u8", sadU8),
    OP3("v_sad_hi_u8", sadHiU8),
    OP3("v_sad_u16", sadU16),
    OP3("v_sad_u32", sadU32),
    OP3("v_lerp_u8", lerpU8),
    {"v_bitop3_b32", B32, {B32, B32, B32, B32}, 0, bitop3B32},
    {"v_bitop3_b16", I16, {I16, I16, I16, B32}, 0, bitop3B16},
    {"v_mad_u32_u16", B32, {I16, I16, B32}, 0, madU32U16},
    {"v_mad_i32_i16", B32, {I16, I16, B32}, 0, madI32I16},
    {"v_cndmask_b32", B32, {B32, B32, Mask}, 0, cndmaskB32},
    {"v_cndmask_b16", I16, {I16, I16, Mask}, 0, cndmaskB16},
    SHORT1("v_mov_b16", movB16),
    SHORT1("v_not_b16", notB16),
    SHORT2("v_and_b16", andB16, nullptr),
    SHORT2("v_or_b16", orB16, nullptr),
    SHORT2("v_xor_b16", xorB16, nullptr),
    SHORT2("v_add_u16", addU16, addU16Clamp),
    SHORT2("v_sub_u16", subU16, subU16Clamp),
    SHORT2("v_subrev_u16", subRevU16, nullptr),
    SHORT2("v_add_i16", addU16, addI16Clamp),
    SHORT2("v_sub_i16", subU16, subI16Clamp),
    SHORT2("v_mul_lo_u16", mulLoU16, nullptr),
    SHORT2("v_lshlrev_b16", lshlRevB16, nullptr),
    SHORT2("v_lshrrev_b16", lshrRevB16, nullptr),
    SHORT2("v_ashrrev_i16", ashrRevI16, nullptr),
    SHORT2("v_min_u16", minU16, nullptr),
    SHORT2("v_max_u16", maxU16, nullptr),
    SHORT2("v_min_i16", minI16, nullptr),
    SHORT2("v_max_i16", maxI16, nullptr),
    SHORT3H("v_mad_u16", madU16),
    SHORT3H("v_mad_i16", madU16),
    // The older encoding, which makes the high half 0.
    SHORT3("v_mad_legacy_u16", madU16),
    SHORT3("v_min3_u16", min3U16),
    SHORT3("v_max3_u16", max3U16),
    SHORT3("v_med3_u16", med3U16),
    SHORT3("v_min3_i16", min3I16),
    SHORT3("v_max3_i16", max3I16),
    SHORT3("v_med3_i16", med3I16),
    {"v_pack_b32_f16", B32, {OperandType::F16, OperandType::F16}, 0, packB32},
    DOT("v_dot4_i32_i8", B32, 0, dot4I32I8),
    DOT("v_dot4_u32_u8", B32, 0, dot4U32U8),
    DOT("v_dot8_i32_i4", B32, 0, dot8I32I4),
    DOT("v_dot8_u32_u4", B32, 0, dot8U32U4),
    DOT("v_dot4c_i32_i8", B32, LaneAccumulate, dot4I32I8),
    DOT("v_dot8c_i32_i4", B32, LaneAccumulate, dot8I32I4),
    DOT("v_dot2_i32_i16", PkI16, 0, dot2I32I16),
    DOT("v_dot2_u32_u16", PkI16, 0, dot2U32U16),
    DOT("v_dot2c_i32_i16", PkI16, LaneAccumulate, dot2I32I16),
};

TableRef<LaneOpInfo> integerOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
