//===- InstructionTable.cpp - Decoded code --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way from addresses to instructions.
//
//===----------------------------------------------------------------------===//

#include "Core/InstructionTable.h"

using namespace lnbwd::sim;

Symbolizer::~Symbolizer() = default;
CodeNotes::~CodeNotes() = default;
InstructionTable::~InstructionTable() = default;

const Inst *InstructionTable::at(uint64_t Address) const {
  for (const Index &R : Ranges) {
    if (Address < R.Where.Address || Address - R.Where.Address >= R.Where.Size)
      continue;
    const uint64_t Offset = Address - R.Where.Address;
    if (Offset % 4 || Offset / 4 >= R.Instructions.size())
      return nullptr;
    const int32_t Number = R.Instructions[size_t(Offset / 4)];
    return Number < 0 ? nullptr : &Code[size_t(Number)];
  }
  return nullptr;
}

const CodeNotes &InstructionTable::notes(
    llvm::function_ref<std::unique_ptr<CodeNotes>()> Make) const {
  std::call_once(NotesMade, [&] { Notes = Make(); });
  return *Notes;
}
