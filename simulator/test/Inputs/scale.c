/* Part of the lnbwd project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information. SPDX-License-Identifier:
 * Apache-2.0 WITH LLVM-exception
 *
 * A kernel that is right, and ones that are not. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

static unsigned item(void) {
  return __builtin_amdgcn_workgroup_id_x() * 64 +
         __builtin_amdgcn_workitem_id_x();
}

KERNEL void scale(GLOBAL float *y, const GLOBAL float *x, float factor,
                  unsigned count) {
  if (item() < count)
    y[item()] = factor * x[item()];
}

KERNEL void unbounded(GLOBAL float *y, const GLOBAL float *x, float factor) {
  y[item()] = factor * x[item()];
}

KERNEL void same_place(GLOBAL float *y) {
  y[__builtin_amdgcn_workitem_id_x()] =
      (float)__builtin_amdgcn_workgroup_id_x();
}

KERNEL void forever(void) {
  for (;;)
    __builtin_amdgcn_s_sleep(1);
}
