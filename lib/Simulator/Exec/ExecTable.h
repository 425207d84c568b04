//===- ExecTable.h - The functions that execute instructions ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything under Exec/ is compiled once for each host instruction set that we
// distinguish ("variant": baseline x86-64, AVX2 with FMA), because its
// loops over the lanes are what the host's vector unit is for. A variant offers
// its functions through one table; the decoder takes them from there.
//
// Code in Exec/ keeps everything in the variant's namespace and uses no inline
// functions of the standard library: the linker would merge those across the
// variants and an old processor might get the new one's code.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXEC_EXECTABLE_H
#define LNBWD_LIB_SIMULATOR_EXEC_EXECTABLE_H

#include "../Instruction.h"

namespace lnbwd::sim {

enum LaneOpFlag : uint16_t {
  LaneMaskResult = 1,     ///< the only result is a lane mask (compare)
  LaneExecResult = 2,     ///< the mask also goes to EXEC (v_cmpx)
  LaneExtraMask = 4,      ///< a mask besides the vector result (carry)
  LaneAccumulate = 8,     ///< the destination is also the last source
  LaneImplicitVCC = 16,   ///< VCC is the last source
  LanePreservesHigh = 32, ///< keeps the high half on gfx9, too
  LaneHighResult = 64,    ///< v_fma_mixhi: the result goes to the high half
  LaneFloat = 128,        ///< depends on rounding and denormal mode
};

/// One vector instruction, the same in every lane.
struct LaneOpInfo {
  const char *Name;
  OperandType Dst;
  OperandType Src[4];
  uint16_t Flags;
  LaneKernel Kernel;
  LaneKernel Alternative; ///< with MODE.IEEE clear, where it differs, or null
  LaneKernel Clamped;     ///< integer saturation under `clamp`, or null
};

/// An instruction with an execution function of its own.
struct HandlerInfo {
  const char *Name;
  Handler Run;
};

enum class MemoryOp : uint8_t {
  GlobalLoad,
  GlobalStore,
  GlobalAtomic,
  FlatLoad,
  FlatStore,
  FlatAtomic,
  ScratchLoad,
  ScratchStore,
  BufferLoad,
  BufferStore,
  BufferAtomic,
  LoadToLds,
  DsLoad,
  DsStore,
  DsLoad2,
  DsStore2,
  DsAtomic,
  Count
};

enum class AtomicOp : uint8_t {
  Swap,
  CompareSwap,
  Add,
  Sub,
  ReverseSub,
  SMin,
  UMin,
  SMax,
  UMax,
  And,
  Or,
  Xor,
  Inc,
  Dec,
  AddF32,
  AddF64,
  MinF32,
  MaxF32,
  MinF64,
  MaxF64,
  PkAddF16,
  PkAddBF16,
  SubClamp,
  CondSub,
};

template <typename T> struct TableRef {
  const T *Begin;
  unsigned Size;
};

struct ExecTable {
  const char *Name;
  TableRef<LaneOpInfo> LaneOps[10];
  unsigned NumLaneOpTables;
  TableRef<HandlerInfo> CrossLane;
  Handler RunLane;     ///< no modifiers at all
  Handler RunLaneSlow; ///< DPP, SDWA, modifiers, unusual float mode
  Handler RunWide;     ///< results of several rows, no modifiers
  Handler RunMask;     ///< compares without modifiers
  Handler RunMatrix;
  Handler RunIndexed; ///< under s_set_gpr_idx_on; calls Inst::Inner
  Handler Memory[unsigned(MemoryOp::Count)];
};

namespace baseline {
const ExecTable &execTable();
} // namespace baseline
namespace avx2 {
const ExecTable &execTable();
} // namespace avx2

} // namespace lnbwd::sim

#ifdef LNBWD_SIM_VARIANT
namespace lnbwd::sim::LNBWD_SIM_VARIANT {
TableRef<LaneOpInfo> integerOps();
TableRef<LaneOpInfo> wideIntegerOps();
TableRef<LaneOpInfo> floatOps();
TableRef<LaneOpInfo> doubleOps();
TableRef<LaneOpInfo> halfOps();
TableRef<LaneOpInfo> convertOps();
TableRef<LaneOpInfo> compareOps();
TableRef<HandlerInfo> crossLaneOps();
Handler indexedHandler();
const Inst *multiplyMatrices(Wave &W, const Inst *I);
void addMemoryHandlers(ExecTable &Table);
void addFlatHandlers(ExecTable &Table);
void addBufferHandlers(ExecTable &Table);
void addLdsHandlers(ExecTable &Table);
} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
#endif

#endif // LNBWD_LIB_SIMULATOR_EXEC_EXECTABLE_H
