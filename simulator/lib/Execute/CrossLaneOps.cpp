//===- CrossLaneOps.cpp - Instructions that move data between lanes -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes of single lanes, lane counting, the v_permlane family, and
// the LDS permutes, which touch no LDS memory.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneSupport.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

static uint32_t scalarSource(const Wave &W, const Operand &O) {
  return O.Kind == OperandKind::SGPR ? W.S[O.Reg] : uint32_t(O.Value);
}

static const Inst *readFirstLane(Wave &W, const Inst *I) {
  uint64_t Exec = W.exec();
  unsigned L = Exec ? unsigned(__builtin_ctzll(Exec)) : 0;
  W.S[I->Dst.Reg] = sourceRow(W, I->Src[0], W.T->Src[0])[L];
  return I + 1;
}

static const Inst *readLane(Wave &W, const Inst *I) {
  unsigned L = scalarSource(W, I->Src[1]) & (W.N - 1);
  W.S[I->Dst.Reg] = sourceRow(W, I->Src[0], W.T->Src[0])[L];
  return I + 1;
}

static const Inst *writeLane(Wave &W, const Inst *I) {
  unsigned L = scalarSource(W, I->Src[1]) & (W.N - 1);
  W.row(I->Dst.Reg)[L] = scalarSource(W, I->Src[0]);
  return I + 1;
}

template <bool High> static const Inst *maskedBitCount(Wave &W, const Inst *I) {
  const uint32_t *Mask = sourceRow(W, I->Src[0], W.T->Src[0]);
  const uint32_t *Add = sourceRow(W, I->Src[1], W.T->Src[1]);
  uint32_t *Out = W.T->Out;
  for (unsigned L = 0; L < W.N; ++L) {
    uint64_t Below = (1ull << L) - 1;
    Out[L] = countBits(Mask[L] & uint32_t(High ? Below >> 32 : Below)) + Add[L];
  }
  copyLanes(W.row(I->Dst.Reg), Out, W.exec(), W.N);
  return I + 1;
}

/// v_permlane16 and v_permlanex16. The selector of a lane within its row of
/// sixteen is a nibble of two scalars, or with Variable that lane of a VGPR.
template <bool Cross, bool Variable>
static const Inst *permLane16(Wave &W, const Inst *I) {
  const uint32_t *Data = sourceRow(W, I->Src[0], W.T->Src[0]);
  const uint32_t *Variables =
      Variable ? sourceRow(W, I->Src[1], W.T->Src[1]) : nullptr;
  uint64_t Selectors = 0;
  if (!Variable)
    Selectors = join(scalarSource(W, I->Src[1]), scalarSource(W, I->Src[2]));
  bool FetchInactive = I->OpSel & 1, Zero = I->OpSel & 2;
  uint64_t Exec = W.exec(), Writable = Exec;
  uint32_t *Out = W.T->Out;
  for (unsigned L = 0; L < W.N; ++L) {
    unsigned Row = (L / 16) ^ (Cross ? 1 : 0);
    unsigned Selector =
        Variable ? Variables[L] & 15 : unsigned(Selectors >> (L % 16 * 4)) & 15;
    unsigned From = Row * 16 + Selector;
    bool Valid = FetchInactive || (Exec >> From & 1);
    Out[L] = Valid ? Data[From] : 0;
    if (!Valid && !Zero)
      Writable &= ~(1ull << L);
  }
  copyLanes(W.row(I->Dst.Reg), Out, Writable, W.N);
  return I + 1;
}

static const Inst *permLane64(Wave &W, const Inst *I) {
  const uint32_t *Data = sourceRow(W, I->Src[0], W.T->Src[0]);
  uint32_t *Out = W.T->Out;
  for (unsigned L = 0; L < W.N; ++L)
    Out[L] = Data[W.N == 64 ? L ^ 32 : L];
  copyLanes(W.row(I->Dst.Reg), Out, W.exec(), W.N);
  return I + 1;
}

/// gfx950: exchanges the upper half of each block of 2 * Width lanes of the
/// first register with the lower half of the second. What becomes of an active
/// lane whose partner is inactive is not known.
template <unsigned Width>
static const Inst *permLaneSwap(Wave &W, const Inst *I) {
  uint64_t Exec = W.exec();
  uint32_t *A = W.row(I->Dst.Reg), *B = W.row(I->Src[0].Reg);
  for (unsigned L = 0; L < W.N; ++L)
    if (!(L & Width) && (Exec >> L & 1) != (Exec >> (L + Width) & 1))
      return fault(W, I, int(L),
                   "a lane swap with an inactive partner is not modelled");
  for (unsigned L = 0; L < W.N; ++L)
    if (!(L & Width) && Exec >> L & 1) {
      uint32_t X = B[L];
      B[L] = A[L + Width];
      A[L + Width] = X;
    }
  return I + 1;
}

static const Inst *swapB32(Wave &W, const Inst *I) {
  uint32_t *A = W.row(I->Dst.Reg), *B = W.row(I->Src[0].Reg);
  uint64_t Exec = W.exec();
  for (unsigned L = 0; L < W.N; ++L)
    if (Exec >> L & 1) {
      uint32_t X = A[L];
      A[L] = B[L];
      B[L] = X;
    }
  return I + 1;
}

static const Inst *swapB16(Wave &W, const Inst *I) {
  uint32_t *A = W.row(I->Dst.Reg), *B = W.row(I->Src[0].Reg);
  unsigned ShiftA = I->Flags & FlagDstHigh ? 16 : 0;
  unsigned ShiftB = I->Src[0].Mods & ModHigh ? 16 : 0;
  uint64_t Exec = W.exec();
  for (unsigned L = 0; L < W.N; ++L)
    if (Exec >> L & 1) {
      uint32_t X = A[L] >> ShiftA & 0xffff, Y = B[L] >> ShiftB & 0xffff;
      A[L] = (A[L] & ~(0xffffu << ShiftA)) | Y << ShiftA;
      B[L] = (B[L] & ~(0xffffu << ShiftB)) | X << ShiftB;
    }
  return I + 1;
}

