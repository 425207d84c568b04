//===- Observer.h - Who looks at a launch -----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch notifies an observer of what its waves do, before they do it, and
// lets itself be stopped. The core knows nothing of what observers are for; the
// checks are one. Registers need no events of their own: an observer is given
// each instruction before it executes, with the wave as it is then, and after.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_OBSERVER_H
#define LNBWD_LIB_SIMULATOR_CORE_OBSERVER_H

#include <cstdint>
#include <memory>

namespace lnbwd::sim {

struct Inst;
struct Region;
struct Wave;
struct Workgroup;

/// Observes one wave at a time. What returns a bool returns false if it has
/// stopped the wave (faultCheck in Execution.h).
class WaveObserver {
public:
  virtual ~WaveObserver();
  /// A wave begins; so many scalar and vector registers, from the first on, are
  /// set.
  virtual void started(unsigned ScalarsSet, unsigned VectorsSet) = 0;
  /// The instruction is about to be executed.
  virtual bool before(const Inst *I) = 0;
  /// It has been, and the wave goes on; not called for one that waits at a
  /// barrier.
  virtual void after(const Inst *I) = 0;
  /// It has ended the wave.
  virtual void ended(const Inst *I) = 0;
  /// The buffer of the argument that its address is made from, for a report;
  /// null if that is not known.
  virtual const Region *argumentOf(const Inst *I) const;

  // Memory instructions, once they know their addresses, which lie within what
  // the kernel may access. A has the lanes' addresses, Mask those that count,
  // Bytes is what a lane accesses.
  virtual bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                            unsigned Bytes) = 0;
  virtual bool ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                         unsigned Bytes) = 0;
  virtual bool scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                             unsigned Bytes) = 0;
  virtual bool flatAccess(const Inst *I, uint64_t Address, unsigned Lane,
                          unsigned Bytes) = 0;
  /// A wave copies bytes side by side between global memory and LDS. It loads
  /// GlobalBytes of them, and zeros for the others, or stores all.
  virtual bool blockAccess(const Inst *I, uint64_t Global, uint64_t GlobalBytes,
                           uint32_t Lds, uint32_t LdsBytes);
  /// The copy then arrives at a barrier of 64 bits in LDS.
  virtual bool arrival(const Inst *I, uint32_t Lds);
  /// Asked is the address before hardware drops what is below a dword.
  virtual bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                          uint64_t Asked) = 0;
};

/// Observes one workgroup at a time.
class WorkgroupObserver {
public:
  virtual ~WorkgroupObserver();
  /// A workgroup begins: its number in the launch. False: its waves are
  /// observed only where they access memory, and not at each instruction.
  virtual bool started(uint64_t Number) = 0;
  /// The observer of one of its waves, which lives as long as this one.
  virtual WaveObserver &observe(Wave &W) = 0;
};

/// Observes a launch. Host threads work on several workgroups at a time.
class LaunchObserver {
public:
  virtual ~LaunchObserver();
  /// The observer of the workgroups that are executed, one after the other, in
  /// one place. Called by several threads.
  virtual std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) = 0;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_OBSERVER_H
