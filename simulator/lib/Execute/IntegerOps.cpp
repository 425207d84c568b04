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

/// After the sign bit there are more of it.
static uint32_t signedField(uint32_t A, unsigned Offset, unsigned Width) {
  const uint32_t Field = uint32_t(int32_t(A) >> Offset);
  return Width ? uint32_t(int32_t(Field << (32 - Width)) >> (32 - Width)) : 0;
}

static uint32_t signBits(uint32_t X) {
  uint32_t Y = X ^ uint32_t(int32_t(X) >> 31);
  return Y ? uint32_t(__builtin_clz(Y)) : ~0u;
}
static uint32_t population(uint32_t X) {
  X -= X >> 1 & 0x55555555;
  X = (X & 0x33333333) + (X >> 2 & 0x33333333);
  X = (X + (X >> 4)) & 0x0f0f0f0f;
  return X * 0x01010101 >> 24;
}
static uint32_t reverse(uint32_t X) {
  X = (X >> 1 & 0x55555555) | (X & 0x55555555) << 1;
  X = (X >> 2 & 0x33333333) | (X & 0x33333333) << 2;
  X = (X >> 4 & 0x0f0f0f0f) | (X & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(X);
}

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
static uint32_t lerp(uint32_t A, uint32_t B, uint32_t C) {
  uint32_t R = 0;
  for (unsigned I = 0; I < 32; I += 8)
    R |= ((A >> I & 0xff) + (B >> I & 0xff) + (C >> I & 1)) >> 1 << I;
  return R;
}

// C is a lane mask.

// 16 bits: results are cut to 16 bits here, the other half is the driver's.

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

/// The expression is 64 bits wide; what is above the lower half is the carry.
#define CARRY(...)                                                             \
  KERNEL_OF(uint64_t, true,                                                    \
            (D[L] = uint32_t(R), D[L + N] = R >> 32 ? ~0u : 0), __VA_ARGS__)

static void madU64U32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  const uint32_t *S0 = S[0], *S1 = S[1], *S2 = S[2];
  FOR_LANES(L, N) {
    uint64_t P = uint64_t(S0[L]) * S1[L];
    uint64_t R = P + WIDE(2);
    D[L] = uint32_t(R);
    D[L + N] = uint32_t(R >> 32);
    D[L + 2 * N] = R < P ? ~0u : 0;
  }
}
static void madI64I32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  const uint32_t *S0 = S[0], *S1 = S[1], *S2 = S[2];
  FOR_LANES(L, N) {
    int64_t P = int64_t(int32_t(S0[L])) * int32_t(S1[L]);
    int64_t Z = int64_t(WIDE(2));
    uint64_t R = uint64_t(P) + uint64_t(Z);
    D[L] = uint32_t(R);
    D[L + N] = uint32_t(R >> 32);
    // The carry out of the 65-bit sum of the sign-extended operands.
    D[L + 2 * N] = ((P < 0) ^ (Z < 0) ^ (R < uint64_t(P))) ? ~0u : 0;
  }
}

using namespace operand_types;

const LaneOpInfo Table[] = {
#include "ISA/Instructions/Integer.def"
};

TableRef<LaneOpInfo> integerOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
