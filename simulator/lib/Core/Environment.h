//===- Environment.h - Variables of the environment ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that the environment may set for the simulator: what they may
// be, in one table, so that a wrong one is refused and not taken for another.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_ENVIRONMENT_H
#define LNBWD_LIB_SIMULATOR_CORE_ENVIRONMENT_H

#include <cstdint>
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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_ENVIRONMENT_H
