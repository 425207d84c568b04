//===- BufferMemoryOps.cpp - Buffer loads, stores and atomics -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The buffer_ instructions: addresses from a resource descriptor, with its
// range check (loads out of range give zero, stores are dropped) and its
// swizzle; the result is checked against the live buffers besides.
//
//===----------------------------------------------------------------------===//

#include "Execute/MemorySupport.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

namespace {
/// The fields of a resource descriptor that address computation uses.
struct Resource {
  uint64_t Base;
  uint32_t Stride;
  uint64_t Records;
  bool Swizzled;
  bool AddLane;
  uint32_t IndexStride;
  uint32_t ElementSize;
  bool RawCheck;
};
} // namespace

static Resource readResource(const Wave &W, const Inst *I) {
  const uint32_t *D = &W.S[I->Src[2].Reg];
  Resource R;
  if (isCdna5(W)) {
    const WideBuffer B(D);
    return {B.Base, 0, B.Records, false, false, 8, 4, true};
  }
  R.Base = D[0] | uint64_t(D[1] & 0xffff) << 32;
  R.Stride = D[1] >> 16 & 0x3fff;
  R.Records = D[2];
  R.AddLane = D[3] >> 23 & 1;
  R.IndexStride = 8u << (D[3] >> 21 & 3);
  if (isGfx9(W)) {
    R.Swizzled = D[1] >> 31 & 1;
    R.ElementSize = 2u << (D[3] >> 19 & 3);
    R.RawCheck = R.Stride == 0 || !R.Swizzled;
  } else {
    // Generation 10 has one bit for swizzling, and elements of a dword.
    const bool HasMode = generationOf(W) > 10;
    unsigned Mode = HasMode ? D[1] >> 30 & 3 : D[1] >> 31;
    R.Swizzled = Mode != 0;
    R.ElementSize = Mode == 1 ? 4 : Mode == 2 ? 8 : 16;
    R.RawCheck = (D[3] >> 28 & 3) == 3 || R.Stride == 0;
  }
  return R;
}

/// Addresses of all lanes. The result is the mask of lanes of which at least
/// the first element is in range; Good counts the elements that are.
static uint64_t bufferAddresses(Wave &W, const Inst *I, uint64_t Exec,
                                uint64_t *A, uint32_t *GoodElements) {
  const unsigned N = W.N;
  const Resource R = readResource(W, I);
  const Operand &Scalar = I->Src[3];
  uint32_t ScalarOffset = Scalar.Kind == OperandKind::SGPR
                              ? W.S[Scalar.Reg]
                              : uint32_t(Scalar.Value);
  const uint32_t *V =
      I->Src[0].Kind == OperandKind::VGPR ? W.row(I->Src[0].Reg) : nullptr;
  bool HasIndex = I->Flags & FlagIdxen, HasOffset = I->Flags & FlagOffen;
  uint64_t InRange = 0;
  for (unsigned L = 0; L < N; ++L) {
    uint32_t Index = V && HasIndex ? V[L] : 0;
    uint32_t Offset = V && HasOffset ? V[L + (HasIndex ? N : 0)] : 0;
    Offset += uint32_t(I->Imm);
    if (R.AddLane)
      Index += L;
    uint64_t Linear = uint64_t(Index) * R.Stride + Offset;
    uint32_t Good = 0;
    if (!R.RawCheck) {
      Good = Index < R.Records ? I->Elements : 0;
    } else {
      uint64_t Start = Linear + ScalarOffset;
      while (Good < I->Elements &&
             Start + uint64_t(Good + 1) * I->ElementBytes <= R.Records)
        ++Good;
    }
    GoodElements[L] = Good;
    if (R.Swizzled)
      Linear = (uint64_t(Index / R.IndexStride) * R.Stride +
                uint64_t(Offset / R.ElementSize) * R.ElementSize) *
                   R.IndexStride +
               uint64_t(Index % R.IndexStride) * R.ElementSize +
               Offset % R.ElementSize;
    A[L] = R.Base + ScalarOffset + Linear;
    InRange |= uint64_t(Good != 0) << L;
  }
  InRange &= Exec;
  if (InRange) {
    uint64_t Safe = A[__builtin_ctzll(InRange)];
    for (unsigned L = 0; L < N; ++L)
      A[L] = (InRange >> L & 1) ? A[L] : Safe;
  }
  return InRange;
}

/// The further checks of checked launches: whole elements at a time, scratch
/// memory (whose dwords lie one lane after the other) by itself.
static bool checkBuffer(Wave &W, const Inst *I, const uint64_t *A,
                        uint64_t InRange, const uint32_t *Good) {
  uint64_t Offsets[64], Scratch = 0, Whole = 0;
  for (unsigned L : LaneMask(InRange)) {
    if (inRegion(W.ScratchRegion, A[L], 1)) {
      uint64_t Dword = (A[L] - W.ScratchRegion.Begin) / 4 / W.N;
      Offsets[L] = Dword * 4 + A[L] % 4;
      Scratch |= 1ull << L;
    } else if (Good[L] == I->Elements) {
      Whole |= 1ull << L;
    } else if (!W.Observer->globalAccess(I, A, 1ull << L,
                                         Good[L] * I->ElementBytes)) {
      return false;
    }
  }
  const unsigned Bytes = accessBytes(I);
  if (Scratch && !W.Observer->scratchAccess(I, Offsets, Scratch, Bytes))
    return false;
  return !Whole || W.Observer->globalAccess(I, A, Whole, Bytes);
}

