//===- FlatMemoryOps.cpp - Scratch and flat accesses ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scratch_ instructions, whose memory is interleaved by lane, and the
// flat_ instructions, whose addresses lead to LDS, to scratch or to global
// memory lane by lane.
//
//===----------------------------------------------------------------------===//

#include "Execute/MemorySupport.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// Scratch memory of one lane, swizzled by dwords.
static uint32_t loadScratch(const Wave &W, unsigned Lane, uint32_t Offset,
                            unsigned Bytes) {
  uint32_t X = 0;
  for (unsigned B = 0; B < Bytes; ++B) {
    uint32_t O = Offset + B;
    X |= uint32_t(W.Scratch[(size_t(O / 4) * W.N + Lane) * 4 + O % 4])
         << (8 * B);
  }
  return X;
}
static void storeScratch(Wave &W, unsigned Lane, uint32_t Offset, uint32_t X,
                         unsigned Bytes) {
  for (unsigned B = 0; B < Bytes; ++B) {
    uint32_t O = Offset + B;
    W.Scratch[(size_t(O / 4) * W.N + Lane) * 4 + O % 4] = uint8_t(X >> (8 * B));
  }
}

static void loadScratchElements(const Wave &W, const Inst *I, unsigned L,
                                uint32_t Offset, uint32_t *Out) {
  for (unsigned K = 0; K < I->Elements; ++K)
    Out[K * W.N + L] =
        extend(loadScratch(W, L, Offset + 4 * K, I->ElementBytes), I);
}
static void storeScratchElements(Wave &W, const Inst *I, unsigned L,
                                 uint32_t Offset, const uint32_t *S) {
  const unsigned Shift = I->Flags & FlagHigh16 ? 16 : 0;
  for (unsigned K = 0; K < I->Elements; ++K)
    storeScratch(W, L, Offset + 4 * K, S[K * W.N + L] >> Shift,
                 I->ElementBytes);
}

/// Offsets of all lanes in their scratch memory. The address VGPR and the
/// scalar are optional. False: some active lane leaves its memory.
static bool scratchOffsets(Wave &W, const Inst *I, uint64_t Exec, uint64_t *A) {
  const unsigned N = W.N;
  uint64_t Base = uint64_t(I->Imm);
  if (I->Src[2].Kind == OperandKind::SGPR)
    Base += W.S[I->Src[2].Reg];
  else if (I->Src[2].Kind == OperandKind::Constant)
    Base += I->Src[2].Value;
  if (I->Src[0].Kind == OperandKind::VGPR) {
    const uint32_t *R = W.row(I->Src[0].Reg);
    const uint32_t Scale = I->Flags & FlagScaleOffset ? accessBytes(I) : 1;
    for (unsigned L = 0; L < N; ++L)
      A[L] = uint32_t(Base + R[L] * Scale);
  } else {
    for (unsigned L = 0; L < N; ++L)
      A[L] = uint32_t(Base);
  }
  const unsigned Bytes = accessBytes(I);
  for (unsigned L : LaneMask(Exec))
    if (A[L] + Bytes > W.ScratchSize) {
      faultScratch(W, I, int(L), A[L], Bytes);
      return false;
    }
  return !W.Observer || W.Observer->scratchAccess(I, A, Exec, Bytes);
}

static const Inst *scratchLoad(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  uint64_t *A = W.T->Address;
  if (!scratchOffsets(W, I, Exec, A))
    return nullptr;
  uint32_t *Out = W.T->Out;
  bool Uniform = I->Src[0].Kind != OperandKind::VGPR;
  if (Uniform && I->ElementBytes == 4 && A[0] % 4 == 0) {
    std::memcpy(Out, W.Scratch + A[0] * N, size_t(I->Elements) * N * 4);
  } else {
    for (unsigned L : LaneMask(Exec))
      loadScratchElements(W, I, L, uint32_t(A[L]), Out);
  }
  writeLoaded(W, I, Out, Exec);
  return I + 1;
}

static const Inst *scratchStore(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  uint64_t *A = W.T->Address;
  if (!scratchOffsets(W, I, Exec, A))
    return nullptr;
  const uint32_t *S = W.row(I->Src[1].Reg);
  bool Uniform = I->Src[0].Kind != OperandKind::VGPR;
  if (Uniform && I->ElementBytes == 4 && A[0] % 4 == 0 && Exec == W.FullMask) {
    std::memcpy(W.Scratch + A[0] * N, S, size_t(I->Elements) * N * 4);
    return I + 1;
  }
  for (unsigned L : LaneMask(Exec))
    storeScratchElements(W, I, L, uint32_t(A[L]), S);
  return I + 1;
}

namespace {
enum class Space { Global, Lds, Scratch };
} // namespace

static Space spaceOf(uint64_t Address) {
  uint64_t High = Address >> 32;
  if (High == SharedAperture >> 32)
    return Space::Lds;
  return High == PrivateAperture >> 32 ? Space::Scratch : Space::Global;
}

/// The addresses of all lanes. Those of CDNA5's private memory have the number
/// of a lane, its own, and become those of other chips. False: the wave has
/// been stopped.
static bool flatAddresses(Wave &W, const Inst *I, uint64_t Exec, uint64_t *A) {
  globalAddresses(W, I, Exec, A);
  if (!isCdna5(W))
    return true;
  constexpr uint64_t LaneBits = 31ull << LanePrivateShift;
  for (unsigned L : LaneMask(Exec)) {
    if ((A[L] & ~LaneBits) >> 32 != LanePrivateBase >> 32)
      continue;
    if ((A[L] & LaneBits) >> LanePrivateShift != L) {
      fault(W, I, int(L), "the private memory of another lane is not modelled");
      return false;
    }
    A[L] = PrivateAperture | uint32_t(A[L]);
  }
  return true;
}

