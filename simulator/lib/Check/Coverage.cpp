//===- Coverage.cpp - Which instructions were executed --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One line for each: chip, name without the suffix of its encoding, state.
// Where operands come in forms that are read in different ways, there is a line
// for each form that the instruction has, and one for each that was executed.
//
//===----------------------------------------------------------------------===//

#include "Check/Coverage.h"

#include "Core/Operation.h"

#include "lnbwd/ISA/Mnemonics.h"

#include "llvm/ADT/ArrayRef.h"
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

/// The forms in which operands of a type are read; none if all are read alike.
static ArrayRef<const char *> formsOf(OperandType T) {
  static const char *const Mixed[] = {"f32", "f32-constant", "f16-low",
                                      "f16-high", "f16-constant"};
  static const char *const Packed[] = {"register", "constant"};
  switch (T) {
  case OperandType::Mix:
    return Mixed;
  case OperandType::PkF16:
  case OperandType::PkBF16:
  case OperandType::PkI16:
  case OperandType::PkF32:
    return Packed;
  default:
    return {};
  }
}

/// Which of them an operand has.
static const char *formOf(const Inst &I, unsigned K) {
  const ArrayRef<const char *> Forms = formsOf(I.Lane->Src[K]);
  if (Forms.empty())
    return nullptr;
  const bool Constant = I.Src[K].Kind == OperandKind::Constant;
  if (I.Lane->Src[K] != OperandType::Mix)
    return Forms[Constant];
  if (!(I.OpSelHi >> K & 1))
    return Forms[Constant];
  return Forms[Constant ? 4 : 2 + (I.OpSel >> K & 1)];
}

std::unique_ptr<Coverage> Coverage::create(const InstructionTable &P) {
  return fileName() ? std::make_unique<Coverage>(P) : nullptr;
}

/// Appends lines to the file that are not there yet.
static void append(ArrayRef<std::string> Lines) {
  static std::mutex Lock;
  static std::set<std::string> Written;
  std::lock_guard<std::mutex> Guard(Lock);
  std::string New;
  for (const std::string &Line : Lines)
    if (Written.insert(Line).second)
      New += Line + "\n";
  if (New.empty())
    return;
  if (std::FILE *F = std::fopen(fileName(), "a")) {
    std::fputs(New.c_str(), F);
    std::fclose(F);
  }
}

Coverage::Coverage(const InstructionTable &P)
    : P(P), Begin(P.instructions().data()),
      Seen(new std::atomic<bool>[P.instructions().size()] {}) {
  for (const Inst &I : P.instructions())
    if (I.Size && !P.problem(&I).empty())
      write(&I, "missing");
}

void Coverage::write(const Inst *I, const char *State) {
  if (!I->Size)
    return;
  const std::string Chip(P.chip().Chip), Text = P.text(I);
  SmallVector<StringRef, 2> Halves;
  StringRef(Text).split(Halves, " :: ");
  std::vector<std::string> Lines;
  for (StringRef Half : Halves) {
    StringRef Name = lnbwd::isa::withoutEncoding(
        Half.trim().take_until([](char C) { return C == ' ' || C == '\t'; }));
    // Words that are no instruction at all: padding, data.
    if (Name.starts_with("."))
      continue;
    const std::string Line = Chip + " " + Name.str() + " ";
    Lines.push_back(Line + State);
    if (Halves.size() > 1 || !I->Lane || !P.problem(I).empty())
      continue;
    for (unsigned K = 0; K < I->NumSrc; ++K) {
      for (const char *Form : formsOf(I->Lane->Src[K]))
        Lines.push_back(Line + "has " + Form);
      if (const char *Form = formOf(*I, K))
        Lines.push_back(Line + State + " " + Form);
    }
  }
  append(Lines);
}
