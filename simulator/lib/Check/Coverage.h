//===- Coverage.h - Which instructions were executed ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the list of scripts/coverage.py: with LNBWD_SIM_COVERAGE=FILE, each
// instruction's name is appended to the file when it is first executed, or,
// if it is in a code object and cannot be executed, when that is first used.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_COVERAGE_H
#define LNBWD_LIB_SIMULATOR_CHECK_COVERAGE_H

#include "Core/InstructionTable.h"

#include <atomic>
#include <vector>

namespace lnbwd::sim {

/// What of one object's code has been executed.
class Coverage {
public:
  /// Null if nobody asks.
  static std::unique_ptr<Coverage> create(const InstructionTable &P);
  explicit Coverage(const InstructionTable &P);
  void note(const Inst *I) {
    std::atomic<bool> &S = Seen[size_t(I - Begin)];
    if (!S.load(std::memory_order_relaxed) && !S.exchange(true) &&
        P.problem(I).empty())
      write(I, "executed");
  }

private:
  void write(const Inst *I, const char *State);
  const InstructionTable &P;
  const Inst *Begin;
  std::unique_ptr<std::atomic<bool>[]> Seen;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_COVERAGE_H
