//===- GlobalMemoryOps.cpp - Global loads, stores and atomics -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The global_ instructions: addresses of all lanes, one check against the
// live buffers for the whole instruction, then the accesses; whole-wave
// accesses to consecutive addresses take a short way.
//
//===----------------------------------------------------------------------===//

#include "MemorySupport.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

void globalAddresses(Wave &W, const Inst *I, uint64_t Exec, uint64_t *A) {
  const unsigned N = W.N;
  const uint64_t Offset = uint64_t(I->Imm);
  if (I->Src[2].Kind == OperandKind::SGPR) {
    const uint64_t Base = W.scalar64(I->Src[2].Reg) + Offset;
    const uint32_t *R = sourceRow(W, I->Src[0], W.T->Src[0]);
    FOR_LANES(L, N)
    A[L] = Base + R[L];
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
    return !W.Check || checkGlobalAccess(W, I, A, Exec, Bytes);
  if (const Region *R = findRegion(W, uint64_t(Min), Span)) {
    W.LastRegion = *R;
    return !W.Check || checkGlobalAccess(W, I, A, Exec, Bytes);
  }
  for (unsigned L = 0; L < N; ++L)
    if ((Exec >> L & 1) && !findRegion(W, A[L], Bytes)) {
      faultAddress(W, I, int(L), A[L], Bytes, Write);
      return false;
    }
  return !W.Check || checkGlobalAccess(W, I, A, Exec, Bytes);
}

static bool consecutive(const uint64_t *A, unsigned Bytes, unsigned N) {
  uint64_t Difference = 0;
  for (unsigned L = 0; L < N; ++L)
    Difference |= A[L] - (A[0] + uint64_t(L) * Bytes);
  return Difference == 0;
}

template <unsigned E>
static void loadConsecutive(uint32_t *D, const uint8_t *P, unsigned N) {
  for (unsigned Base = 0; Base < N; Base += 16) {
    uint32_t Buffer[16 * E];
    std::memcpy(Buffer, P + size_t(Base) * E * 4, sizeof(Buffer));
    for (unsigned K = 0; K < E; ++K)
      for (unsigned L = 0; L < 16; ++L)
        D[K * N + Base + L] = Buffer[L * E + K];
  }
}
template <unsigned E>
static void storeConsecutive(uint8_t *P, const uint32_t *D, unsigned N) {
  for (unsigned Base = 0; Base < N; Base += 16) {
    uint32_t Buffer[16 * E];
    for (unsigned K = 0; K < E; ++K)
      for (unsigned L = 0; L < 16; ++L)
        Buffer[L * E + K] = D[K * N + Base + L];
    std::memcpy(P + size_t(Base) * E * 4, Buffer, sizeof(Buffer));
  }
}

template <unsigned E>
static void loadScattered(uint32_t *D, const uint64_t *A, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    uint32_t X[E];
    std::memcpy(X, reinterpret_cast<const void *>(A[L]), 4 * E);
    for (unsigned K = 0; K < E; ++K)
      D[K * N + L] = X[K];
  }
}

static void loadDwords(uint32_t *D, const uint64_t *A, unsigned E, bool Ordered,
                       unsigned N) {
  const uint8_t *P = reinterpret_cast<const uint8_t *>(A[0]);
  switch (E) {
  case 1:
    if (Ordered)
      std::memcpy(D, P, N * 4);
    else
      loadScattered<1>(D, A, N);
    return;
  case 2:
    return Ordered ? loadConsecutive<2>(D, P, N) : loadScattered<2>(D, A, N);
  case 3:
    return Ordered ? loadConsecutive<3>(D, P, N) : loadScattered<3>(D, A, N);
  default:
    return Ordered ? loadConsecutive<4>(D, P, N) : loadScattered<4>(D, A, N);
  }
}

static const Inst *globalLoad(Wave &W, const Inst *I) {
  const unsigned N = W.N;
  uint64_t Exec = W.exec();
  if (!Exec)
    return I + 1;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  const unsigned Bytes = unsigned(I->ElementBytes) * I->Elements;
  if (!checkAddresses(W, I, A, Exec, Bytes, false))
    return nullptr;
  W.Count.GlobalRead += uint64_t(countBits(Exec)) * Bytes;

  bool Full = Exec == W.FullMask;
  if (I->ElementBytes == 4) {
    bool Ordered = Full && consecutive(A, Bytes, N);
    uint32_t *D = Full ? W.row(I->Dst.Reg) : W.T->Out;
    loadDwords(D, A, I->Elements, Ordered, N);
    if (!Full)
      writeLoaded(W, I, D, Exec);
    return I + 1;
  }
  uint32_t *Out = W.T->Out;
  if (I->ElementBytes == 2)
    for (unsigned L = 0; L < N; ++L)
      Out[L] =
          extend(readElement(reinterpret_cast<const uint8_t *>(A[L]), 2), I);
  else
    for (unsigned L = 0; L < N; ++L)
      Out[L] = extend(*reinterpret_cast<const uint8_t *>(A[L]), I);
  writeLoaded(W, I, Out, Exec);
  return I + 1;
}

