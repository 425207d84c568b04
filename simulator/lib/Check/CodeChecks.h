//===- CodeChecks.h - What checks know of a program ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Found out once for a program, when a checked launch first executes it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_CODECHECKS_H
#define LNBWD_LIB_SIMULATOR_CHECK_CODECHECKS_H

#include "Check/Effects.h"
#include "Check/HazardChecker.h"

namespace lnbwd::sim {

struct CodeChecks final : public CodeNotes {
  explicit CodeChecks(const InstructionTable &P);
  /// Those of a program; found out on first use.
  static const CodeChecks &of(const InstructionTable &P);

  CodeEffects Effects;
  CodeHazards Hazards;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_CODECHECKS_H
