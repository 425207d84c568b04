//===- names.cpp - Errors in functions that were inlined ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a table of 64 elements in LDS: the kernel reads those of other waves, and,
// if it is to, an element that the table does not have.
//
//===----------------------------------------------------------------------===//

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define INLINE static inline __attribute__((always_inline))

namespace tables {
SHARED int Table[128];

INLINE int element(unsigned Number) {
  if (Number >= 128)
    __builtin_verbose_trap("tables", "no such element");
  return Table[Number];
}

INLINE int sum(unsigned Number) { // of two
  return element(Number) + element(Number ^ 64);
}

__attribute__((amdgpu_kernel)) void addUp(GLOBAL int *Out, unsigned First) {
  const unsigned Item = __builtin_amdgcn_workitem_id_x();
  Table[Item] = Item;
  Out[Item] = sum(Item + First);
}
} // namespace tables
