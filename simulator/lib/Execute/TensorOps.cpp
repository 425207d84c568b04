//===- TensorOps.cpp - CDNA5's tensor data mover --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tensor_load_to_lds and tensor_store_from_lds copy a tile of up to five
// dimensions between global memory and LDS, by a descriptor in scalar
// registers, once for the wave and whatever EXEC is. In LDS the elements lie
// side by side, the first dimension innermost, but for the gaps that a load may
// leave. Elements beyond the tensor are loaded as zeros, and not stored.
//
//===----------------------------------------------------------------------===//

#include "Core/Launch.h"
#include "Execute/ExecTable.h"
#include "Execute/ScalarOps.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include <algorithm>

using namespace lnbwd::sim;

uint64_t lnbwd::sim::barrierAfter(uint64_t State, uint64_t Arrivals) {
  constexpr unsigned Width = 29;
  const uint64_t Pending = State & ((1u << Width) - 1),
                 Phase = State >> Width & 7;
  const uint64_t Period = (State >> 32 & 0xffff) + 1;
  if (Arrivals <= Pending)
    return State - Arrivals;
  const uint64_t Beyond = Arrivals - Pending - 1;
  return (State & ~0xffffffffull) |
         ((Phase - 1 - Beyond / Period) & 7) << Width |
         (Period - 1 - Beyond % Period);
}

namespace {
class TensorCopy {
public:
  TensorCopy(Wave &W, const Inst *I);
  /// The reason why the descriptor is refused, or null.
  const char *problem() const;
  /// False: the wave has been stopped.
  bool run();

private:
  static constexpr unsigned MostDimensions = 5;
  uint32_t group(unsigned Group, unsigned Dword) const {
    const Operand &O = I->Src[Group];
    return O.Kind == OperandKind::SGPR ? W.S[O.Reg + Dword] : 0;
  }
  /// A number of 48 or 32 bits from bit Shift of a dword on.
  uint64_t wide(unsigned Group, unsigned Dword, unsigned Shift) const {
    return (group(Group, Dword) | uint64_t(group(Group, Dword + 1)) << 32) >>
               Shift &
           0xffffffffffff;
  }
  uint32_t long32(unsigned Group, unsigned Dword) const {
    return uint32_t(wide(Group, Dword, 16));
  }
  unsigned rowIndex(unsigned K) const;
  unsigned mostIndices() const { return WideIndices ? 8 : 16; }
  bool leavesTensor(uint64_t Begin) const;
  bool dense();
  bool gather();
  bool row(uint64_t Address, uint64_t Elements);
  bool piece(uint64_t Address, uint64_t GlobalBytes, uint64_t LdsBytes);
  bool arrive() const;

  Wave &W;
  const Inst *I;
  const bool Loads;
  unsigned Count, ElementBytes;
  bool Gathers, WideIndices, Iterates, Pads, Arrives;
  uint32_t RestoreFields, Type, WorkgroupMask;
  uint64_t Global, Lds;
  /// By dimension, in elements. A tile of 0 is an unused dimension.
  uint64_t Tile[MostDimensions], Tensor[MostDimensions];
  uint64_t Stride[MostDimensions];
  uint64_t PadInterval, PadBytes, SincePad = 0; ///< in bytes
};
} // namespace

TensorCopy::TensorCopy(Wave &W, const Inst *I)
    : W(W), I(I), Loads(I->Record->Facts.Memory.ToLds) {
  const uint32_t Mode = group(0, 0), Shape = group(1, 0);
  Count = Mode & 3;
  RestoreFields = Mode >> 2 & 0x1ff;
  WideIndices = Mode >> 30 & 1;
  Gathers = Mode >> 31;
  Lds = group(0, 1);
  Global = group(0, 2) | uint64_t(group(0, 3) & 0x1ffffff) << 32;
  Type = group(0, 3) >> 30;
  WorkgroupMask = Shape & 0xffff;
  ElementBytes = 1u << (Shape >> 16 & 3);
  Arrives = Shape >> 18 & 1;
  Iterates = (Shape >> 19 & 1) && !Gathers;
  Pads = (Shape >> 20 & 1) && Loads;
  PadInterval = 8ull << (Shape >> 22 & 7);
  PadBytes = 4 * ((Shape >> 25) + 1);
  const uint64_t Tiles[] = {group(1, 3) >> 16, group(1, 4) & 0xffff,
                            group(1, 4) >> 16, group(2, 3) >> 16,
                            group(3, 2) >> 16};
  const uint64_t Tensors[] = {long32(1, 1), long32(1, 2), group(2, 0),
                              group(2, 1), long32(3, 1)};
  const uint64_t Strides[] = {1, wide(1, 5, 0),
                              group(1, 6) >> 16 | uint64_t(group(1, 7)) << 16,
                              wide(2, 2, 0), wide(3, 0, 0)};
  std::copy_n(Tiles, MostDimensions, Tile);
  std::copy_n(Tensors, MostDimensions, Tensor);
  std::copy_n(Strides, MostDimensions, Stride);
}

