//===- LdsOps.cpp - LDS loads, stores and atomics -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ds_ instructions that touch LDS memory. An access beyond the
// workgroup's LDS stops the wave; hardware would give zero, which hides the
// mistake.
//
//===----------------------------------------------------------------------===//

#include "Execute/MemorySupport.h"
#include "Execute/SmallFloats.h"

#include "lnbwd/ISA/InstructionRecord.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// Byte addresses of all lanes plus the offset; inactive lanes get an active
/// lane's. False: the wave has been stopped.
static bool ldsAddresses(Wave &W, const Inst *I, uint64_t Exec, uint32_t Offset,
                         unsigned Bytes, uint32_t *A) {
  const unsigned N = W.N;
  const uint32_t *R = sourceRow(W, I->Src[0], W.T->Src[0]);
  if (Exec == W.FullMask) {
    FOR_LANES(L, N)
    A[L] = R[L] + Offset;
  } else {
    uint32_t Active = R[__builtin_ctzll(Exec)];
    for (unsigned L = 0; L < N; ++L)
      A[L] = ((Exec >> L & 1) ? R[L] : Active) + Offset;
  }
  uint32_t Max = 0;
  for (unsigned L = 0; L < N; ++L)
    Max = A[L] > Max ? A[L] : Max;
  if (__builtin_expect(uint64_t(Max) + Bytes <= W.WG->LdsSize, 1))
    return !W.Observer || W.Observer->ldsAccess(I, A, Exec, Bytes);
  for (unsigned L = 0; L < N; ++L)
    if ((Exec >> L & 1) && uint64_t(A[L]) + Bytes > W.WG->LdsSize) {
      faultLds(W, I, int(L), A[L], Bytes);
      return false;
    }
  return true;
}

static void readDwords(const Wave &W, const uint32_t *A, unsigned E,
                       uint32_t *Out) {
  const unsigned N = W.N;
  const uint8_t *Lds = W.WG->Lds;
  if (E == 1) {
    for (unsigned L = 0; L < N; ++L)
      std::memcpy(&Out[L], Lds + A[L], 4);
    return;
  }
  for (unsigned L = 0; L < N; ++L)
    for (unsigned K = 0; K < E; ++K)
      std::memcpy(&Out[K * N + L], Lds + A[L] + 4 * K, 4);
}

static void writeDwords(Wave &W, const uint32_t *A, unsigned E,
                        const uint32_t *S, uint64_t Exec) {
  const unsigned N = W.N;
  uint8_t *Lds = W.WG->Lds;
  for (unsigned L : LaneMask(Exec)) {
    for (unsigned K = 0; K < E; ++K)
      std::memcpy(Lds + A[L] + 4 * K, &S[K * N + L], 4);
  }
}

static const Inst *dsLoad(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  const unsigned Bytes = accessBytes(I);
  uint32_t *A = W.T->Lanes;
  if (!ldsAddresses(W, I, Exec, uint32_t(I->Imm), Bytes, A))
    return nullptr;
  W.Count.LdsBytes += uint64_t(countBits(Exec)) * Bytes;
  uint32_t *Out = W.T->Out;
  if (I->ElementBytes == 4) {
    readDwords(W, A, I->Elements, Out);
  } else {
    for (unsigned L = 0; L < N; ++L)
      loadElements(Out, W.WG->Lds + A[L], I, L, N, 1);
  }
  writeLoaded(W, I, Out, Exec);
  return I + 1;
}

static const Inst *dsStore(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned Bytes = accessBytes(I);
  uint32_t *A = W.T->Lanes;
  if (!ldsAddresses(W, I, Exec, uint32_t(I->Imm), Bytes, A))
    return nullptr;
  W.Count.LdsBytes += uint64_t(countBits(Exec)) * Bytes;
  const uint32_t *S = sourceRow(W, I->Src[1], W.T->Src[1]);
  if (I->ElementBytes == 4) {
    writeDwords(W, A, I->Elements, S, Exec);
    return I + 1;
  }
  for (unsigned L : LaneMask(Exec)) {
    storeElements(W.WG->Lds + A[L], S, I, L, W.N, 1);
  }
  return I + 1;
}

/// Two elements at two offsets, which count elements (or 64 of them).
static uint32_t pairOffset(const Inst *I, unsigned Which) {
  uint32_t Unit = uint32_t(I->Elements) * 4;
  if (I->Flags & FlagStride64)
    Unit *= 64;
  return (Which ? I->Offset1 : I->Offset0) * Unit;
}

static const Inst *dsLoad2(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N, E = I->Elements;
  uint32_t *A = W.T->Lanes;
  uint32_t *Out = W.T->Out;
  for (unsigned K = 0; K < 2; ++K) {
    if (!ldsAddresses(W, I, Exec, pairOffset(I, K), E * 4, A))
      return nullptr;
    readDwords(W, A, E, Out + K * E * N);
  }
  W.Count.LdsBytes += uint64_t(countBits(Exec)) * E * 8;
  uint32_t *D = W.row(I->Dst.Reg);
  for (unsigned K = 0; K < 2 * E; ++K)
    copyLanes(D + K * N, Out + K * N, Exec, N);
  return I + 1;
}

