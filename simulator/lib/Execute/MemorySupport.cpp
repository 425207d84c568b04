//===- MemorySupport.cpp - What the kinds of memory share -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of lanes and their check, atomics, loads to LDS.
//
//===----------------------------------------------------------------------===//

#include "Execute/MemorySupport.h"

#include "lnbwd/ISA/InstructionRecord.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

void globalAddresses(Wave &W, const Inst *I, uint64_t Exec, uint64_t *A) {
  const unsigned N = W.N;
  const uint64_t Offset = uint64_t(I->Imm);
  if (I->Src[2].Kind == OperandKind::SGPR) {
    const uint64_t Base = W.scalar64(I->Src[2].Reg) + Offset;
    const uint32_t *R = sourceRow(W, I->Src[0], W.T->Src[0]);
    if (I->Flags & FlagSignedOffset) {
      const uint64_t Scale = I->Flags & FlagScaleOffset ? accessBytes(I) : 1;
      FOR_LANES(L, N)
      A[L] = Base + uint64_t(int64_t(int32_t(R[L]))) * Scale;
    } else {
      FOR_LANES(L, N)
      A[L] = Base + R[L];
    }
  } else {
    const uint32_t *R = sourceRow(W, I->Src[0], W.T->Src[0]);
    FOR_LANES(L, N)
    A[L] = join(R[L], R[L + N]) + Offset;
  }
  if (Exec != W.FullMask) {
    // Inactive lanes get an address that is harmless to read.
    uint64_t Active = A[__builtin_ctzll(Exec)];
    for (unsigned L = 0; L < N; ++L)
      A[L] = (Exec >> L & 1) ? A[L] : Active;
  }
}

/// Checks the accesses of all lanes. False: the wave has been stopped.
bool checkAddresses(Wave &W, const Inst *I, const uint64_t *A, uint64_t Exec,
                    unsigned Bytes, bool Write) {
  const unsigned N = W.N;
  // As signed numbers, which the host compares faster; an address with the
  // sign bit set is below every buffer.
  int64_t Min = int64_t(A[0]), Max = int64_t(A[0]);
  for (unsigned L = 1; L < N; ++L) {
    int64_t X = int64_t(A[L]);
    Min = X < Min ? X : Min;
    Max = X > Max ? X : Max;
  }
  uint64_t Span = uint64_t(Max) - uint64_t(Min) + Bytes;
  if (__builtin_expect(Min >= 0 && inRegion(W.LastRegion, uint64_t(Min), Span),
                       1))
    return !W.Observer || W.Observer->globalAccess(I, A, Exec, Bytes);
  if (const Region *R = findRegion(W, uint64_t(Min), Span)) {
    W.LastRegion = *R;
    return !W.Observer || W.Observer->globalAccess(I, A, Exec, Bytes);
  }
  for (unsigned L = 0; L < N; ++L)
    if ((Exec >> L & 1) && !findRegion(W, A[L], Bytes)) {
      faultAddress(W, I, int(L), A[L], Bytes, Write);
      return false;
    }
  return !W.Observer || W.Observer->globalAccess(I, A, Exec, Bytes);
}

static AtomicOp atomicOp(const Inst *I) {
  return I->Record->Facts.Memory.Atomic;
}

