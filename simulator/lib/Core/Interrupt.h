//===- Interrupt.h - Launches that SIGINT ends ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that leaves SIGINT alone dies of it at once. One that handles it,
// as Python does, only hears of it when the launch returns: so the launch has
// to hear of it, too.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_INTERRUPT_H
#define LNBWD_LIB_SIMULATOR_CORE_INTERRUPT_H

#include <cstdint>

namespace lnbwd::sim {

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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_INTERRUPT_H