static const Inst *globalStore(Wave &W, const Inst *I) {
  const unsigned N = W.N;
  uint64_t Exec = W.exec();
  if (!Exec)
    return I + 1;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  const unsigned E = I->Elements;
  const unsigned Bytes = unsigned(I->ElementBytes) * E;
  if (!checkAddresses(W, I, A, Exec, Bytes, true))
    return nullptr;
  W.Count.GlobalWritten += uint64_t(countBits(Exec)) * Bytes;

  const uint32_t *S = W.row(I->Src[1].Reg);
  if (I->ElementBytes == 4 && Exec == W.FullMask && consecutive(A, Bytes, N)) {
    uint8_t *P = reinterpret_cast<uint8_t *>(A[0]);
    switch (E) {
    case 1:
      std::memcpy(P, S, N * 4);
      return I + 1;
    case 2:
      storeConsecutive<2>(P, S, N);
      return I + 1;
    case 3:
      storeConsecutive<3>(P, S, N);
      return I + 1;
    default:
      storeConsecutive<4>(P, S, N);
      return I + 1;
    }
  }
  const unsigned Shift = I->Flags & FlagHigh16 ? 16 : 0;
  for (uint64_t Left = Exec; Left; Left &= Left - 1) {
    unsigned L = unsigned(__builtin_ctzll(Left));
    uint8_t *P = reinterpret_cast<uint8_t *>(A[L]);
    for (unsigned K = 0; K < E; ++K)
      writeElement(P + 4 * K, S[K * N + L] >> Shift, I->ElementBytes);
  }
  return I + 1;
}

/// An atomic of one lane on host memory, which other host threads may be using.
uint64_t atomicAccess(uint64_t Address, const Inst *I, uint64_t Data,
                      uint64_t Compare) {
  const AtomicOp Op = AtomicOp(I->Op);
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
    if (AtomicOp(I->Op) == AtomicOp::CompareSwap)
      Compare = join(S[L + 2 * N], S[L + 3 * N]);
    return;
  }
  Data = S[L];
  if (AtomicOp(I->Op) == AtomicOp::CompareSwap)
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

static const Inst *globalAtomic(Wave &W, const Inst *I) {
  uint64_t Exec = W.exec();
  if (!Exec)
    return I + 1;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  if (!checkAddresses(W, I, A, Exec, I->ElementBytes, true))
    return nullptr;
  W.Count.GlobalWritten += uint64_t(countBits(Exec)) * I->ElementBytes;
  if (I->Flags & FlagReturn)
    W.Count.GlobalRead += uint64_t(countBits(Exec)) * I->ElementBytes;
  for (uint64_t Left = Exec; Left; Left &= Left - 1) {
    unsigned L = unsigned(__builtin_ctzll(Left));
    if (A[L] & (I->ElementBytes - 1u))
      return fault(W, I, int(L), "an atomic access is not aligned to its size");
    uint64_t Data = 0, Compare = 0;
    atomicOperands(W, I, L, Data, Compare);
    writeAtomicResult(W, I, L, atomicAccess(A[L], I, Data, Compare));
  }
  return I + 1;
}

/// The check of what a load to LDS writes there.
bool checkLdsFill(Wave &W, const Inst *I, uint64_t Exec, unsigned Bytes) {
  uint32_t A[64];
  for (unsigned L = 0; L < W.N; ++L) {
    uint64_t To = uint64_t(W.S[SlotM0]) + uint64_t(I->Imm) + L * Bytes;
    if ((Exec >> L & 1) && To + Bytes > W.WG->LdsSize) {
      faultLds(W, I, int(L), To, Bytes);
      return false;
    }
    A[L] = uint32_t(To);
  }
  return checkLdsAccess(W, I, A, Exec, Bytes);
}

/// Global memory to LDS, past the registers: M0 plus the offset is the place of
/// lane 0, each lane has a dword (or the three or four it loads).
static const Inst *loadToLds(Wave &W, const Inst *I) {
  uint64_t Exec = W.exec();
  if (!Exec)
    return I + 1;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  const unsigned Bytes = unsigned(I->ElementBytes) * I->Elements;
  if (!checkAddresses(W, I, A, Exec, Bytes, false))
    return nullptr;
  const unsigned LdsBytes = unsigned(I->Elements) * 4;
  if (W.Check && !checkLdsFill(W, I, Exec, LdsBytes))
    return nullptr;
  W.Count.GlobalRead += uint64_t(countBits(Exec)) * Bytes;
  W.Count.LdsBytes += uint64_t(countBits(Exec)) * LdsBytes;
  for (uint64_t Left = Exec; Left; Left &= Left - 1) {
    unsigned L = unsigned(__builtin_ctzll(Left));
    uint64_t To = uint64_t(W.S[SlotM0]) + uint64_t(I->Imm) + L * LdsBytes;
    if (To + LdsBytes > W.WG->LdsSize)
      return faultLds(W, I, int(L), To, LdsBytes);
    const uint8_t *From = reinterpret_cast<const uint8_t *>(A[L]);
    for (unsigned K = 0; K < I->Elements; ++K)
      writeElement(W.WG->Lds + To + 4 * K,
                   extend(readElement(From + 4 * K, I->ElementBytes), I), 4);
  }
  return I + 1;
}

void addMemoryHandlers(ExecTable &Table) {
  Table.Memory[unsigned(MemoryOp::GlobalLoad)] = globalLoad;
  Table.Memory[unsigned(MemoryOp::GlobalStore)] = globalStore;
  Table.Memory[unsigned(MemoryOp::GlobalAtomic)] = globalAtomic;
  Table.Memory[unsigned(MemoryOp::LoadToLds)] = loadToLds;
  addFlatHandlers(Table);
  addBufferHandlers(Table);
  addLdsHandlers(Table);
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
