//===- ScalarFloatOps.cpp - Scalar floating-point instructions ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The floating-point SALU of gfx12 (f32 and f16), and its v_s_ instructions,
// which run the transcendental unit on scalars. Rounding is to nearest even
// and denormals are kept; a wave in another mode is stopped.
//
//===----------------------------------------------------------------------===//

#include "Execute/ScalarOps.h"

#define LNBWD_SIM_VARIANT scalar
#include "Execute/LaneMath.h"

#include <cmath>

using namespace lnbwd::sim;
using namespace lnbwd::sim::scalar;

static bool modeSupported(Wave &W, const Inst *I) {
  if (!W.SpecialFP || (W.Mode & 0xff) == 0xf0)
    return true;
  fault(W, I, -1,
        "scalar floating point is only modelled with rounding to nearest even "
        "and with denormals");
  return false;
}

static uint32_t modified(const Wave &W, const Operand &O, uint32_t SignBit) {
  uint32_t X = scalar32(W, O);
  if (O.Mods & ModHigh)
    X >>= 16;
  if (O.Mods & ModAbs)
    X &= ~SignBit;
  return O.Mods & ModNeg ? X ^ SignBit : X;
}

// A, B and C are the sources' bits; C of the accumulating ones is the
// destination.
#define SCALAR_FLOAT(SIGN, ...)                                                \
  [](Wave &W, const Inst *I) -> const Inst * {                                 \
    if (!modeSupported(W, I))                                                  \
      return nullptr;                                                          \
    [[maybe_unused]] const uint32_t A = modified(W, I->Src[0], SIGN),          \
                                    B = modified(W, I->Src[1], SIGN),          \
                                    C = I->NumSrc > 2 ? scalar32(W, I->Src[2]) \
                                                      : W.S[I->Dst.Reg];       \
    W.S[I->Dst.Reg] = (__VA_ARGS__);                                           \
    return I + 1;                                                              \
  }
#define F(X) asF32(X)
#define FLOAT_COMPARE(FROM, SIGN, CONDITION)                                   \
  [](Wave &W, const Inst *I) -> const Inst * {                                 \
    const float A = FROM(modified(W, I->Src[0], SIGN)),                        \
                B = FROM(modified(W, I->Src[1], SIGN));                        \
    W.S[SlotSCC] = (CONDITION) ? 1 : 0;                                        \
    return I + 1;                                                              \
  }

static uint32_t toI32(double X) {
  if (X != X)
    return 0;
  return uint32_t(saturate(X >= 0x1p62    ? INT64_MAX
                           : X <= -0x1p62 ? INT64_MIN
                                          : int64_t(X)));
}
static uint32_t toU32(double X) {
  if (!(X > 0))
    return 0;
  return X >= 4294967296.0 ? ~0u : uint32_t(X);
}

const HandlerInfo Table[] = {
#include "ISA/Instructions/ScalarFloat.def"
};

TableRef<HandlerInfo> lnbwd::sim::scalarFloatOps() { return Table; }
