//===- MemorySupport.h - Atomics and lane addresses -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What global memory, LDS and scratch instructions share.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_MEMORYSUPPORT_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_MEMORYSUPPORT_H

#include "Core/Instruction.h"
#include "Core/Launch.h"
#include "Execute/LaneSupport.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// What an atomic stores, given the old value; Bytes is 4 or 8.
static inline uint64_t atomicResult(AtomicOp Op, uint64_t Old, uint64_t Data,
                                    uint64_t Compare, unsigned Bytes) {
  bool Wide = Bytes == 8;
  auto Signed = [&](uint64_t X) {
    return Wide ? int64_t(X) : int64_t(int32_t(X));
  };
  switch (Op) {
  case AtomicOp::Swap:
    return Data;
  case AtomicOp::CompareSwap:
    return Old == Compare ? Data : Old;
  case AtomicOp::Add:
    return Old + Data;
  case AtomicOp::Sub:
    return Old - Data;
  case AtomicOp::ReverseSub:
    return Data - Old;
  case AtomicOp::SMin:
    return Signed(Old) < Signed(Data) ? Old : Data;
  case AtomicOp::UMin:
    return Old < Data ? Old : Data;
  case AtomicOp::SMax:
    return Signed(Old) > Signed(Data) ? Old : Data;
  case AtomicOp::UMax:
    return Old > Data ? Old : Data;
  case AtomicOp::And:
    return Old & Data;
  case AtomicOp::Or:
    return Old | Data;
  case AtomicOp::Xor:
    return Old ^ Data;
  case AtomicOp::MaskedOr: // the second operand is in Compare's place
    return (Old & ~Data) | Compare;
  case AtomicOp::Inc:
    return Old >= Data ? 0 : Old + 1;
  case AtomicOp::Dec:
    return Old == 0 || Old > Data ? Data : Old - 1;
  case AtomicOp::SubClamp:
    return Old < Data ? 0 : Old - Data;
  case AtomicOp::CondSub:
    return Old >= Data ? Old - Data : Old;
  case AtomicOp::Arrive:
    return barrierAfter(Old, Data);
  case AtomicOp::AddF32:
    return bits(asF32(uint32_t(Old)) + asF32(uint32_t(Data)));
  case AtomicOp::MinF32:
    return minNum32<true>(uint32_t(Old), uint32_t(Data));
  case AtomicOp::MaxF32:
    return maxNum32<true>(uint32_t(Old), uint32_t(Data));
  case AtomicOp::AddF64:
    return bits(asF64(Old) + asF64(Data));
  case AtomicOp::MinF64:
    return minNum64<true>(Old, Data);
  case AtomicOp::MaxF64:
    return maxNum64<true>(Old, Data);
  case AtomicOp::PkAddF16:
    return halfBits(half(uint32_t(Old)) + half(uint32_t(Data))) |
           halfBits(half(uint32_t(Old) >> 16) + half(uint32_t(Data) >> 16))
               << 16;
  case AtomicOp::PkAddBF16:
    return bfloatBits(bfloat(uint32_t(Old) & 0xffff) +
                      bfloat(uint32_t(Data) & 0xffff)) |
           bfloatBits(bfloat(uint32_t(Old) >> 16) +
                      bfloat(uint32_t(Data) >> 16))
               << 16;
  }
  return Old;
}

/// One sub-dword element as the register gets it.
static inline uint32_t extend(uint32_t X, const Inst *I) {
  if (!(I->Flags & FlagSigned))
    return X;
  return I->ElementBytes == 1 ? uint32_t(int32_t(int8_t(X)))
                              : uint32_t(int32_t(int16_t(X)));
}

/// Puts a loaded 16-bit value into its half.
static inline uint32_t insertHalf(uint32_t Old, uint32_t X, uint32_t Flags) {
  return Flags & FlagHigh16 ? (Old & 0xffff) | X << 16
                            : (Old & 0xffff0000) | (X & 0xffff);
}

/// Reads an element of 1, 2 or 4 bytes.
static inline uint32_t readElement(const uint8_t *P, unsigned Bytes) {
  uint32_t X = 0;
  if (Bytes == 4)
    std::memcpy(&X, P, 4);
  else if (Bytes == 2) {
    uint16_t Y;
    std::memcpy(&Y, P, 2);
    X = Y;
  } else {
    X = *P;
  }
  return X;
}
static inline void writeElement(uint8_t *P, uint32_t X, unsigned Bytes) {
  if (Bytes == 4)
    std::memcpy(P, &X, 4);
  else if (Bytes == 2) {
    uint16_t Y = uint16_t(X);
    std::memcpy(P, &Y, 2);
  } else {
    *P = uint8_t(X);
  }
}

