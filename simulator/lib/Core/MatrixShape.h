//===- MatrixShape.h - What a matrix instruction multiplies -----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix instruction as it is executed: the types, and for every element of
// the matrices the lane and the place in the lane's registers. The decoder
// makes it once; execution and the checks follow it, and know nothing of
// layouts.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_MATRIXSHAPE_H
#define LNBWD_LIB_SIMULATOR_CORE_MATRIXSHAPE_H

#include "Core/Instruction.h"

#include <cstdint>
#include <vector>

namespace lnbwd::sim {

/// The Fnuz kinds are fp8 and bf8 without infinities and with one zero; FP6 has
/// 2 bits of exponent, BF6 3.
enum class MatrixType : uint8_t {
  F16,
  BF16,
  F32,
  XF32, ///< f32 of whose significand 10 bits count
  F64,
  I4,
  I8,
  I32,
  FP8,
  BF8,
  FP8Fnuz,
  BF8Fnuz,
  FP6,
  BF6,
  FP4
};

constexpr unsigned bitsOf(MatrixType T) {
  switch (T) {
  case MatrixType::F64:
    return 64;
  case MatrixType::F32:
  case MatrixType::XF32:
  case MatrixType::I32:
    return 32;
  case MatrixType::F16:
  case MatrixType::BF16:
    return 16;
  case MatrixType::FP6:
  case MatrixType::BF6:
    return 6;
  case MatrixType::I4:
  case MatrixType::FP4:
    return 4;
  default:
    return 8;
  }
}
constexpr bool isInteger(MatrixType T) {
  return T == MatrixType::I4 || T == MatrixType::I8;
}

/// Where an element lies: the bits [Bit, Bit + size) of the operand's registers
/// in a lane, counted from its first register.
struct ElementLocation {
  uint8_t Lane;
  uint16_t Bit;
};

/// M x K by K x M, Blocks of it. Src[0] and Src[1] are the factors, Src[2] is
/// the addend. With Sparse Src[3] is the index, with Scaled Src[3] and ScaleB
/// are the scales.
struct MatrixShape {
  MatrixType A = MatrixType::F32, B = MatrixType::F32, Result = MatrixType::F32;
  MatrixType Addend = MatrixType::F32; ///< the result's, or a wider one
  uint8_t M = 0, K = 0, Blocks = 1;
  /// Of four elements in a row of A two are kept, and the index says which.
  bool Sparse = false;
  bool SignedA = true, SignedB = true;
  bool Clamp = false; ///< integer results saturate
  /// Subnormal factors, addends and results of f32 count as 0.
  bool FlushesSubnormals = false;
  bool RoundsDown = false; ///< inexact results are smaller (RoundingVariable)
  /// Results of 16 bits have a register each, in its lower or upper half.
  bool OneHalf = false, HighHalf = false;
  /// By source: elements at even and odd places are negated; of the addend,
  /// NegLo negates and NegHi takes the absolute value before.
  uint8_t NegLo = 0, NegHi = 0;
  uint8_t IndexShift = 0; ///< the first bit of the index in its register
  bool Scaled = false;
  /// A lane has all scales of a row, byte after byte (CDNA5), not one of them.
  bool ScalesByLane = false;
  uint8_t ScaleBlock = 32; ///< elements along K that share a scale
  uint8_t ScaleLane[2] = {}, ScaleShift[2] = {}; ///< first ones, of A and B
  Operand ScaleB;

  /// The addend of the result at a place.
  ElementLocation addendOf(const ElementLocation &D) const {
    return {D.Lane, uint16_t(D.Bit * bitsOf(Addend) / bitsOf(Result))};
  }
  /// Columns of A as it is stored.
  unsigned keptK() const { return Sparse ? K / 2u : K; }
  /// The scale of row (or column) I, depth At of a factor, which has 8 bits.
  ElementLocation scaleOf(unsigned Factor, unsigned I, unsigned At) const {
    const unsigned Block = At / ScaleBlock;
    return {uint8_t(ScaleLane[Factor] + I + (ScalesByLane ? 0 : M * Block)),
            uint16_t(ScaleShift[Factor] + (ScalesByLane ? 8 * Block : 0))};
  }
  /// Element (i, k) of block b of A: (b M + i) keptK() + k.
  std::vector<ElementLocation> LocationsA;
  /// Element (k, j) of block b of B: (b K + k) M + j.
  std::vector<ElementLocation> LocationsB;
  /// Element (i, j) of block b of the result: (b M + i) M + j.
  std::vector<ElementLocation> LocationsD;
};

/// A conversion to or from fp8, bf8, fp6, bf6 and fp4, or one that rounds by a
/// random number.
/// Count elements, which lie one after the other from SourceBit of Src[0] on
/// (the second half of them in Src[1] with TwoSources), go to those from
/// ResultBit on. Other bits of the result's registers stay.
struct SmallConversion {
  MatrixType From = MatrixType::F32, To = MatrixType::F32;
  uint8_t Count = 1;
  uint8_t SourceBit = 0, ResultBit = 0;
  bool TwoSources = false;
  /// Which source is the scale: a power of two in the exponent of an f32, by
  /// which what is widened is multiplied, and what is narrowed divided; or the
  /// random number; or -1.
  int8_t Scale = -1, Random = -1;
  /// The scale is a byte (E8M0) of lane L % 16: the first one, or of a format
  /// of less than 8 bits, for L from 16 on, the second.
  bool ScaleBytes = false;

  unsigned scaleLane(unsigned L) const { return ScaleBytes ? L % 16 : L; }
  unsigned scaleBit(unsigned L) const {
    return !ScaleBytes ? 23 : bitsOf(From) < 8 && L >= 16 ? 8 : 0;
  }
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_MATRIXSHAPE_H
