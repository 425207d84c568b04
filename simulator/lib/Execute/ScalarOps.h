//===- ScalarOps.h - Scalar instructions ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of instructions that work on scalar registers; they are the same
// for every host processor, unlike those of a variant.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_SCALAROPS_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_SCALAROPS_H

#include "Core/Execution.h"
#include "Core/Wave.h"
#include "Execute/ExecTable.h"

namespace lnbwd::sim {

inline uint32_t scalar32(const Wave &W, const Operand &O) {
  return O.Kind == OperandKind::SGPR ? W.S[O.Reg] : uint32_t(O.Value);
}
inline uint64_t scalar64(const Wave &W, const Operand &O) {
  if (O.Kind != OperandKind::SGPR)
    return O.Value;
  // A 32-bit operand (SCC, M0, null) in a 64-bit place.
  return O.Dwords > 1 ? W.scalar64(O.Reg) : W.S[O.Reg];
}

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_SCALAROPS_H
