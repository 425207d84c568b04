//===- Environment.h - The process around the simulator ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that the environment may set for the simulator: what they may
// be, in one table, so that a wrong one is refused and not taken for another.
// Beside them SIGINT, and crashes of LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_ENVIRONMENT_H
#define LNBWD_LIB_SIMULATOR_CORE_ENVIRONMENT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CrashRecoveryContext.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace lnbwd::sim {

/// A variable that holds a whole number.
struct NumberVariable {
  const char *Name;
  uint64_t Least, Most;
  /// What is expected, for a message.
  const char *What;

  /// The number, or none where the variable is not set or is wrong: then
  /// `Problem` gets "NAME: expected WHAT, got 'TEXT'".
  std::optional<uint64_t> read(std::string &Problem) const;
  /// The number of a variable that problemOfNumbers found nothing against.
  std::optional<uint64_t> read() const;
};

extern const NumberVariable MaxErrorsVariable, InstructionsVariable,
    LeaksVariable, MemoryVariable, RacesVariable, RoundingVariable,
    SampleVariable, ShuffleVariable, SkipLaunchesVariable, ThreadsVariable;

/// What is wrong with the first of these variables that is, or "".
std::string problemOfNumbers();

// A process that leaves SIGINT alone dies of it at once. One that handles it,
// as Python does, only hears of it when the launch returns: so the launch has
// to hear of it, too.

/// While one lives, interrupts() counts what the process's own handler of
/// SIGINT gets; that handler is called as before. Without such a handler, or
/// with the signal ignored, nothing is changed.
class InterruptScope {
public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;
};

/// How often the process was interrupted while there was an InterruptScope.
uint32_t interrupts();

// A code object comes from outside, so that whatever its bytes are must not end
// the process. LLVM 22's AMDGPU disassembler crashes on a few words that are no
// instructions, while it composes a remark about an invalid operand (a dangling
// string); its DWARF reader crashes on some damaged sections.

/// While one lives, survives() outlives a crash. There is one at a time.
class CrashGuard {
public:
  CrashGuard() : Guard(Lock) { llvm::CrashRecoveryContext::Enable(); }
  ~CrashGuard() { llvm::CrashRecoveryContext::Disable(); }
  /// Calls the function; false if it crashed. What it worked on is then in no
  /// state to be used again.
  bool survives(llvm::function_ref<void()> Function) {
    llvm::CrashRecoveryContext Recovery;
    return Recovery.RunSafely(Function);
  }

private:
  static inline std::mutex Lock; ///< signal handlers belong to the process
  std::lock_guard<std::mutex> Guard;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_ENVIRONMENT_H
