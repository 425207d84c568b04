//===- ProgramChecks.cpp - What checks know of a program ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kept with the program.
//
//===----------------------------------------------------------------------===//

#include "Check/ProgramChecks.h"

using namespace lnbwd::sim;

ProgramChecks::ProgramChecks(const Program &P)
    : Effects(P), Hazards(P, Effects) {}

const ProgramChecks &ProgramChecks::of(const Program &P) {
  // Nobody else makes notes.
  return static_cast<const ProgramChecks &>(
      P.notes([&] { return std::make_unique<ProgramChecks>(P); }));
}
