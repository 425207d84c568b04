/* Part of the lnbwd project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information. SPDX-License-Identifier:
 * Apache-2.0 WITH LLVM-exception
 *
 * A kernel that takes a structure by value. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

typedef struct {
  float Factor;
  short Shift;
  double Sum[2];
} Parameters;

KERNEL void apply(GLOBAL float *y, Parameters p) {
  unsigned item = __builtin_amdgcn_workitem_id_x();
  y[item] = p.Factor * (float)item + (float)p.Shift + (float)p.Sum[item & 1];
}
