//===- WaitLimits.h - What an instruction waits for -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counters that a wait instruction names, and how far they count.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_WAITLIMITS_H
#define LNBWD_LIB_SIMULATOR_CHECK_WAITLIMITS_H

#include "Check/Effects.h"

namespace lnbwd::sim {

/// How many accesses may be under way of each counter when a wait ends.
struct WaitLimits {
  static constexpr unsigned Any = ~0u;
  unsigned Most[NumWaits] = {Any, Any, Any, Any};
};

/// What an instruction with E.Waits as its kind waits for.
WaitLimits waitLimits(const Inst &I, WaitKind Kind, unsigned Generation);

/// The most accesses that a counter counts.
unsigned counterMaximum(WaitCounter C, unsigned Generation);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_WAITLIMITS_H
