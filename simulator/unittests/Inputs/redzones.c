/*===- redzones.c - Device variables side by side -----------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Kernels that access tables in the code object's image; which element comes
|* from the host, and one too many lies in the next table.
|*
\*===----------------------------------------------------------------------===*/

#define KERNEL __attribute__((amdgpu_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))
#define ITEM __builtin_amdgcn_workitem_id_x()

GLOBAL int First[64] = {1};
GLOBAL int Second[64] = {2};
static const CONSTANT int Third[4] = {1, 2, 3, 4};
static const CONSTANT int Fourth[4] = {5, 6, 7, 8};

KERNEL void load_item(int GLOBAL *y, unsigned n) {
  y[ITEM] = First[ITEM + n] + Second[ITEM];
}
KERNEL void store_item(int GLOBAL *y, unsigned n) {
  First[ITEM + n] = y[ITEM];
  Second[ITEM] = 0;
}
KERNEL void load_uniform(int GLOBAL *y, unsigned n) {
  y[ITEM] = Third[n] + Fourth[3];
}
