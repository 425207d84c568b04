//===- bandwidth.cl - Reading the same bytes again and again --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// Every workgroup adds up the whole array, `passes` times. A pass begins where
/// the last one has not, so that it is read anew.
KERNEL read_again(global float *sums, global const float *x, uint count,
                  uint passes) {
  float sum = 0;
  for (uint pass = 0; pass < passes; ++pass) {
    for (uint i = localX(); i < count; i += sizeX())
      sum += x[i];
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  }
  sums[globalX()] = sum;
}
