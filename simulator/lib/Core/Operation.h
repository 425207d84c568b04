//===- Operation.h - What executes an instruction ---------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form in which functions that execute instructions are offered to the
// decoder, which takes them from there by name. The tables are under Execute/.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_OPERATION_H
#define LNBWD_LIB_SIMULATOR_CORE_OPERATION_H

#include "Core/Instruction.h"

#include "lnbwd/ISA/InstructionFacts.h"

#include <array>

namespace lnbwd::sim {

enum LaneOpFlag : uint16_t {
  LaneMaskResult = 1,     ///< the only result is a lane mask (compare)
  LaneExecResult = 2,     ///< the mask also goes to EXEC (v_cmpx)
  LaneExtraMask = 4,      ///< a mask besides the vector result (carry)
  LaneAccumulate = 8,     ///< the destination is also the last source
  LaneImplicitVCC = 16,   ///< VCC is the last source
  LanePreservesHigh = 32, ///< keeps the high half on gfx9, as on later chips
  LaneHighResult = 64,    ///< v_fma_mixhi: the result goes to the high half
  LaneFloat = 128,        ///< depends on rounding and denormal mode
  LaneMatrixUnit = 256,   ///< flushes subnormals where matrix instructions do
  LaneMixesBFloat = 512,  ///< halves of OperandType::Mix are bf16
};

/// Vector instructions that do the same in every lane.
struct LaneOpInfo {
  const char *Names; ///< isa::canonicalNames
  OperandType Dst;
  OperandType Src[4]; ///< the others: OperandType::None
  uint16_t Flags;
  LaneKernel Kernel;
  /// With MODE.IEEE clear, where it differs, or null.
  LaneKernel Alternative = nullptr;
  LaneKernel Clamped = nullptr; ///< integer saturation under `clamp`, or null
};

/// Instructions with an execution function of their own.
struct HandlerInfo {
  const char *Names;
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
  ClusterLoad,
  ClusterLoadToLds,
  StoreFromLds,
  CopyTensor,
  GlobalLoadTransposed,
  ScalarLoad,
  ScalarBufferLoad,
  DsLoad,
  DsStore,
  DsLoad2,
  DsLoadTransposed,
  DsStore2,
  DsAtomic,
  Count
};

using isa::AtomicOp;

template <typename T> struct TableRef {
  const T *Begin = nullptr;
  unsigned Size = 0;

  TableRef() = default;
  template <unsigned N>
  constexpr TableRef(const T (&Table)[N]) : Begin(Table), Size(N) {}
};

/// What executes the instruction set, as the decoder finds it: operations by
/// name, and the drivers in front of them.
struct ExecTable {
  const char *Name;
  TableRef<LaneOpInfo> LaneOps[6];
  TableRef<HandlerInfo> CrossLane;
  TableRef<HandlerInfo> Scalar[3];
  /// No modifiers at all, or only DPP; by the number of sources.
  std::array<Handler, 5> RunLane, RunLaneDpp;
  Handler RunLaneSlow; ///< SDWA, modifiers, unusual float mode
  Handler RunWide;     ///< results of several rows, no modifiers
  Handler RunMask;     ///< compares without modifiers
  Handler RunMatrix;
  Handler RunConversion; ///< to and from formats of 4 to 8 bits
  Handler RunIndexed;    ///< under s_set_gpr_idx_on; calls Inst::Inner
  Handler Memory[unsigned(MemoryOp::Count)];
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_OPERATION_H
