//===- CrashGuard.h - Parts of LLVM that crash on damaged input -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A code object comes from outside, so that whatever its bytes are must not end
// the process. LLVM 22's AMDGPU disassembler crashes on a few words that are no
// instructions, while it composes a remark about an invalid operand (a dangling
// string); its DWARF reader crashes on some damaged sections.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_CRASHGUARD_H
#define LNBWD_LIB_SIMULATOR_CORE_CRASHGUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CrashRecoveryContext.h"

#include <mutex>

namespace lnbwd::sim {

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

#endif // LNBWD_LIB_SIMULATOR_CORE_CRASHGUARD_H