const char *TensorCopy::problem() const {
  if (Count > 1 || RestoreFields)
    return "the tensor's descriptor restores a context, which is not modelled";
  if (!Count)
    return nullptr;
  if (Type != 2)
    return "the type in the tensor's descriptor is not 2";
  if (WorkgroupMask && Loads && !W.WG->Of)
    return "the tensor's descriptor names workgroups of a cluster, and the "
           "launch has none";
  if (Iterates && Tile[3] > 255)
    return "more than 256 iterations of a tensor's descriptor are not modelled";
  if (Iterates && Tile[4])
    return "the tensor's descriptor iterates over more than three dimensions";
  if (Pads && Tile[0] * ElementBytes % 4)
    return "the tensor's descriptor pads rows that are not whole dwords";
  if (Gathers && Tile[1] > mostIndices())
    return "the tensor's descriptor has more rows than indices";
  return nullptr;
}

/// Bytes side by side in both memories.
bool TensorCopy::piece(uint64_t Address, uint64_t GlobalBytes,
                       uint64_t LdsBytes) {
  const auto Bytes = unsigned(LdsBytes);
  if (Lds + LdsBytes > W.WG->LdsSize) {
    faultLds(W, I, -1, Lds, Bytes);
    return false;
  }
  if (GlobalBytes && !inRegion(W.LastRegion, Address, GlobalBytes)) {
    const Region *R = findRegion(W, Address, GlobalBytes);
    if (!R) {
      faultAddress(W, I, -1, Address, unsigned(GlobalBytes), !Loads);
      return false;
    }
    W.LastRegion = *R;
  }
  if (W.Observer &&
      !W.Observer->blockAccess(I, Address, GlobalBytes, uint32_t(Lds), Bytes))
    return false;
  uint8_t *Here = W.WG->Lds + Lds;
  void *There = reinterpret_cast<void *>(Address);
  (Loads ? W.Count.GlobalRead : W.Count.GlobalWritten) += GlobalBytes;
  W.Count.LdsBytes += LdsBytes;
  if (!Loads) {
    std::memcpy(There, Here, GlobalBytes);
    return true;
  }
  if (GlobalBytes)
    std::memcpy(Here, There, GlobalBytes);
  std::memset(Here + GlobalBytes, 0, LdsBytes - GlobalBytes);
  return true;
}

/// A row of the tile, of which so many elements are in the tensor.
bool TensorCopy::row(uint64_t Address, uint64_t Elements) {
  const uint64_t End = Tile[0] * ElementBytes,
                 Valid = std::min(Elements, Tile[0]) * ElementBytes;
  if (Lds > W.WG->LdsSize) {
    faultLds(W, I, -1, Lds, unsigned(End));
    return false;
  }
  for (uint64_t At = 0; At < End;) {
    uint64_t Bytes = End - At;
    if (Pads)
      Bytes = std::min(Bytes, PadInterval - SincePad);
    const uint64_t There = std::min(Bytes, Valid - std::min(At, Valid));
    if ((Loads || There) && !piece(Address + At, There, Loads ? Bytes : There))
      return false;
    At += Bytes;
    Lds += Bytes;
    SincePad += Bytes;
    if (Pads && SincePad == PadInterval) {
      SincePad = 0;
      Lds += PadBytes;
    }
  }
  return true;
}

