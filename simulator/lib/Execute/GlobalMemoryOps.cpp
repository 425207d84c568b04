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

#include "Execute/MemorySupport.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

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

static const Inst *globalLoad(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  const unsigned Bytes = accessBytes(I);
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

static const Inst *globalStore(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  const unsigned E = I->Elements;
  const unsigned Bytes = accessBytes(I);
  if (!checkAddresses(W, I, A, Exec, Bytes, true))
    return nullptr;
  W.Count.GlobalWritten += uint64_t(countBits(Exec)) * Bytes;

  const uint32_t *S = W.row(I->Src[1].Reg);
  if (I->ElementBytes == 4 && Exec == W.FullMask && consecutive(A, Bytes, N)) {
    uint8_t *P = reinterpret_cast<uint8_t *>(A[0]);
    if (E == 1)
      std::memcpy(P, S, N * 4);
    else
      (E == 2   ? storeConsecutive<2>
       : E == 3 ? storeConsecutive<3>
                : storeConsecutive<4>)(P, S, N);
    return I + 1;
  }
  for (unsigned L : LaneMask(Exec)) {
    storeElements(reinterpret_cast<uint8_t *>(A[L]), S, I, L, N, E);
  }
  return I + 1;
}

static const Inst *globalAtomic(Wave &W, const Inst *I, uint64_t Exec) {
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  if (!checkAddresses(W, I, A, Exec, I->ElementBytes, true) ||
      !globalAtomics(W, I, A, Exec, Exec))
    return nullptr;
  return I + 1;
}

/// Global memory to LDS; a small element takes a dword there.
static const Inst *loadToLds(Wave &W, const Inst *I, uint64_t Exec) {
  Exec = lanesIntoLds(W, I->Src[1], I->Imm, Exec);
  if (!Exec)
    return I + 1;
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  const unsigned Bytes = accessBytes(I);
  if (!checkAddresses(W, I, A, Exec, Bytes, false))
    return nullptr;
  W.Count.GlobalRead += uint64_t(countBits(Exec)) * Bytes;
  for (unsigned L : LaneMask(Exec)) {
    loadElements(W.T->Out, reinterpret_cast<const uint8_t *>(A[L]), I, L, W.N,
                 I->Elements);
  }
  return fillLds(W, I, Exec, W.T->Out) ? I + 1 : nullptr;
}

/// LDS to global memory, past the registers.
static const Inst *storeFromLds(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned Bytes = accessBytes(I);
  uint32_t From[64];
  if (!ldsPlaces(W, I, Exec, From, Bytes))
    return nullptr;
  for (unsigned L : LaneMask(Exec)) {
    loadElements(W.T->Out, W.WG->Lds + From[L], I, L, W.N, I->Elements);
  }
  uint64_t *A = W.T->Address;
  globalAddresses(W, I, Exec, A);
  if (!checkAddresses(W, I, A, Exec, Bytes, true))
    return nullptr;
  W.Count.GlobalWritten += uint64_t(countBits(Exec)) * Bytes;
  for (unsigned L : LaneMask(Exec)) {
    storeElements(reinterpret_cast<uint8_t *>(A[L]), W.T->Out, I, L, W.N,
                  I->Elements);
  }
  return I + 1;
}

/// The load is this workgroup's part of one that several have issued.
template <const Inst *(*Load)(Wave &, const Inst *)>
static const Inst *multicast(Wave &W, const Inst *I) {
  return joinMulticast(W, I, W.S[SlotM0] & 0xffff) ? Load(W, I) : nullptr;
}

static const Inst *globalLoadTransposed(Wave &W, const Inst *I) {
  return transposed<whereActive<globalLoad>>(W, I);
}

void addGlobalHandlers(ExecTable &Table) {
  Table.Memory[unsigned(MemoryOp::GlobalLoadTransposed)] = globalLoadTransposed;
  Table.Memory[unsigned(MemoryOp::GlobalLoad)] = whereActive<globalLoad>;
  Table.Memory[unsigned(MemoryOp::GlobalStore)] = whereActive<globalStore>;
  Table.Memory[unsigned(MemoryOp::GlobalAtomic)] = whereActive<globalAtomic>;
  Table.Memory[unsigned(MemoryOp::ClusterLoad)] =
      multicast<whereActive<globalLoad>>;
  Table.Memory[unsigned(MemoryOp::ClusterLoadToLds)] =
      multicast<whereActive<loadToLds>>;
  Table.Memory[unsigned(MemoryOp::LoadToLds)] = whereActive<loadToLds>;
  Table.Memory[unsigned(MemoryOp::StoreFromLds)] = whereActive<storeFromLds>;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
