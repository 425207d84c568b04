//===- CheckNames.h - Checks of launches by name ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LNBWD_SIM_CHECK in the environment and lnbwd-sim --check name.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_SIMULATOR_CHECKNAMES_H
#define LNBWD_SIMULATOR_CHECKNAMES_H

#include "lnbwd/Simulator/SimulatorAPI.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace lnbwd::sim {

/// What messages say of the names that there are.
constexpr const char ListOfChecks[] =
    "all, none, or some of memory, registers, races, waits, limits, counts, "
    "alignment and hazards";

/// The checks that have a bit of their own.
struct CheckName {
  llvm::StringLiteral Name;
  unsigned Bit;
};
constexpr CheckName CheckNames[] = {
    {"memory", LNBWD_SIM_CHECK_MEMORY},
    {"registers", LNBWD_SIM_CHECK_REGISTERS},
    {"races", LNBWD_SIM_CHECK_RACES},
    {"waits", LNBWD_SIM_CHECK_WAITS},
    {"limits", LNBWD_SIM_CHECK_LIMITS},
    {"counts", LNBWD_SIM_CHECK_COUNTS},
    {"alignment", LNBWD_SIM_CHECK_ALIGNMENT},
    {"hazards", LNBWD_SIM_CHECK_HAZARDS},
};

/// The bits of the check of this name.
inline std::optional<unsigned> checkBits(llvm::StringRef Name) {
  if (Name == "none")
    return 0;
  if (Name == "all")
    return LNBWD_SIM_CHECK_ALL;
  for (const CheckName &Check : CheckNames)
    if (Name == Check.Name)
      return Check.Bit;
  return std::nullopt;
}

} // namespace lnbwd::sim

#endif // LNBWD_SIMULATOR_CHECKNAMES_H
