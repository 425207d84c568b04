//===- LaneMask.h - The lanes of a mask -------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Execute compiles this once for each host instruction set: no function may be
// left that the linker could take one of for all, so that all are inlined.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_LANEMASK_H
#define LNBWD_LIB_SIMULATOR_CORE_LANEMASK_H

#include "llvm/Support/Compiler.h"

#include <cstdint>

namespace lnbwd::sim {

/// The numbers of the bits that are set, in order:
///   for (unsigned L : LaneMask(Exec))
class LaneMask {
public:
  LLVM_ATTRIBUTE_ALWAYS_INLINE explicit LaneMask(uint64_t Bits) : Bits(Bits) {}

  class Iterator {
  public:
    LLVM_ATTRIBUTE_ALWAYS_INLINE explicit Iterator(uint64_t Left)
        : Left(Left) {}
    LLVM_ATTRIBUTE_ALWAYS_INLINE unsigned operator*() const {
      return unsigned(__builtin_ctzll(Left));
    }
    LLVM_ATTRIBUTE_ALWAYS_INLINE Iterator &operator++() {
      Left &= Left - 1;
      return *this;
    }
    LLVM_ATTRIBUTE_ALWAYS_INLINE bool operator!=(const Iterator &Other) const {
      return Left != Other.Left;
    }

  private:
    uint64_t Left;
  };
  LLVM_ATTRIBUTE_ALWAYS_INLINE Iterator begin() const { return Iterator(Bits); }
  LLVM_ATTRIBUTE_ALWAYS_INLINE Iterator end() const { return Iterator(0); }

private:
  uint64_t Bits;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_LANEMASK_H