/// The lane's memory behind an address that is not scratch memory's.
static uint8_t *flatMemory(Wave &W, uint64_t Address) {
  return spaceOf(Address) == Space::Lds ? W.WG->Lds + uint32_t(Address)
                                        : reinterpret_cast<uint8_t *>(Address);
}

/// Checks the lanes' accesses, those to each memory together; false: the wave
/// has been stopped.
static bool checkFlat(Wave &W, const Inst *I, uint64_t Exec, const uint64_t *A,
                      unsigned Bytes, bool Write) {
  uint64_t Global = 0, Lds = 0, Scratch = 0, Offsets[64];
  uint32_t Places[64];
  for (unsigned L : LaneMask(Exec)) {
    const uint64_t Bit = 1ull << L;
    const uint32_t Low = uint32_t(A[L]);
    const uint64_t End = uint64_t(Low) + Bytes;
    Offsets[L] = Places[L] = Low;
    switch (spaceOf(A[L])) {
    case Space::Lds:
      Lds |= Bit;
      if (End > W.WG->LdsSize) {
        faultLds(W, I, int(L), Low, Bytes);
        return false;
      }
      break;
    case Space::Scratch:
      Scratch |= Bit;
      if (End > W.ScratchSize) {
        faultScratch(W, I, int(L), Low, Bytes);
        return false;
      }
      break;
    case Space::Global:
      Global |= Bit;
      if (inRegion(W.LastRegion, A[L], Bytes))
        break;
      const Region *R = findRegion(W, A[L], Bytes);
      if (!R) {
        faultAddress(W, I, int(L), A[L], Bytes, Write);
        return false;
      }
      W.LastRegion = *R;
    }
  }
  WaveObserver *O = W.Observer;
  return !O || ((!Global || O->globalAccess(I, A, Global, Bytes)) &&
                (!Lds || O->ldsAccess(I, Places, Lds, Bytes)) &&
                (!Scratch || O->scratchAccess(I, Offsets, Scratch, Bytes)));
}

template <bool Stores>
static const Inst *flatAccess(Wave &W, const Inst *I, uint64_t Exec) {
  uint64_t *A = W.T->Address;
  if (!flatAddresses(W, I, Exec, A))
    return nullptr;
  uint32_t *Data = Stores ? W.row(I->Src[1].Reg) : W.T->Out;
  const unsigned Bytes = accessBytes(I);
  if (!checkFlat(W, I, Exec, A, Bytes, Stores))
    return nullptr;
  for (unsigned L : LaneMask(Exec)) {
    const Space Where = spaceOf(A[L]);
    if (Where == Space::Global)
      (Stores ? W.Count.GlobalWritten : W.Count.GlobalRead) += Bytes;
    else if (Where == Space::Lds)
      W.Count.LdsBytes += Bytes;
    if (Where == Space::Scratch)
      Stores ? storeScratchElements(W, I, L, uint32_t(A[L]), Data)
             : loadScratchElements(W, I, L, uint32_t(A[L]), Data);
    else if (Stores)
      storeElements(flatMemory(W, A[L]), Data, I, L, W.N, I->Elements);
    else
      loadElements(Data, flatMemory(W, A[L]), I, L, W.N, I->Elements);
  }
  if (!Stores)
    writeLoaded(W, I, Data, Exec);
  return I + 1;
}

static const Inst *flatAtomic(Wave &W, const Inst *I, uint64_t Exec) {
  uint64_t *A = W.T->Address;
  if (!flatAddresses(W, I, Exec, A))
    return nullptr;
  if (!checkFlat(W, I, Exec, A, I->ElementBytes, true))
    return nullptr;
  for (unsigned L : LaneMask(Exec)) {
    if (A[L] & (I->ElementBytes - 1u))
      return fault(W, I, int(L), "an atomic access is not aligned to its size");
    uint64_t Data = 0, Compare = 0, Old = 0;
    atomicOperands(W, I, L, Data, Compare);
    switch (spaceOf(A[L])) {
    case Space::Scratch:
      return fault(W, I, int(L),
                   "a flat atomic on scratch memory is not modelled");
    case Space::Lds:
      Old = ldsAtomic(W, I, uint32_t(A[L]), Data, Compare);
      break;
    case Space::Global:
      W.Count.GlobalWritten += I->ElementBytes;
      if (I->Flags & FlagReturn)
        W.Count.GlobalRead += I->ElementBytes;
      Old = atomicAccess(A[L], I, Data, Compare);
      break;
    }
    writeAtomicResult(W, I, L, Old);
  }
  return I + 1;
}

void addFlatHandlers(ExecTable &Table) {
  Table.Memory[unsigned(MemoryOp::FlatLoad)] = whereActive<flatAccess<false>>;
  Table.Memory[unsigned(MemoryOp::FlatStore)] = whereActive<flatAccess<true>>;
  Table.Memory[unsigned(MemoryOp::FlatAtomic)] = whereActive<flatAtomic>;
  Table.Memory[unsigned(MemoryOp::ScratchLoad)] = whereActive<scratchLoad>;
  Table.Memory[unsigned(MemoryOp::ScratchStore)] = whereActive<scratchStore>;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