/// Reads one lane's elements, Count of them, into its place in the rows.
static inline void loadElements(uint32_t *Out, const uint8_t *P, const Inst *I,
                                unsigned L, unsigned N, unsigned Count) {
  for (unsigned K = 0; K < Count; ++K)
    Out[K * N + L] = extend(readElement(P + 4 * K, I->ElementBytes), I);
}
/// Writes one lane's elements from its place in the data registers.
static inline void storeElements(uint8_t *P, const uint32_t *S, const Inst *I,
                                 unsigned L, unsigned N, unsigned Count) {
  const unsigned Shift = I->Flags & FlagHigh16 ? 16 : 0;
  for (unsigned K = 0; K < Count; ++K)
    writeElement(P + 4 * K, S[K * N + L] >> Shift, I->ElementBytes);
}

/// Writes loaded rows to the destination in the lanes of the mask.
static inline void writeLoaded(Wave &W, const Inst *I, const uint32_t *Out,
                               uint64_t Mask) {
  uint32_t *D = W.row(I->Dst.Reg);
  if (I->Flags & FlagD16) {
    for (unsigned L = 0; L < W.N; ++L)
      if (Mask >> L & 1)
        D[L] = insertHalf(D[L], Out[L], I->Flags);
    return;
  }
  for (unsigned E = 0; E < I->Elements; ++E)
    copyLanes(D + E * W.N, Out + E * W.N, Mask, W.N);
}

/// Bytes that a lane accesses.
static inline unsigned accessBytes(const Inst *I) {
  return unsigned(I->ElementBytes) * I->Elements;
}

/// A handler of what Access does for the active lanes, if there are any.
template <const Inst *(*Access)(Wave &, const Inst *, uint64_t Exec)>
static const Inst *whereActive(Wave &W, const Inst *I) {
  uint64_t Exec = W.exec();
  return Exec ? Access(W, I, Exec) : I + 1;
}

/// The lanes that write LDS. CDNA5 drops accesses outside of it, and Triton
/// masks lanes by one such address, with the offset or without; others are
/// errors.
uint64_t lanesIntoLds(const Wave &W, const Operand &Address, int64_t Offset,
                      uint64_t Exec);
template <const Inst *(*Access)(Wave &, const Inst *, uint64_t Exec)>
static const Inst *whereIntoLds(Wave &W, const Inst *I) {
  const uint64_t Exec = lanesIntoLds(W, I->Src[0], I->Imm, W.exec());
  return Exec ? Access(W, I, Exec) : I + 1;
}

/// Hands the elements that the lanes have loaded to the lanes that the
/// instruction means them for.
void transposeLoaded(Wave &W, const Inst *I);
/// Load, and then that. All lanes take part, or none.
template <const Inst *(*Load)(Wave &, const Inst *)>
static const Inst *transposed(Wave &W, const Inst *I) {
  if (!W.exec())
    return I + 1;
  if (W.exec() != W.FullMask)
    return fault(W, I, -1, "a transposed load needs all lanes to be active");
  const Inst *Next = Load(W, I);
  if (Next)
    transposeLoaded(W, I);
  return Next;
}

/// Addresses of all lanes: a scalar base and offsets, or whole ones.
void globalAddresses(Wave &W, const Inst *I, uint64_t Exec, uint64_t *A);
bool checkAddresses(Wave &W, const Inst *I, const uint64_t *A, uint64_t Exec,
                    unsigned Bytes, bool Write);
/// The lanes' places in LDS of a copy past the registers: M0 plus the offset is
/// the place of lane 0, or each lane has an address. False: stopped.
bool ldsPlaces(Wave &W, const Inst *I, uint64_t Exec, uint32_t *A,
               unsigned Bytes);
/// Writes loaded rows to these places. False: stopped.
bool fillLds(Wave &W, const Inst *I, uint64_t Exec, const uint32_t *Out);
uint64_t atomicAccess(uint64_t Address, const Inst *I, uint64_t Data,
                      uint64_t Compare);
/// An atomic of all lanes of Exec on global memory; those that are not in
/// InRange, too, access nothing and get 0. False: stopped.
bool globalAtomics(Wave &W, const Inst *I, const uint64_t *A, uint64_t Exec,
                   uint64_t InRange);
void atomicOperands(const Wave &W, const Inst *I, unsigned L, uint64_t &Data,
                    uint64_t &Compare);
void writeAtomicResult(Wave &W, const Inst *I, unsigned L, uint64_t Old);
/// An atomic of one lane on LDS, which only this host thread uses.
uint64_t ldsAtomic(Wave &W, const Inst *I, uint64_t Address, uint64_t Data,
                   uint64_t Compare);

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_MEMORYSUPPORT_H
