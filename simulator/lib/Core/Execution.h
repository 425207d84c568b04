//===- Execution.h - What execution functions ask of a launch ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an instruction stops the launch, and the way from a wave to the code and
// the memory that all waves of the launch share.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_EXECUTION_H
#define LNBWD_LIB_SIMULATOR_CORE_EXECUTION_H

#include "Core/Wave.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace lnbwd::sim {

/// "0x1f"
std::string hex(uint64_t X);

/// Ends the wave with a message that names kernel, workgroup, wave, lane and
/// instruction. Lane is -1 if no single lane is to blame. Returns null.
const Inst *fault(Wave &W, const Inst *I, int Lane, const char *Text);
/// Ends the wave for a global access outside of all buffers. Returns null.
const Inst *faultAddress(Wave &W, const Inst *I, int Lane, uint64_t Address,
                         unsigned Bytes, bool Write);
/// Ends the wave for a buffer access at a negative offset. Returns null.
const Inst *faultOffset(Wave &W, const Inst *I, int Lane, int32_t Offset);

/// End the wave for an access to LDS or scratch outside of what was allocated.
/// Return null.
const Inst *faultLds(Wave &W, const Inst *I, int Lane, uint64_t Address,
                     unsigned Bytes);
const Inst *faultScratch(Wave &W, const Inst *I, int Lane, uint64_t Address,
                         unsigned Bytes);

/// Ends the wave for what an observer has found; `Check` is the name of the
/// check. Returns false, for observers to return.
bool faultCheck(Wave &W, const char *Check, const Inst *I, int Lane,
                const std::string &Text);

/// Ends the wave and the launch without an error. Returns false as well.
bool stopLaunch(Wave &W);

/// Keeps what an observer has found and lets the wave go on. False: it was the
/// last error that is wanted, and the wave has ended. Those whose lines of
/// the source and MergeKey are the same are one; Text is asked for the first of
/// each. `Other` is the second instruction that is to blame, or null.
bool reportError(Wave &W, const char *Check, const Inst *I, const Inst *Other,
                 int Lane, const std::string &MergeKey,
                 llvm::function_ref<std::string()> Text);
/// "v_add_u32 v0, v1, v2 at k+0x40 (file:line:column)" of an instruction.
std::string describeInstruction(const Wave &W, const Inst *I);

/// Ends the wave for a trap, with what it was put there for. Returns null.
const Inst *faultTrap(Wave &W, const Inst *I, unsigned Number);

/// Ends the wave for an instruction that the decoder could not resolve. Returns
/// null.
const Inst *faultNotExecutable(Wave &W, const Inst *I);

/// The generation of the wave's chip.
unsigned generationOf(const Wave &W);
/// True on the chips of generation 9.
bool isGfx9(const Wave &W);
bool isCdna5(const Wave &W);
/// Vector registers that an instruction can name.
unsigned vgprsOf(const Wave &W);

/// The barrier that an instruction names: -1 is the workgroup's, -3 the
/// cluster's, others are named. Members: of it, if the instruction says so.
inline constexpr int ClusterBarrier = -3;
int barrierNumber(const Wave &W, const Inst *I, unsigned *Members = nullptr);

/// The workgroup's part of a load that several of a cluster issue, a bit for
/// each rank; none: it is alone. Loads that are not issued together are
/// answered one by one. False: the wave has been stopped.
bool joinMulticast(Wave &W, const Inst *I, uint32_t Mask);

/// Turns an address into the instruction there, or null if there is none.
const Inst *instructionAt(const Wave &W, uint64_t Address);
/// The memory that holds [Address, Address + Bytes), or null.
const Region *findRegion(const Wave &W, uint64_t Address, uint64_t Bytes);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_EXECUTION_H