/// Whether a tile that begins so many elements after the tensor has elements
/// outside it.
bool TensorCopy::leavesTensor(uint64_t Begin) const {
  for (unsigned D = 3; D-- > 0;) {
    const uint64_t Step = D ? Stride[D] : 1;
    if (!Tile[D] || !Step)
      continue;
    if (Begin / Step + Tile[D] > Tensor[D])
      return true;
    Begin %= Step;
  }
  return false;
}

bool TensorCopy::dense() {
  const uint64_t LdsBegin = Lds, GlobalStep = Stride[3], LdsStep = Tensor[3];
  const uint64_t Rounds = Iterates ? Tile[3] + 1 : 1;
  if (Iterates)
    Tile[3] = 0;
  for (uint64_t Round = 0; Round < Rounds; ++Round) {
    const uint64_t Begin = Global + Round * GlobalStep * ElementBytes;
    // Sources differ on whether what is outside is there: each round anew, or
    // from the first one's tensor.
    if (Round && leavesTensor(Round * GlobalStep)) {
      fault(W, I, -1, "a round that leaves the tensor is not modelled");
      return false;
    }
    if (Iterates)
      Lds = LdsBegin + Round * LdsStep * ElementBytes;
    SincePad = 0;
    uint64_t At[MostDimensions] = {};
    for (unsigned D = 0; D < MostDimensions;) {
      uint64_t Offset = 0;
      bool Inside = true;
      for (D = 1; D < MostDimensions; ++D) {
        Offset += At[D] * Stride[D];
        Inside &= !Tile[D] || At[D] < Tensor[D];
      }
      if (!row(Begin + Offset * ElementBytes, Inside ? Tensor[0] : 0))
        return false;
      // The next row.
      for (D = 1; D < MostDimensions && ++At[D] >= Tile[D]; ++D)
        At[D] = 0;
    }
  }
  return true;
}

unsigned TensorCopy::rowIndex(unsigned K) const {
  const unsigned InGroup = mostIndices() / 2;
  const unsigned Group = 2 + K / InGroup, At = K % InGroup;
  return WideIndices ? group(Group, At)
                     : group(Group, At / 2) >> At % 2 * 16 & 0xffff;
}

bool TensorCopy::gather() {
  bool Ascends = true, Inside = true;
  for (unsigned K = 0; K < Tile[1]; ++K) {
    Ascends &= !K || rowIndex(K) >= rowIndex(K - 1);
    Inside &= rowIndex(K) < Tensor[1];
  }
  if (!Ascends && !Inside) {
    fault(W, I, -1,
          "indices of the tensor's rows are out of bounds and do not ascend, "
          "so that hardware may find the bounds wrong");
    return false;
  }
  for (unsigned K = 0; K < Tile[1]; ++K) {
    const uint64_t Index = rowIndex(K);
    if (!row(Global + Index * Stride[1] * ElementBytes,
             Index < Tensor[1] ? Tensor[0] : 0))
      return false;
  }
  return true;
}

/// One arrival at the barrier in LDS that the descriptor names.
bool TensorCopy::arrive() const {
  const uint64_t At = (group(1, 1) & 0xffff) * 8;
  if (At + 8 > W.WG->LdsSize) {
    faultLds(W, I, -1, At, 8);
    return false;
  }
  if (W.Observer && !W.Observer->arrival(I, uint32_t(At)))
    return false;
  uint64_t State;
  std::memcpy(&State, W.WG->Lds + At, 8);
  State = barrierAfter(State, 1);
  std::memcpy(W.WG->Lds + At, &State, 8);
  return true;
}

bool TensorCopy::run() {
  if (!Count)
    return true;
  if (Loads && !joinMulticast(W, I, WorkgroupMask))
    return false;
  const bool Copied = !Tile[0] || (Gathers ? gather() : dense());
  return Copied && (!Arrives || arrive());
}

const Inst *lnbwd::sim::copyTensor(Wave &W, const Inst *I) {
  TensorCopy Copy(W, I);
  if (const char *Problem = Copy.problem())
    return fault(W, I, -1, Problem);
  return Copy.run() ? I + 1 : nullptr;
}