static const Inst *dsStore2(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned E = I->Elements;
  uint32_t *A = W.T->Lanes;
  for (unsigned K = 0; K < 2; ++K) {
    if (!ldsAddresses(W, I, Exec, pairOffset(I, K), E * 4, A))
      return nullptr;
    writeDwords(W, A, E, sourceRow(W, I->Src[1 + K], W.T->Src[1 + K]), Exec);
  }
  W.Count.LdsBytes += uint64_t(countBits(Exec)) * E * 8;
  return I + 1;
}

static const Inst *dsAtomic(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  uint32_t *A = W.T->Lanes;
  if (!ldsAddresses(W, I, Exec, uint32_t(I->Imm), I->ElementBytes, A))
    return nullptr;
  bool Wide = I->ElementBytes == 8;
  const uint32_t *S = sourceRow(W, I->Src[1], W.T->Src[1]);
  const uint32_t *S2 = I->NumSrc > 2 ? sourceRow(W, I->Src[2], W.T->Src[2]) : S;
  for (unsigned L : LaneMask(Exec)) {
    if (A[L] & (I->ElementBytes - 1u))
      return fault(W, I, int(L), "an LDS atomic is not aligned to its size");
    uint64_t Data = Wide ? join(S[L], S[L + N]) : S[L];
    uint64_t Compare = Wide ? join(S2[L], S2[L + N]) : S2[L];
    // The gfx9 compare-and-store has its operands the other way round.
    if (I->Flags & FlagCompareFirst) {
      uint64_t X = Data;
      Data = Compare;
      Compare = X;
    }
    writeAtomicResult(W, I, L, ldsAtomic(W, I, A[L], Data, Compare));
  }
  return I + 1;
}

static const Inst *dsLoadTransposed(Wave &W, const Inst *I) {
  return transposed<whereActive<dsLoad>>(W, I);
}

void addLdsHandlers(ExecTable &Table) {
  Table.Memory[unsigned(MemoryOp::DsLoad)] = whereActive<dsLoad>;
  Table.Memory[unsigned(MemoryOp::DsStore)] = whereIntoLds<dsStore>;
  Table.Memory[unsigned(MemoryOp::DsLoad2)] = whereActive<dsLoad2>;
  Table.Memory[unsigned(MemoryOp::DsStore2)] = whereIntoLds<dsStore2>;
  Table.Memory[unsigned(MemoryOp::DsLoadTransposed)] = dsLoadTransposed;
  Table.Memory[unsigned(MemoryOp::DsAtomic)] = whereActive<dsAtomic>;
}

namespace {
struct LoadedPlace {
  unsigned Lane, Element;
};
} // namespace

/// What becomes element E of a lane. A lane loads Count elements.
static LoadedPlace sourceOf(unsigned Lane, unsigned E, unsigned Count,
                            unsigned Bits, bool LanesMakeRows) {
  const unsigned Column = Lane % 16, First = Lane - Column;
  if (LanesMakeRows) // 16 / Count lanes make a row of 16.
    return {First + E * (16 / Count) + Column / Count, Column % Count};
  switch (Bits) {
  case 16: // Eight by eight among eight lanes.
    return {Lane / 8 * 8 + E, Lane % 8};
  case 8: // Two blocks of eight columns, four rows at a time.
    return {First + E / 4 * 8 + Column / 8 * 4 + E % 4, Column % 8};
  case 6: // The halves of the lanes take turns, four rows at a time.
    return {E / 4 * 8 + Lane / 16 * 4 + E % 4, Column};
  default: // Eight rows at a time.
    return {E / 8 * 16 + Lane / 16 * 8 + E % 8, Column};
  }
}

/// ds_read_*_tr_* (gfx950), global_load_tr_* (gfx12), and both on CDNA5: each
/// lane loads a piece of a row of a matrix, and gets a piece of a column.
void transposeLoaded(Wave &W, const Inst *I) {
  const isa::MemoryFacts &Facts = I->Record->Facts.Memory;
  const unsigned N = W.N, Bits = Facts.TransposedBits, Rows = I->Elements;
  const unsigned Count = Rows * 32 / Bits;
  uint32_t Loaded[4 * 64];
  for (unsigned R = 0; R < Rows; ++R)
    copyRow(Loaded + R * N, W.row(unsigned(I->Dst.Reg) + R), N);
  uint32_t *D = W.row(I->Dst.Reg);
  for (unsigned L = 0; L < N; ++L)
    for (unsigned E = 0; E < Count; ++E) {
      const LoadedPlace P = sourceOf(L, E, Count, Bits, Facts.LanesMakeRows);
      writeBits(D + L, E * Bits, Bits, N,
                readBits(Loaded + P.Lane, P.Element * Bits, Bits, N));
    }
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
