//===- LaneSupport.h - Rows, lane masks and operands ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the execution functions of vector instructions share: a row for each
// kind of source operand, and the way between lane masks and rows.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_LANESUPPORT_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_LANESUPPORT_H

#include "Core/Execution.h"
#include "Core/Wave.h"
#include "Execute/LaneMath.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// One bit for each lane whose row entry is ~0 (or has its sign bit set).
static inline uint64_t packMask(const uint32_t *Row, unsigned N) {
  uint64_t Mask = 0;
#if defined(__AVX2__)
  for (unsigned L = 0; L < N; L += 8)
    Mask |= uint64_t(uint32_t(_mm256_movemask_ps(
                _mm256_loadu_ps(reinterpret_cast<const float *>(Row + L)))))
            << L;
#elif defined(__SSE2__)
  for (unsigned L = 0; L < N; L += 4)
    Mask |= uint64_t(uint32_t(_mm_movemask_ps(
                _mm_loadu_ps(reinterpret_cast<const float *>(Row + L)))))
            << L;
#else
  for (unsigned L = 0; L < N; ++L)
    Mask |= uint64_t(Row[L] >> 31) << L;
#endif
  return Mask;
}

/// The inverse: 0 or ~0 for each lane.
static inline void expandMask(uint32_t *Row, uint64_t Mask, unsigned N) {
  for (unsigned Base = 0; Base < N; Base += 32) {
    const uint32_t Word = uint32_t(Mask >> Base);
    uint32_t *D = Row + Base;
    LNBWD_INDEPENDENT
    for (uint32_t L = 0; L < 32; ++L)
      D[L] = 0u - (Word >> L & 1);
  }
}

/// Copies the lanes of the mask.
static inline void copyLanes(uint32_t *To, const uint32_t *From, uint64_t Mask,
                             unsigned N) {
#if defined(__AVX2__)
  // Clang makes a choice between what is stored and what is there a masked
  // store, which is slow on many hosts, but not if a sign bit chooses.
  const __m256i Up = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
  for (unsigned L = 0; L < N; L += 8) {
    float *D = reinterpret_cast<float *>(To + L);
    const __m256i Chosen =
        _mm256_sllv_epi32(_mm256_set1_epi32(int(Mask >> L)), Up);
    _mm256_storeu_ps(
        D, _mm256_blendv_ps(
               _mm256_loadu_ps(D),
               _mm256_loadu_ps(reinterpret_cast<const float *>(From + L)),
               _mm256_castsi256_ps(Chosen)));
  }
#else
  for (unsigned Base = 0; Base < N; Base += 32) {
    const uint32_t Word = uint32_t(Mask >> Base);
    LNBWD_INDEPENDENT
    for (uint32_t L = 0; L < 32; ++L) {
      const uint32_t Take = 0u - (Word >> L & 1);
      To[Base + L] = (From[Base + L] & Take) | (To[Base + L] & ~Take);
    }
  }
#endif
}

static inline void copyRow(uint32_t *D, const uint32_t *S, unsigned N) {
  std::memcpy(D, S, N * 4);
}

static inline void fillRow(uint32_t *D, uint32_t X, unsigned N) {
  FOR_LANES(L, N)
  D[L] = X;
}

/// The row (or two) of a source operand, in Temp if it has to be made.
static inline const uint32_t *sourceRow(Wave &W, const Operand &O,
                                        uint32_t *Temp) {
  switch (O.Kind) {
  case OperandKind::VGPR:
    return W.row(O.Reg);
  case OperandKind::Constant:
    return O.Lanes;
  case OperandKind::Mask:
    expandMask(Temp, W.mask(O.Reg), W.N);
    return Temp;
  case OperandKind::SGPR:
    fillRow(Temp, W.S[O.Reg], W.N);
    if (O.Dwords > 1)
      fillRow(Temp + W.N, W.S[O.Reg + 1], W.N);
    return Temp;
  case OperandKind::None:
    break;
  }
  return Temp;
}

static inline unsigned countBits(uint64_t X) {
  return unsigned(__builtin_popcountll(X));
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_LANESUPPORT_H
