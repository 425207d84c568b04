//===- ExecTable.h - The functions that execute instructions ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector instructions and memory are compiled once for each host instruction
// set that we distinguish ("variant": baseline x86-64, AVX2 with FMA), because
// their loops over the lanes are what the host's vector unit is for. A variant
// offers its functions through one table, which has the scalar side, too.
//
// Code of a variant keeps everything in the variant's namespace and uses no
// inline functions of the standard library: the linker would merge those across
// the variants and an old processor might get the new one's code.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_EXECTABLE_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_EXECTABLE_H

#include "Core/Instruction.h"

#include <vector>

/// Of a row of ISA/Instructions what executes it.
#define HANDLER(FACTS, NAMES, ...) {NAMES, __VA_ARGS__},

namespace lnbwd::sim {

namespace baseline {
const ExecTable &execTable();
} // namespace baseline
namespace avx2 {
const ExecTable &execTable();
} // namespace avx2

/// The table for this host's processor. LNBWD_SIM_ISA=baseline|avx2 chooses
/// another one that it can run.
const ExecTable &hostExecTable();
/// All tables that this host's processor can run; the tests go through them.
std::vector<const ExecTable *> runnableExecTables();

// The scalar side, which has no variants.
TableRef<HandlerInfo> scalarAluOps();
TableRef<HandlerInfo> scalarFloatOps();
TableRef<HandlerInfo> controlOps();
const Inst *scalarLoad(Wave &W, const Inst *I);
const Inst *scalarBufferLoad(Wave &W, const Inst *I);
const Inst *copyTensor(Wave &W, const Inst *I);
/// A barrier in LDS after so many arrivals. It has 29 bits of what is pending,
/// three of the phase, and what is pending at the beginning of a phase.
uint64_t barrierAfter(uint64_t State, uint64_t Arrivals);

} // namespace lnbwd::sim

#ifdef LNBWD_SIM_VARIANT
namespace lnbwd::sim::LNBWD_SIM_VARIANT {
TableRef<LaneOpInfo> integerOps();
TableRef<LaneOpInfo> floatOps();
TableRef<LaneOpInfo> doubleOps();
TableRef<LaneOpInfo> halfOps();
TableRef<LaneOpInfo> convertOps();
TableRef<LaneOpInfo> compareOps();
TableRef<HandlerInfo> crossLaneOps();
Handler indexedHandler();
const Inst *multiplyMatrices(Wave &W, const Inst *I);
const Inst *convertSmall(Wave &W, const Inst *I);
void addGlobalHandlers(ExecTable &Table);
void addFlatHandlers(ExecTable &Table);
void addBufferHandlers(ExecTable &Table);
void addLdsHandlers(ExecTable &Table);
} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
#endif

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_EXECTABLE_H
