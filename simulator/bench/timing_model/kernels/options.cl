//===- options.cl - Prices of options by Black and Scholes ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// The normal distribution's cumulative density, by a polynomial of degree 5.
static float cumulative(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * __builtin_fabsf(d));
  float value =
      0.39894228f * __builtin_expf(-0.5f * d * d) *
      (k * (0.31938153f +
            k * (-0.356563782f +
                 k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - value : value;
}

KERNEL black_scholes(global float *call, global float *put,
                     global const float *price, global const float *strike,
                     global const float *years, global const float *volatility,
                     float rate, uint count) {
  uint i = globalX();
  if (i >= count)
    return;
  float s = price[i], x = strike[i], t = years[i], v = volatility[i];
  float root = __builtin_sqrtf(t);
  float d1 = (__builtin_logf(s / x) + (rate + 0.5f * v * v) * t) / (v * root);
  float d2 = d1 - v * root;
  float n1 = cumulative(d1), n2 = cumulative(d2);
  float discount = __builtin_expf(-rate * t);
  call[i] = s * n1 - x * discount * n2;
  put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}