/// Checks what is in range against the live buffers. False: stopped.
static bool checkElements(Wave &W, const Inst *I, const uint64_t *A,
                          uint64_t InRange, const uint32_t *Good, bool Write) {
  // What leaves the wave's scratch may be in a buffer that lies there.
  const Resource D = readResource(W, I);
  const bool IsScratch = D.Swizzled && inRegion(W.ScratchRegion, D.Base, 1);
  for (unsigned L : LaneMask(InRange)) {
    unsigned Bytes = Good[L] * I->ElementBytes;
    if (IsScratch && !inRegion(W.ScratchRegion, A[L], Bytes)) {
      const uint64_t Byte = A[L] - W.ScratchRegion.Begin;
      faultScratch(W, I, int(L), Byte / (4 * W.N) * 4 + Byte % 4, Bytes);
      return false;
    }
    if (inRegion(W.LastRegion, A[L], Bytes))
      continue;
    const Region *R = findRegion(W, A[L], Bytes);
    if (!R) {
      faultAddress(W, I, int(L), A[L], Bytes, Write);
      return false;
    }
    W.LastRegion = *R;
  }
  return !W.Observer || checkBuffer(W, I, A, InRange, Good);
}

/// What has to hold of an access by its descriptor alone. False: stopped.
static bool checkShape(Wave &W, const Inst *I, uint64_t Exec) {
  const Resource R = readResource(W, I);
  if (isCdna5(W) && !WideBuffer(&W.S[I->Src[2].Reg]).IsPlain) {
    fault(W, I, -1, "a buffer with a stride is not modelled here");
    return false;
  }
  // Triton's descriptors end 2 GiB after their base, and lanes that its masks
  // leave out have an offset of -2 GiB, to which LLVM may have moved a constant
  // from the instruction, or back. Hardware takes another negative one for a
  // large one, too, so that nothing is accessed.
  if (W.Observer && R.Records == 0x7ffffffe && !R.Swizzled &&
      (I->Flags & (FlagOffen | FlagIdxen)) == FlagOffen) {
    const uint32_t *V = W.row(I->Src[0].Reg);
    const Operand &S = I->Src[3];
    const uint32_t Rest =
        uint32_t(I->Imm) +
        (S.Kind == OperandKind::SGPR ? W.S[S.Reg] : uint32_t(S.Value));
    for (unsigned L : LaneMask(Exec))
      if (const int32_t Offset = int32_t(V[L] + Rest);
          Offset < 0 && Offset != INT32_MIN && V[L] != 1u << 31) {
        faultOffset(W, I, int(L), Offset);
        return false;
      }
  }
  // A swizzled element is not contiguous beyond its element size.
  if (!R.Swizzled || accessBytes(I) <= R.ElementSize)
    return true;
  fault(W, I, -1,
        "a buffer access wider than the element size of its swizzled "
        "descriptor is not modelled");
  return false;
}

static const Inst *bufferLoad(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  if (!checkShape(W, I, Exec))
    return nullptr;
  uint64_t *A = W.T->Address;
  const uint32_t *Good = W.T->Lanes;
  uint64_t InRange = bufferAddresses(W, I, Exec, A, W.T->Lanes);
  uint32_t *Out = W.T->Out;
  for (unsigned K = 0; K < I->Elements; ++K)
    fillRow(Out + K * N, 0, N);
  if (InRange) {
    if (!checkElements(W, I, A, InRange, Good, false))
      return nullptr;
    for (unsigned L : LaneMask(InRange)) {
      loadElements(Out, reinterpret_cast<const uint8_t *>(A[L]), I, L, N,
                   Good[L]);
      W.Count.GlobalRead += uint64_t(Good[L]) * I->ElementBytes;
    }
  }
  if (I->Flags & FlagLds)
    return fillLds(W, I, Exec, Out) ? I + 1 : nullptr;
  writeLoaded(W, I, Out, Exec);
  return I + 1;
}

static const Inst *bufferStore(Wave &W, const Inst *I, uint64_t Exec) {
  const unsigned N = W.N;
  if (!checkShape(W, I, Exec))
    return nullptr;
  uint64_t *A = W.T->Address;
  const uint32_t *Good = W.T->Lanes;
  uint64_t InRange = bufferAddresses(W, I, Exec, A, W.T->Lanes);
  if (!InRange)
    return I + 1;
  if (!checkElements(W, I, A, InRange, Good, true))
    return nullptr;
  const uint32_t *S = W.row(I->Src[1].Reg);
  for (unsigned L : LaneMask(InRange)) {
    storeElements(reinterpret_cast<uint8_t *>(A[L]), S, I, L, N, Good[L]);
    W.Count.GlobalWritten += uint64_t(Good[L]) * I->ElementBytes;
  }
  return I + 1;
}

static const Inst *bufferAtomic(Wave &W, const Inst *I, uint64_t Exec) {
  if (!checkShape(W, I, Exec))
    return nullptr;
  uint64_t *A = W.T->Address;
  uint64_t InRange = bufferAddresses(W, I, Exec, A, W.T->Lanes);
  if (InRange && !checkAddresses(W, I, A, InRange, I->ElementBytes, true))
    return nullptr;
  return globalAtomics(W, I, A, Exec, InRange) ? I + 1 : nullptr;
}

void addBufferHandlers(ExecTable &Table) {
  Table.Memory[unsigned(MemoryOp::BufferLoad)] = whereActive<bufferLoad>;
  Table.Memory[unsigned(MemoryOp::BufferStore)] = whereActive<bufferStore>;
  Table.Memory[unsigned(MemoryOp::BufferAtomic)] = whereActive<bufferAtomic>;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
