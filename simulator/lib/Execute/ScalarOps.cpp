//===- ScalarOps.cpp - Scalar integer instructions ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SOP1, SOP2, SOPC and SOPK on integers and lane masks.
//
//===----------------------------------------------------------------------===//

#include "Execute/ScalarOps.h"

using namespace lnbwd::sim;

static void set(Wave &W, unsigned Reg, uint32_t X) { W.S[Reg] = X; }
static void set(Wave &W, unsigned Reg, uint64_t X) { W.setScalar64(Reg, X); }

// Each macro defines a handler, or one of either width. A and B are the
// sources, R the result, SCC an lvalue.
#define SCC W.S[SlotSCC]
#define OP(NAME, BITS, RESULT, THEN)                                           \
  static const Inst *NAME(Wave &W, const Inst *I) {                            \
    [[maybe_unused]] const auto A = scalar##BITS(W, I->Src[0]),                \
                                B = scalar##BITS(W, I->Src[1]);                \
    const uint##BITS##_t R = (RESULT);                                         \
    THEN;                                                                      \
    set(W, I->Dst.Reg, R);                                                     \
    return I + 1;                                                              \
  }
#define OP32(NAME, RESULT, FLAG) OP(NAME, 32, RESULT, SCC = (FLAG) ? 1 : 0)
#define OP64(NAME, RESULT, FLAG) OP(NAME, 64, RESULT, SCC = (FLAG) ? 1 : 0)
#define OP32KEEP(NAME, RESULT) OP(NAME, 32, RESULT, )
#define OP64KEEP(NAME, RESULT) OP(NAME, 64, RESULT, )
#define BITWISE(NAME, RESULT)                                                  \
  OP32(NAME##B32, RESULT, R != 0)                                              \
  OP64(NAME##B64, RESULT, R != 0)
#define COMPARE(NAME, TYPE, FETCH, CONDITION)                                  \
  static const Inst *NAME(Wave &W, const Inst *I) {                            \
    TYPE A = TYPE(FETCH(W, I->Src[0])), B = TYPE(FETCH(W, I->Src[1]));         \
    SCC = (CONDITION) ? 1 : 0;                                                 \
    return I + 1;                                                              \
  }

OP32KEEP(movB32, A)
OP64KEEP(movB64, A)
OP32KEEP(cmovB32, SCC ? A : W.S[I->Dst.Reg])
OP64KEEP(cmovB64, SCC ? A : W.scalar64(I->Dst.Reg))
BITWISE(not, ~A)

static uint64_t reverse64(uint64_t X) {
  uint64_t R = 0;
  for (unsigned I = 0; I < 64; ++I)
    R |= (X >> I & 1) << (63 - I);
  return R;
}
OP32KEEP(brevB32, uint32_t(reverse64(A) >> 32))
OP64KEEP(brevB64, reverse64(A))

static uint32_t count64(uint64_t X) {
  return uint32_t(__builtin_popcountll(X));
}
#define COUNT64(NAME, RESULT, FLAG)                                            \
  static const Inst *NAME(Wave &W, const Inst *I) {                            \
    uint64_t X = scalar64(W, I->Src[0]);                                       \
    uint32_t R = (RESULT);                                                     \
    FLAG;                                                                      \
    W.S[I->Dst.Reg] = R;                                                       \
    return I + 1;                                                              \
  }
OP32(bcnt0B32, count64(uint32_t(~A)), R != 0)
OP32(bcnt1B32, count64(A), R != 0)
COUNT64(bcnt0B64, count64(~X), SCC = R != 0)
COUNT64(bcnt1B64, count64(X), SCC = R != 0)
static uint32_t firstOne(uint64_t X) {
  return X ? uint32_t(__builtin_ctzll(X)) : ~0u;
}
static uint32_t leadingZeros32(uint32_t X) {
  return X ? uint32_t(__builtin_clz(X)) : ~0u;
}
static uint32_t leadingZeros64(uint64_t X) {
  return X ? uint32_t(__builtin_clzll(X)) : ~0u;
}
OP32KEEP(ff1B32, firstOne(A))
OP32KEEP(ff0B32, firstOne(uint32_t(~A)))
COUNT64(ff1B64, firstOne(X), )
COUNT64(ff0B64, firstOne(~X), )
OP32KEEP(flbitB32, leadingZeros32(A))
COUNT64(flbitB64, leadingZeros64(X), )
OP32KEEP(flbitI32, leadingZeros32(A ^ uint32_t(int32_t(A) >> 31)))
COUNT64(flbitI64, leadingZeros64(X ^ uint64_t(int64_t(X) >> 63)), )
OP32KEEP(sextI8, uint32_t(int32_t(int8_t(A))))
OP32KEEP(sextI16, uint32_t(int32_t(int16_t(A))))
OP32KEEP(bitset0B32, W.S[I->Dst.Reg] & ~(1u << (A & 31)))
OP32KEEP(bitset1B32, W.S[I->Dst.Reg] | 1u << (A & 31))
static const Inst *bitset0B64(Wave &W, const Inst *I) {
  uint64_t Bit = 1ull << (scalar32(W, I->Src[0]) & 63);
  W.setScalar64(I->Dst.Reg, W.scalar64(I->Dst.Reg) & ~Bit);
  return I + 1;
}
static const Inst *bitset1B64(Wave &W, const Inst *I) {
  uint64_t Bit = 1ull << (scalar32(W, I->Src[0]) & 63);
  W.setScalar64(I->Dst.Reg, W.scalar64(I->Dst.Reg) | Bit);
  return I + 1;
}
static uint64_t wholeQuads(uint64_t X) {
  uint64_t Any = (X | X >> 1 | X >> 2 | X >> 3) & 0x1111111111111111ull;
  return Any * 15;
}
OP32(wqmB32, uint32_t(wholeQuads(A)), R != 0)
OP64(wqmB64, wholeQuads(A), R != 0)
static uint64_t quadMask(uint64_t X) {
  uint64_t R = 0;
  for (unsigned I = 0; I < 16; ++I)
    R |= uint64_t((X >> (4 * I) & 15) != 0) << I;
  return R;
}
OP32(quadmaskB32, uint32_t(quadMask(A)), R != 0)
OP64(quadmaskB64, quadMask(A), R != 0)
OP32(absI32, int32_t(A) < 0 ? 0 - A : A, R != 0)
static const Inst *bitreplicate(Wave &W, const Inst *I) {
  uint32_t A = scalar32(W, I->Src[0]);
  uint64_t R = 0;
  for (unsigned K = 0; K < 32; ++K)
    R |= uint64_t(A >> K & 1) * 3 << (2 * K);
  W.setScalar64(I->Dst.Reg, R);
  return I + 1;
}

// A is the source, E the old EXEC, R the new one. One of both goes to the
// destination.
#define EXEC_OP(NAME, BITS, RESULT, LEFT)                                      \
  static const Inst *NAME##BITS(Wave &W, const Inst *I) {                      \
    const auto A = scalar##BITS(W, I->Src[0]);                                 \
    const auto E = uint##BITS##_t(W.scalar64(SlotExec));                       \
    const uint##BITS##_t R = (RESULT);                                         \
    set(W, I->Dst.Reg, LEFT);                                                  \
    set(W, SlotExec, R);                                                       \
    SCC = R != 0;                                                              \
    return I + 1;                                                              \
  }
#define SAVEEXEC(NAME, RESULT)                                                 \
  EXEC_OP(NAME, 32, RESULT, E) EXEC_OP(NAME, 64, RESULT, E)
#define WREXEC(NAME, RESULT)                                                   \
  EXEC_OP(NAME, 32, RESULT, R) EXEC_OP(NAME, 64, RESULT, R)
SAVEEXEC(andSave, A &E)
SAVEEXEC(orSave, A | E)
SAVEEXEC(xorSave, A ^ E)
SAVEEXEC(andn2Save, A & ~E)
SAVEEXEC(orn2Save, A | ~E)
SAVEEXEC(nandSave, ~(A &E))
SAVEEXEC(norSave, ~(A | E))
SAVEEXEC(xnorSave, ~(A ^ E))
SAVEEXEC(andn1Save, ~A &E)
SAVEEXEC(orn1Save, ~A | E)
WREXEC(andn1Write, ~A &E)
WREXEC(andn2Write, A & ~E)

static bool signedOverflow(uint32_t A, uint32_t B, uint32_t R) {
  return (~(A ^ B) & (A ^ R)) >> 31;
}
OP32(addU32, A + B, R < A)
OP32(subU32, A - B, A < B)
OP32(addI32, A + B, signedOverflow(A, B, R))
OP32(subI32, A - B, signedOverflow(A, ~B, R))
static const Inst *addcU32(Wave &W, const Inst *I) {
  uint64_t R = uint64_t(scalar32(W, I->Src[0])) + scalar32(W, I->Src[1]) + SCC;
  SCC = uint32_t(R >> 32);
  W.S[I->Dst.Reg] = uint32_t(R);
  return I + 1;
}
static const Inst *subbU32(Wave &W, const Inst *I) {
  uint64_t R = uint64_t(scalar32(W, I->Src[0])) - scalar32(W, I->Src[1]) - SCC;
  SCC = uint32_t(R >> 32) & 1;
  W.S[I->Dst.Reg] = uint32_t(R);
  return I + 1;
}
OP64KEEP(addU64, A + B)
OP64KEEP(subU64, A - B)
OP64KEEP(mulU64, A *B)
OP32(minI32, int32_t(A) < int32_t(B) ? A : B, int32_t(A) < int32_t(B))
OP32(maxI32, int32_t(A) > int32_t(B) ? A : B, int32_t(A) > int32_t(B))
OP32(minU32, A < B ? A : B, A < B)
OP32(maxU32, A > B ? A : B, A > B)
OP32KEEP(cselectB32, SCC ? A : B)
OP64KEEP(cselectB64, SCC ? A : B)
BITWISE(and, A &B)
BITWISE(or, A | B)
BITWISE(xor, A ^ B)
BITWISE(andn2, A & ~B)
BITWISE(orn2, A | ~B)
BITWISE(nand, ~(A &B))
BITWISE(nor, ~(A | B))
BITWISE(xnor, ~(A ^ B))
OP32(lshlB32, A << (B & 31), R != 0)
OP32(lshrB32, A >> (B & 31), R != 0)
OP32(ashrI32, uint32_t(int32_t(A) >> (B & 31)), R != 0)
OP64(lshlB64, A << (B & 63), R != 0)
OP64(lshrB64, A >> (B & 63), R != 0)
OP64(ashrI64, uint64_t(int64_t(A) >> (B & 63)), R != 0)
OP32KEEP(bfmB32, ((1u << (A & 31)) - 1) << (B & 31))
OP64KEEP(bfmB64, ((1ull << (A & 63)) - 1) << (B & 63))
OP32KEEP(mulI32, A *B)
OP32KEEP(mulHiU32, uint32_t(uint64_t(A) * B >> 32))
OP32KEEP(mulHiI32, uint32_t(uint64_t(int64_t(int32_t(A)) * int32_t(B)) >> 32))
/// Bits 6:0 at 22:16 of the selector are the width, the low ones the offset.
static uint64_t extract(uint64_t X, uint32_t Selector, unsigned Bits,
                        bool Signed) {
  unsigned Offset = Selector & (Bits - 1), Width = Selector >> 16 & 0x7f;
  if (!Width)
    return 0;
  if (Signed && Bits == 32)
    X = uint64_t(int64_t(int32_t(X)));
  X = Signed ? uint64_t(int64_t(X) >> Offset) : X >> Offset;
  if (Width >= 64)
    return X;
  X <<= 64 - Width;
  return Signed ? uint64_t(int64_t(X) >> (64 - Width)) : X >> (64 - Width);
}
OP32(bfeU32, uint32_t(extract(A, B, 32, false)), R != 0)
OP32(bfeI32, uint32_t(extract(A, B, 32, true)), R != 0)
OP64(bfeU64, extract(A, uint32_t(B), 64, false), R != 0)
OP64(bfeI64, extract(A, uint32_t(B), 64, true), R != 0)
OP32(absdiffI32, int32_t(A) > int32_t(B) ? A - B : B - A, R != 0)
#define LSHL_ADD(NAME, SHIFT)                                                  \
  OP32(NAME, (A << SHIFT) + B, ((uint64_t(A) << SHIFT) + B) >> 32)
LSHL_ADD(lshl1Add, 1)
LSHL_ADD(lshl2Add, 2)
LSHL_ADD(lshl3Add, 3)
LSHL_ADD(lshl4Add, 4)
OP32KEEP(packLL, (A & 0xffff) | B << 16)
OP32KEEP(packLH, (A & 0xffff) | (B & 0xffff0000))
OP32KEEP(packHH, A >> 16 | (B & 0xffff0000))
OP32KEEP(packHL, A >> 16 | B << 16)

COMPARE(cmpEqU32, uint32_t, scalar32, A == B)
COMPARE(cmpLgU32, uint32_t, scalar32, A != B)
COMPARE(cmpGtI32, int32_t, scalar32, A > B)
COMPARE(cmpGeI32, int32_t, scalar32, A >= B)
COMPARE(cmpLtI32, int32_t, scalar32, A < B)
COMPARE(cmpLeI32, int32_t, scalar32, A <= B)
COMPARE(cmpGtU32, uint32_t, scalar32, A > B)
COMPARE(cmpGeU32, uint32_t, scalar32, A >= B)
COMPARE(cmpLtU32, uint32_t, scalar32, A < B)
COMPARE(cmpLeU32, uint32_t, scalar32, A <= B)
COMPARE(cmpEqU64, uint64_t, scalar64, A == B)
COMPARE(cmpLgU64, uint64_t, scalar64, A != B)
COMPARE(bitcmp0B32, uint32_t, scalar32, !(A >> (B & 31) & 1))
COMPARE(bitcmp1B32, uint32_t, scalar32, A >> (B & 31) & 1)
COMPARE(bitcmp0B64, uint64_t, scalar64, !(A >> (B & 63) & 1))
COMPARE(bitcmp1B64, uint64_t, scalar64, A >> (B & 63) & 1)

// SOPK: the immediate is the last source, already extended by the decoder.
static const Inst *addkI32(Wave &W, const Inst *I) {
  uint32_t A = W.S[I->Dst.Reg], B = scalar32(W, I->Src[0]), R = A + B;
  SCC = signedOverflow(A, B, R);
  W.S[I->Dst.Reg] = R;
  return I + 1;
}
OP32KEEP(mulkI32, W.S[I->Dst.Reg] * A)

const HandlerInfo Table[] = {
    {"s_mov_b32", movB32},
    {"s_mov_b64", movB64},
    {"s_movk_i32", movB32},
    {"s_cmov_b32", cmovB32},
    {"s_cmov_b64", cmovB64},
    {"s_cmovk_i32", cmovB32},
    {"s_not_b32", notB32},
    {"s_not_b64", notB64},
    {"s_wqm_b32", wqmB32},
    {"s_wqm_b64", wqmB64},
    {"s_quadmask_b32", quadmaskB32},
    {"s_quadmask_b64", quadmaskB64},
    {"s_brev_b32", brevB32},
    {"s_brev_b64", brevB64},
    {"s_bcnt0_i32_b32", bcnt0B32},
    {"s_bcnt0_i32_b64", bcnt0B64},
    {"s_bcnt1_i32_b32", bcnt1B32},
    {"s_bcnt1_i32_b64", bcnt1B64},
    {"s_ff0_i32_b32", ff0B32},
    {"s_ff0_i32_b64", ff0B64},
    {"s_ff1_i32_b32", ff1B32},
    {"s_ff1_i32_b64", ff1B64},
    {"s_flbit_i32_b32", flbitB32},
    {"s_flbit_i32_b64", flbitB64},
    {"s_flbit_i32", flbitI32},
    {"s_flbit_i32_i64", flbitI64},
    {"s_sext_i32_i8", sextI8},
    {"s_sext_i32_i16", sextI16},
    {"s_bitset0_b32", bitset0B32},
    {"s_bitset0_b64", bitset0B64},
    {"s_bitset1_b32", bitset1B32},
    {"s_bitset1_b64", bitset1B64},
    {"s_bitreplicate_b64_b32", bitreplicate},
    {"s_abs_i32", absI32},
    {"s_and_saveexec_b32", andSave32},
    {"s_and_saveexec_b64", andSave64},
    {"s_or_saveexec_b32", orSave32},
    {"s_or_saveexec_b64", orSave64},
    {"s_xor_saveexec_b32", xorSave32},
    {"s_xor_saveexec_b64", xorSave64},
    {"s_andn2_saveexec_b32", andn2Save32},
    {"s_andn2_saveexec_b64", andn2Save64},
    {"s_orn2_saveexec_b32", orn2Save32},
    {"s_orn2_saveexec_b64", orn2Save64},
    {"s_nand_saveexec_b32", nandSave32},
    {"s_nand_saveexec_b64", nandSave64},
    {"s_nor_saveexec_b32", norSave32},
    {"s_nor_saveexec_b64", norSave64},
    {"s_xnor_saveexec_b32", xnorSave32},
    {"s_xnor_saveexec_b64", xnorSave64},
    {"s_andn1_saveexec_b32", andn1Save32},
    {"s_andn1_saveexec_b64", andn1Save64},
    {"s_orn1_saveexec_b32", orn1Save32},
    {"s_orn1_saveexec_b64", orn1Save64},
    {"s_andn1_wrexec_b32", andn1Write32},
    {"s_andn1_wrexec_b64", andn1Write64},
    {"s_andn2_wrexec_b32", andn2Write32},
    {"s_andn2_wrexec_b64", andn2Write64},
    {"s_add_u32", addU32},
    {"s_sub_u32", subU32},
    {"s_add_i32", addI32},
    {"s_sub_i32", subI32},
    {"s_addc_u32", addcU32},
    {"s_subb_u32", subbU32},
    {"s_add_u64", addU64},
    {"s_sub_u64", subU64},
    {"s_mul_u64", mulU64},
    {"s_min_i32", minI32},
    {"s_max_i32", maxI32},
    {"s_min_u32", minU32},
    {"s_max_u32", maxU32},
    {"s_cselect_b32", cselectB32},
    {"s_cselect_b64", cselectB64},
    {"s_and_b32", andB32},
    {"s_and_b64", andB64},
    {"s_or_b32", orB32},
    {"s_or_b64", orB64},
    {"s_xor_b32", xorB32},
    {"s_xor_b64", xorB64},
    {"s_andn2_b32", andn2B32},
    {"s_andn2_b64", andn2B64},
    {"s_orn2_b32", orn2B32},
    {"s_orn2_b64", orn2B64},
    {"s_nand_b32", nandB32},
    {"s_nand_b64", nandB64},
    {"s_nor_b32", norB32},
    {"s_nor_b64", norB64},
    {"s_xnor_b32", xnorB32},
    {"s_xnor_b64", xnorB64},
    {"s_lshl_b32", lshlB32},
    {"s_lshl_b64", lshlB64},
    {"s_lshr_b32", lshrB32},
    {"s_lshr_b64", lshrB64},
    {"s_ashr_i32", ashrI32},
    {"s_ashr_i64", ashrI64},
    {"s_bfm_b32", bfmB32},
    {"s_bfm_b64", bfmB64},
    {"s_mul_i32", mulI32},
    {"s_mul_hi_u32", mulHiU32},
    {"s_mul_hi_i32", mulHiI32},
    {"s_bfe_u32", bfeU32},
    {"s_bfe_i32", bfeI32},
    {"s_bfe_u64", bfeU64},
    {"s_bfe_i64", bfeI64},
    {"s_absdiff_i32", absdiffI32},
    {"s_lshl1_add_u32", lshl1Add},
    {"s_lshl2_add_u32", lshl2Add},
    {"s_lshl3_add_u32", lshl3Add},
    {"s_lshl4_add_u32", lshl4Add},
    {"s_pack_ll_b32_b16", packLL},
    {"s_pack_lh_b32_b16", packLH},
    {"s_pack_hh_b32_b16", packHH},
    {"s_pack_hl_b32_b16", packHL},
    {"s_addk_i32", addkI32},
    {"s_mulk_i32", mulkI32},
    {"s_cmp_eq_i32", cmpEqU32},
    {"s_cmp_eq_u32", cmpEqU32},
    {"s_cmp_lg_i32", cmpLgU32},
    {"s_cmp_lg_u32", cmpLgU32},
    {"s_cmp_gt_i32", cmpGtI32},
    {"s_cmp_ge_i32", cmpGeI32},
    {"s_cmp_lt_i32", cmpLtI32},
    {"s_cmp_le_i32", cmpLeI32},
    {"s_cmp_gt_u32", cmpGtU32},
    {"s_cmp_ge_u32", cmpGeU32},
    {"s_cmp_lt_u32", cmpLtU32},
    {"s_cmp_le_u32", cmpLeU32},
    {"s_cmp_eq_u64", cmpEqU64},
    {"s_cmp_lg_u64", cmpLgU64},
    {"s_bitcmp0_b32", bitcmp0B32},
    {"s_bitcmp1_b32", bitcmp1B32},
    {"s_bitcmp0_b64", bitcmp0B64},
    {"s_bitcmp1_b64", bitcmp1B64},
    {"s_cmpk_eq_i32", cmpEqU32},
    {"s_cmpk_lg_i32", cmpLgU32},
    {"s_cmpk_gt_i32", cmpGtI32},
    {"s_cmpk_ge_i32", cmpGeI32},
    {"s_cmpk_lt_i32", cmpLtI32},
    {"s_cmpk_le_i32", cmpLeI32},
    {"s_cmpk_eq_u32", cmpEqU32},
    {"s_cmpk_lg_u32", cmpLgU32},
    {"s_cmpk_gt_u32", cmpGtU32},
    {"s_cmpk_ge_u32", cmpGeU32},
    {"s_cmpk_lt_u32", cmpLtU32},
    {"s_cmpk_le_u32", cmpLeU32},
};

TableRef<HandlerInfo> lnbwd::sim::scalarAluOps() { return Table; }
