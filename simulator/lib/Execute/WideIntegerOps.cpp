//===- WideIntegerOps.cpp - Integers of several registers -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the vector ALU instructions with carries and with
// 64-bit integers.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// R is the 32-bit result, Carry whether there was one.
#define CARRY_KERNEL(NAME, WIDE, CARRY)                                        \
  static void NAME(uint32_t *D, const uint32_t *const *S, unsigned N) {        \
    const uint32_t *S0 = S[0], *S1 = S[1], *S2 = S[2];                         \
    FOR_LANES(L, N) {                                                          \
      [[maybe_unused]] const uint32_t A = S0[L], B = S1[L], C = S2[L] & 1;     \
      uint64_t R = (WIDE);                                                     \
      D[L] = uint32_t(R);                                                      \
      D[L + N] = (CARRY) ? ~0u : 0;                                            \
    }                                                                          \
  }

CARRY_KERNEL(addCo, uint64_t(A) + B, R >> 32)
CARRY_KERNEL(subCo, uint64_t(A) - B, R >> 32)
CARRY_KERNEL(subRevCo, uint64_t(B) - A, R >> 32)
CARRY_KERNEL(addcCo, uint64_t(A) + B + C, R >> 32)
CARRY_KERNEL(subbCo, uint64_t(A) - B - C, R >> 32)
CARRY_KERNEL(subbRevCo, uint64_t(B) - A - C, R >> 32)

/// 64-bit result from 64-bit X (first), Y, Z and 32-bit A, B, C.
#define WIDE_KERNEL(NAME, EXPRESSION)                                          \
  static void NAME(uint32_t *D, const uint32_t *const *S, unsigned N) {        \
    const uint32_t *S0 = S[0], *S1 = S[1], *S2 = S[2];                         \
    FOR_LANES(L, N) {                                                          \
      [[maybe_unused]] const uint32_t A = S0[L], B = S1[L], C = S2[L];         \
      uint64_t R = (EXPRESSION);                                               \
      D[L] = uint32_t(R);                                                      \
      D[L + N] = uint32_t(R >> 32);                                            \
    }                                                                          \
  }
#define WIDE(I) join(S##I[L], S##I[L + N])

WIDE_KERNEL(movB64, WIDE(0))
WIDE_KERNEL(lshlRevB64, WIDE(1) << (A & 63))
WIDE_KERNEL(lshrRevB64, WIDE(1) >> (A & 63))
WIDE_KERNEL(ashrRevI64, uint64_t(int64_t(WIDE(1)) >> (A & 63)))
WIDE_KERNEL(lshlAddU64, (WIDE(0) << (B & 7)) + WIDE(2))
WIDE_KERNEL(addU64, WIDE(0) + WIDE(1))
WIDE_KERNEL(subU64, WIDE(0) - WIDE(1))
WIDE_KERNEL(mulU64, WIDE(0) * WIDE(1))
WIDE_KERNEL(minU64, WIDE(0) < WIDE(1) ? WIDE(0) : WIDE(1))
WIDE_KERNEL(maxU64, WIDE(0) > WIDE(1) ? WIDE(0) : WIDE(1))
WIDE_KERNEL(minI64, int64_t(WIDE(0)) < int64_t(WIDE(1)) ? WIDE(0) : WIDE(1))
WIDE_KERNEL(maxI64, int64_t(WIDE(0)) > int64_t(WIDE(1)) ? WIDE(0) : WIDE(1))

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

#define CARRY2(NAME, FN) {NAME, B32, {B32, B32}, LaneExtraMask, FN}
#define CARRY3(NAME, FN) {NAME, B32, {B32, B32, Mask}, LaneExtraMask, FN}
#define SHIFT64(NAME, FN) {NAME, B64, {B32, B64}, 0, FN}
#define OP64(NAME, FN) {NAME, B64, {B64, B64}, 0, FN}

const LaneOpInfo Table[] = {
    CARRY2("v_add_co_u32", addCo),
    CARRY2("v_sub_co_u32", subCo),
    CARRY2("v_subrev_co_u32", subRevCo),
    CARRY3("v_addc_co_u32", addcCo),
    CARRY3("v_subb_co_u32", subbCo),
    CARRY3("v_subbrev_co_u32", subbRevCo),
    {"v_mov_b64", B64, {B64}, 0, movB64},
    SHIFT64("v_lshlrev_b64", lshlRevB64),
    SHIFT64("v_lshrrev_b64", lshrRevB64),
    SHIFT64("v_ashrrev_i64", ashrRevI64),
    {"v_lshl_add_u64", B64, {B64, B32, B64}, 0, lshlAddU64},
    OP64("v_add_u64", addU64),
    OP64("v_sub_u64", subU64),
    OP64("v_mul_u64", mulU64),
    OP64("v_min_u64", minU64),
    OP64("v_max_u64", maxU64),
    OP64("v_min_i64", minI64),
    OP64("v_max_i64", maxI64),
    {"v_mad_u64_u32", B64, {B32, B32, B64}, LaneExtraMask, madU64U32},
    {"v_mad_i64_i32", B64, {B32, B32, B64}, LaneExtraMask, madI64I32},
};

TableRef<LaneOpInfo> wideIntegerOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
