//===- ScalarOps.h - Scalar instructions ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of instructions that work on scalar registers; they are the same
// for every host processor, unlike those under Exec/.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_SCALAROPS_H
#define LNBWD_LIB_SIMULATOR_SCALAROPS_H

#include "Exec/ExecTable.h"
#include "Wave.h"

namespace lnbwd::sim {

TableRef<HandlerInfo> scalarAluOps();
TableRef<HandlerInfo> scalarFloatOps();
TableRef<HandlerInfo> controlOps();
/// s_load and s_buffer_load; the decoder sets element size and count.
const Inst *scalarLoad(Wave &W, const Inst *I);
const Inst *scalarBufferLoad(Wave &W, const Inst *I);

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

#endif // LNBWD_LIB_SIMULATOR_SCALAROPS_H
