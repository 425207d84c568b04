/* Part of the lnbwd project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information. SPDX-License-Identifier:
 * Apache-2.0 WITH LLVM-exception
 *
 * Each workgroup stores a part and draws a ticket; the last one adds the parts
 * up. Without the fence the ticket may be drawn before the part has arrived. */
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

#ifdef WITHOUT_FENCE
#define FENCE(order)
#else
#define FENCE(order) __builtin_amdgcn_fence(order, "agent")
#endif

KERNEL void sum(GLOBAL float *out, const GLOBAL float *in, GLOBAL float *parts,
                GLOBAL unsigned *count, unsigned groups) {
  unsigned group = __builtin_amdgcn_workgroup_id_x();
  parts[group] = 2 * in[group];
  FENCE(__ATOMIC_RELEASE);
  unsigned ticket = __scoped_atomic_fetch_add(count, 1, __ATOMIC_RELAXED,
                                              __MEMORY_SCOPE_DEVICE);
  FENCE(__ATOMIC_ACQUIRE);
  if (ticket != groups - 1)
    return;
  float total = 0;
  for (unsigned i = 0; i < groups; ++i)
    total += parts[i];
  *out = total;
}
