//===- butterflies.cl - Transforms and sorts in strided pairs -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// One step of the Walsh-Hadamard transform: sum and difference of elements
/// `step` apart.
KERNEL walsh(global float *x, uint step) {
  uint i = globalX();
  uint low = 2 * step * (i / step) + i % step, high = low + step;
  float a = x[low], b = x[high];
  x[low] = a + b;
  x[high] = a - b;
}

/// One pass of a bitonic sort: compares elements 2^(stage - pass) apart.
KERNEL bitonic(global uint *x, uint stage, uint pass) {
  uint i = globalX();
  uint distance = 1u << (stage - pass);
  uint low = (i / distance) * 2 * distance + i % distance;
  uint high = low + distance;
  uint a = x[low], b = x[high];
  bool up = ((i >> stage) & 1) == 0;
  x[low] = up == (a < b) ? a : b;
  x[high] = up == (a < b) ? b : a;
}
