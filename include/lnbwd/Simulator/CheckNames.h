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
#include "llvm/ADT/StringSwitch.h"

#include <optional>

namespace lnbwd::sim {

/// What messages say of the names that there are.
constexpr const char ListOfChecks[] =
    "all, none, or some of memory, registers, races, waits, limits, counts, "
    "alignment and hazards";

/// The bits of the check of this name.
inline std::optional<unsigned> checkBits(llvm::StringRef Name) {
  return llvm::StringSwitch<std::optional<unsigned>>(Name)
      .Case("none", 0)
      .Case("all", LNBWD_SIM_CHECK_ALL)
      .Case("memory", LNBWD_SIM_CHECK_MEMORY)
      .Case("registers", LNBWD_SIM_CHECK_REGISTERS)
      .Case("races", LNBWD_SIM_CHECK_RACES)
      .Case("waits", LNBWD_SIM_CHECK_WAITS)
      .Case("limits", LNBWD_SIM_CHECK_LIMITS)
      .Case("counts", LNBWD_SIM_CHECK_COUNTS)
      .Case("alignment", LNBWD_SIM_CHECK_ALIGNMENT)
      .Case("hazards", LNBWD_SIM_CHECK_HAZARDS)
      .Default(std::nullopt);
}

} // namespace lnbwd::sim

#endif // LNBWD_SIMULATOR_CHECKNAMES_H