/// The register that M0 leads to, counted from R; null if there is none.
static uint32_t *relativeRow(Wave &W, unsigned R) {
  uint64_t Row = uint64_t(R) + W.S[SlotM0];
  return Row < vgprsOf(W) ? W.row(unsigned(Row)) : nullptr;
}
template <bool Source, bool Destination>
static const Inst *moveRelative(Wave &W, const Inst *I) {
  const uint32_t *From = Source ? relativeRow(W, I->Src[0].Reg)
                                : sourceRow(W, I->Src[0], W.T->Src[0]);
  uint32_t *To = Destination ? relativeRow(W, I->Dst.Reg) : W.row(I->Dst.Reg);
  if (!From || !To || (Source && I->Src[0].Kind != OperandKind::VGPR))
    return fault(W, I, -1, "M0 leads to a vector register that does not exist");
  copyLanes(To, From, W.exec(), W.N);
  return I + 1;
}

/// An instruction between s_set_gpr_idx_on and s_set_gpr_idx_off: M0 has the
/// index in bits 7:0, and in 15:12 what it is added to (the three sources, the
/// destination).
static const Inst *runIndexed(Wave &W, const Inst *I) {
  Inst Indexed = *I;
  const unsigned Index = W.S[SlotM0] & 0xff, Which = W.S[SlotM0] >> 12;
  bool Good = true;
  auto Move = [&](Operand &O) {
    if (O.Kind != OperandKind::VGPR)
      return;
    O.Reg = uint16_t(O.Reg + Index);
    Good &= unsigned(O.Reg) + O.Dwords <= RowAGPR0;
  };
  for (unsigned K = 0; K < 3 && K < I->NumSrc; ++K)
    if (Which >> K & 1)
      Move(Indexed.Src[K]);
  if (Which & 8)
    Move(Indexed.Dst);
  if (!Good)
    return fault(W, I, -1,
                 "the index leads to a vector register that does not exist");
  return I->Inner(W, &Indexed) ? I + 1 : nullptr;
}

static const Inst *vectorNop(Wave &, const Inst *I) { return I + 1; }

/// ds_bpermute: each lane reads the lane that its address names.
static const Inst *dsBPermute(Wave &W, const Inst *I) {
  const uint32_t *Address = sourceRow(W, I->Src[0], W.T->Src[0]);
  const uint32_t *Data = sourceRow(W, I->Src[1], W.T->Src[1]);
  uint32_t *Out = W.T->Out;
  uint64_t Exec = W.exec();
  for (unsigned L = 0; L < W.N; ++L) {
    unsigned From = (Address[L] + uint32_t(I->Imm)) / 4 & (W.N - 1);
    // Inactive lanes give 0, except under the "fetch inactive" form.
    bool Valid = (Exec >> From & 1) || (I->Flags & FlagDppFetchInactive);
    Out[L] = Valid ? Data[From] : 0;
  }
  copyLanes(W.row(I->Dst.Reg), Out, Exec, W.N);
  return I + 1;
}

/// ds_permute: each lane sends to the lane that its address names.
static const Inst *dsPermute(Wave &W, const Inst *I) {
  const uint32_t *Address = sourceRow(W, I->Src[0], W.T->Src[0]);
  const uint32_t *Data = sourceRow(W, I->Src[1], W.T->Src[1]);
  uint32_t *Out = W.T->Out;
  uint64_t Exec = W.exec();
  fillRow(Out, 0, W.N);
  for (unsigned L = 0; L < W.N; ++L)
    if (Exec >> L & 1)
      Out[(Address[L] + uint32_t(I->Imm)) / 4 & (W.N - 1)] = Data[L];
  copyLanes(W.row(I->Dst.Reg), Out, Exec, W.N);
  return I + 1;
}

static const Inst *dsSwizzle(Wave &W, const Inst *I) {
  const uint32_t *Data = sourceRow(W, I->Src[0], W.T->Src[0]);
  uint32_t *Out = W.T->Out;
  uint64_t Exec = W.exec();
  const uint32_t Offset = uint32_t(I->Imm) & 0xffff;
  if (Offset >= 0xe000)
    return fault(W, I, -1, "the FFT mode of ds_swizzle is not modelled");
  for (unsigned L = 0; L < W.N; ++L) {
    unsigned From;
    if (Offset >= 0xc000) {
      // Rotation: bit 10 is the direction, bits 9:5 the distance; the lanes in
      // the mask of bits 4:0 keep their index bits.
      unsigned Keep = Offset & 31, Distance = Offset >> 5 & 31;
      unsigned In = L & 31;
      unsigned Moved = (Offset & 0x400) ? In - Distance : In + Distance;
      From = (L & 32) | (In & Keep) | (Moved & ~Keep & 31);
    } else if (Offset & 0x8000) {
      From = (L & ~3u) | (Offset >> (L % 4 * 2) & 3);
    } else {
      unsigned And = Offset & 31, Or = Offset >> 5 & 31,
               Xor = Offset >> 10 & 31;
      From = (L & 32) | ((((L & 31) & And) | Or) ^ Xor);
    }
    Out[L] = (Exec >> From & 1) ? Data[From] : 0;
  }
  copyLanes(W.row(I->Dst.Reg), Out, Exec, W.N);
  return I + 1;
}

const HandlerInfo Table[] = {
#include "ISA/Instructions/CrossLane.def"
};

Handler indexedHandler() { return runIndexed; }

TableRef<HandlerInfo> crossLaneOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
