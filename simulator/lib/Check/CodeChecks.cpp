//===- CodeChecks.cpp - What checks know of a program ------------------===//
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

#include "Check/CodeChecks.h"

#include "Check/MemoryUses.h"

using namespace lnbwd::sim;

CodeChecks::CodeChecks(const InstructionTable &P)
    : Effects(P), Hazards(P, Effects) {
  findMemoryUses(P, Effects);
}

const CodeChecks &CodeChecks::of(const InstructionTable &P) {
  // Nobody else makes notes.
  return static_cast<const CodeChecks &>(
      P.notes([&] { return std::make_unique<CodeChecks>(P); }));
}
