//===- Coverage.cpp - Which instructions were executed --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line for each: chip, name without the suffix of its encoding, state.
//
//===----------------------------------------------------------------------===//

#include "Check/Coverage.h"

#include "lnbwd/ISA/Mnemonics.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

using namespace llvm;
using namespace lnbwd::sim;

static const char *fileName() {
  static const char *Name = std::getenv("LNBWD_SIM_COVERAGE");
  return Name;
}

std::unique_ptr<Coverage> Coverage::create(const InstructionTable &P) {
  return fileName() ? std::make_unique<Coverage>(P) : nullptr;
}

Coverage::Coverage(const InstructionTable &P)
    : P(P), Begin(P.instructions().data()),
      Seen(new std::atomic<bool>[P.instructions().size()] {}) {
  for (const Inst &I : P.instructions())
    if (I.Size && !P.problem(&I).empty())
      write(&I, "missing");
}

void Coverage::write(const Inst *I, const char *State) {
  static std::mutex Lock;
  static std::set<std::string> Written;
  if (!I->Size)
    return;
  std::string Text = P.text(I);
  SmallVector<StringRef, 2> Halves;
  StringRef(Text).split(Halves, " :: ");
  std::lock_guard<std::mutex> Guard(Lock);
  for (StringRef Half : Halves) {
    StringRef Name = lnbwd::isa::withoutEncoding(
        Half.trim().take_until([](char C) { return C == ' ' || C == '\t'; }));
    // Words that are no instruction at all: padding, data.
    if (Name.starts_with("."))
      continue;
    std::string Line =
        std::string(P.chip().Chip) + " " + Name.str() + " " + State + "\n";
    if (!Written.insert(Line).second)
      continue;
    if (std::FILE *F = std::fopen(fileName(), "a")) {
      std::fputs(Line.c_str(), F);
      std::fclose(F);
    }
  }
}
