//===- StaticWaits.h - Waits in code that is not executed -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A data-flow analysis of a kernel: what is under way on every path to an
// instruction that reads it has not been waited for, whichever path is taken.
// WaitChecker sees what is executed; this sees the rest.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_STATICWAITS_H
#define LNBWD_LIB_SIMULATOR_CHECK_STATICWAITS_H

#include "Check/Effects.h"

#include <optional>

namespace lnbwd::sim {

/// A register that is read before the wait for it.
struct MissingWait {
  const Inst *Use, *Producer;
  uint16_t Register;
  bool Scalar;
  WaitCounter Counter;
  unsigned Most; ///< the count that a wait needs
};

/// The first one in what branches and fall-through from an entry reach; callees
/// and what computed branches lead to are not looked at.
std::optional<MissingWait> findMissingWait(const InstructionTable &P,
                                           const CodeEffects &Effects,
                                           const Inst *Entry);

/// ErrorDetails::Wave of an error that no wave has run into.
constexpr unsigned NoWave = ~0u;

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_STATICWAITS_H
