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

// A and B are the sources, of FROM bits, R is the result, SCC an lvalue.
#define SCC W.S[SlotSCC]
#define SCALAR_OP(BITS, FROM, THEN, ...)                                       \
  [](Wave &W, const Inst *I) -> const Inst * {                                 \
    [[maybe_unused]] const auto A = scalar##FROM(W, I->Src[0]),                \
                                B = scalar##FROM(W, I->Src[1]);                \
    const uint##BITS##_t R = (__VA_ARGS__);                                    \
    THEN;                                                                      \
    set(W, I->Dst.Reg, R);                                                     \
    return I + 1;                                                              \
  }
// A is the source, E the old EXEC, R the new one; LEFT is E or R.
#define EXEC_OP(BITS, LEFT, ...)                                               \
  [](Wave &W, const Inst *I) -> const Inst * {                                 \
    const auto A = scalar##BITS(W, I->Src[0]);                                 \
    const auto E = uint##BITS##_t(W.scalar64(SlotExec));                       \
    const uint##BITS##_t R = (__VA_ARGS__);                                    \
    set(W, I->Dst.Reg, LEFT);                                                  \
    set(W, SlotExec, R);                                                       \
    SCC = R != 0;                                                              \
    return I + 1;                                                              \
  }
#define SCALAR_COMPARE(BITS, TYPE, CONDITION)                                  \
  [](Wave &W, const Inst *I) -> const Inst * {                                 \
    const TYPE A = TYPE(scalar##BITS(W, I->Src[0])),                           \
               B = TYPE(scalar##BITS(W, I->Src[1]));                           \
    SCC = (CONDITION) ? 1 : 0;                                                 \
    return I + 1;                                                              \
  }

static uint64_t reverse64(uint64_t X) {
  uint64_t R = 0;
  for (unsigned I = 0; I < 64; ++I)
    R |= (X >> I & 1) << (63 - I);
  return R;
}

static uint32_t count64(uint64_t X) {
  return uint32_t(__builtin_popcountll(X));
}
static uint32_t firstOne(uint64_t X) {
  return X ? uint32_t(__builtin_ctzll(X)) : ~0u;
}
static uint32_t leadingZeros32(uint32_t X) {
  return X ? uint32_t(__builtin_clz(X)) : ~0u;
}
static uint32_t leadingZeros64(uint64_t X) {
  return X ? uint32_t(__builtin_clzll(X)) : ~0u;
}
static uint64_t wholeQuads(uint64_t X) {
  uint64_t Any = (X | X >> 1 | X >> 2 | X >> 3) & 0x1111111111111111ull;
  return Any * 15;
}
static uint64_t quadMask(uint64_t X) {
  uint64_t R = 0;
  for (unsigned I = 0; I < 16; ++I)
    R |= uint64_t((X >> (4 * I) & 15) != 0) << I;
  return R;
}

static uint64_t replicate(uint32_t X) {
  uint64_t R = 0;
  for (unsigned K = 0; K < 32; ++K)
    R |= uint64_t(X >> K & 1) * 3 << (2 * K);
  return R;
}
static bool signedOverflow(uint32_t A, uint32_t B, uint32_t R) {
  return (~(A ^ B) & (A ^ R)) >> 31;
}
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

const HandlerInfo Table[] = {
#include "ISA/Instructions/Scalar.def"
};

TableRef<HandlerInfo> lnbwd::sim::scalarAluOps() { return Table; }
