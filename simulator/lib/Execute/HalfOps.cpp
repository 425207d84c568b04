//===- HalfOps.cpp - Half-precision and packed 16-bit instructions --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the f16 and bf16 vector ALU instructions and of the
// packed 16-bit ones. A result of 16 bits is in the low half with the high
// half zero; a packed kernel finds the selected and negated halves in place.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

static float turns(float X) {
  return float((X - __builtin_floorf(X)) * 6.283185307179586);
}
static uint32_t fract(uint32_t A) {
  float X = half(A);
  uint32_t R = halfBits(X - __builtin_floorf(X));
  return R == 0x3c00 ? 0x3bff : R;
}
static uint32_t frexpMantissaHalf(uint32_t A) {
  if (isSpecial<Number16>(A))
    return A & 0xffff;
  return f32ToHalf((halfToF32(A) & 0x807fffff) | 0x3f000000);
}
static uint32_t frexpExponentHalf(uint32_t A) {
  if (isSpecial<Number16>(A))
    return 0;
  return uint32_t(int(halfToF32(A) >> 23 & 0xff) - 126) & 0xffff;
}

/// The expression sees the lower halves of the sources as A, B and C, then the
/// upper ones; what is beyond 16 bits of them and of the result does not count.

#define PACKED_OF(MODE, ...)                                                   \
  KERNEL(inHalves(                                                             \
      [](uint32_t A, uint32_t B, [[maybe_unused]] uint32_t C) -> uint32_t {    \
        [[maybe_unused]] constexpr bool IEEE = MODE;                           \
        return (__VA_ARGS__);                                                  \
      },                                                                       \
      A, B, C))
#define PACKED(...) PACKED_OF(true, __VA_ARGS__)
#define PACKED_0(...) PACKED_OF(false, __VA_ARGS__)
template <typename F>
static inline uint32_t inHalves(F Half, uint32_t A, uint32_t B, uint32_t C) {
  return (Half(A, B, C) & 0xffff) | Half(A >> 16, B >> 16, C >> 16) << 16;
}

static inline uint32_t fmaBFloat(uint32_t A, uint32_t B, uint32_t C) {
  return bfloatBits(__builtin_fmaf(bfloat(A), bfloat(B), bfloat(C)));
}
static inline uint32_t fmaBFloatOnce(uint32_t A, uint32_t B, uint32_t C) {
  const double P = double(bfloat(A)) * double(bfloat(B));
  return bfloatOf(addToOdd(P, double(bfloat(C))));
}
static inline uint32_t low(uint32_t X) { return X & 0xffff; }

using namespace operand_types;

const LaneOpInfo Table[] = {
#include "ISA/Instructions/Half.def"
};

TableRef<LaneOpInfo> halfOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
