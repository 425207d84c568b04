/* Part of the lnbwd project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information. SPDX-License-Identifier:
 * Apache-2.0 WITH LLVM-exception
 *
 * Sums in an order that the kernel leaves open, and ones in dynamic LDS. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

typedef _Float16 half2 __attribute__((ext_vector_type(2)));

/* One sum of all work-items: twice in f16, in f32 and, by thousandths, in
   integers. */
KERNEL void sum(GLOBAL half2 *halves, GLOBAL float *floats, GLOBAL int *whole,
                const GLOBAL float *x) {
  const unsigned i =
      __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  const _Float16 h = (_Float16)x[i];
  __builtin_amdgcn_global_atomic_fadd_v2f16(halves, (half2){h, h});
  __scoped_atomic_fetch_add(floats, x[i], __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_add(whole, (int)(1000 * x[i]), __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
}

/* The workgroup that comes last leaves its number. */
KERNEL void last(GLOBAL int *y) {
  __scoped_atomic_store_n(y, (int)__builtin_amdgcn_workgroup_id_x(),
                          __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

extern __attribute__((address_space(3))) float Dynamic[];

KERNEL void reversed(GLOBAL float *y, const GLOBAL float *x) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  Dynamic[i] = x[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  y[i] = Dynamic[255 - i];
}

KERNEL void far(GLOBAL float *y) { y[0] = Dynamic[1 << 20]; }