/// An atomic of one lane on host memory, which other host threads may be using.
uint64_t atomicAccess(uint64_t Address, const Inst *I, uint64_t Data,
                      uint64_t Compare) {
  const AtomicOp Op = atomicOp(I);
  if (I->ElementBytes == 8) {
    uint64_t *P = reinterpret_cast<uint64_t *>(Address);
    uint64_t Old = __atomic_load_n(P, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(
        P, &Old, atomicResult(Op, Old, Data, Compare, 8), false,
        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return Old;
  }
  uint32_t *P = reinterpret_cast<uint32_t *>(Address);
  uint32_t Old = __atomic_load_n(P, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(
      P, &Old,
      uint32_t(atomicResult(Op, Old, uint32_t(Data), uint32_t(Compare), 4)),
      false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return Old;
}

/// Data and, for a compare-and-swap, the value to compare with, of one lane.
void atomicOperands(const Wave &W, const Inst *I, unsigned L, uint64_t &Data,
                    uint64_t &Compare) {
  const unsigned N = W.N;
  const uint32_t *S = W.V + size_t(I->Src[1].Reg) * N;
  if (I->ElementBytes == 8) {
    Data = join(S[L], S[L + N]);
    if (atomicOp(I) == AtomicOp::CompareSwap)
      Compare = join(S[L + 2 * N], S[L + 3 * N]);
    return;
  }
  Data = S[L];
  if (atomicOp(I) == AtomicOp::CompareSwap)
    Compare = S[L + N];
}

void writeAtomicResult(Wave &W, const Inst *I, unsigned L, uint64_t Old) {
  if (!(I->Flags & FlagReturn))
    return;
  uint32_t *D = W.row(I->Dst.Reg);
  D[L] = uint32_t(Old);
  if (I->ElementBytes == 8)
    D[L + W.N] = uint32_t(Old >> 32);
}

uint64_t ldsAtomic(Wave &W, const Inst *I, uint64_t Address, uint64_t Data,
                   uint64_t Compare) {
  W.Count.LdsBytes += 2u * I->ElementBytes;
  uint8_t *P = W.WG->Lds + Address;
  uint64_t Old = 0;
  std::memcpy(&Old, P, I->ElementBytes);
  if (I->ElementBytes == 4) {
    Data = uint32_t(Data);
    Compare = uint32_t(Compare);
  }
  uint64_t New = atomicResult(atomicOp(I), Old, Data, Compare, I->ElementBytes);
  std::memcpy(P, &New, I->ElementBytes);
  return Old;
}

uint64_t lanesIntoLds(const Wave &W, const Operand &Address, int64_t Offset,
                      uint64_t Exec) {
  constexpr uint32_t Nowhere = 0x7fffffff;
  if (!isCdna5(W) || Address.Kind != OperandKind::VGPR)
    return Exec;
  const uint32_t *A = W.V + size_t(Address.Reg) * W.N;
  for (unsigned L = 0; L < W.N; ++L)
    if (A[L] == Nowhere || A[L] + uint32_t(Offset) == Nowhere)
      Exec &= ~(1ull << L);
  return Exec;
}

bool ldsPlaces(Wave &W, const Inst *I, uint64_t Exec, uint32_t *A,
               unsigned Bytes) {
  const uint32_t *Each =
      I->Src[1].Kind == OperandKind::VGPR ? W.row(I->Src[1].Reg) : nullptr;
  for (unsigned L = 0; L < W.N; ++L) {
    const uint64_t Begin = Each ? Each[L] : uint64_t(W.S[SlotM0]) + L * Bytes;
    const uint64_t To = uint32_t(Begin + uint64_t(I->Imm));
    if ((Exec >> L & 1) && (To > W.WG->LdsSize || To + Bytes > W.WG->LdsSize)) {
      faultLds(W, I, int(L), To, Bytes);
      return false;
    }
    A[L] = uint32_t(To);
  }
  W.Count.LdsBytes += uint64_t(countBits(Exec)) * Bytes;
  return !W.Observer || W.Observer->ldsAccess(I, A, Exec, Bytes);
}

bool fillLds(Wave &W, const Inst *I, uint64_t Exec, const uint32_t *Out) {
  // Asynchronous loads leave elements as they are.
  const unsigned Wide =
      I->Src[1].Kind == OperandKind::VGPR ? I->ElementBytes : 4;
  uint32_t A[64];
  if (!ldsPlaces(W, I, Exec, A, I->Elements * Wide))
    return false;
  for (unsigned L : LaneMask(Exec)) {
    for (unsigned K = 0; K < I->Elements; ++K)
      writeElement(W.WG->Lds + A[L] + 4 * K, Out[K * W.N + L], Wide);
  }
  return true;
}

bool globalAtomics(Wave &W, const Inst *I, const uint64_t *A, uint64_t Exec,
                   uint64_t InRange) {
  const uint64_t Bytes = uint64_t(countBits(InRange)) * I->ElementBytes;
  W.Count.GlobalWritten += Bytes;
  if (I->Flags & FlagReturn)
    W.Count.GlobalRead += Bytes;
  for (unsigned L : LaneMask(Exec)) {
    if (!(InRange >> L & 1)) {
      writeAtomicResult(W, I, L, 0);
      continue;
    }
    if (A[L] & (I->ElementBytes - 1u)) {
      fault(W, I, int(L), "an atomic access is not aligned to its size");
      return false;
    }
    uint64_t Data = 0, Compare = 0;
    atomicOperands(W, I, L, Data, Compare);
    writeAtomicResult(W, I, L, atomicAccess(A[L], I, Data, Compare));
  }
  return true;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
