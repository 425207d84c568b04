//===- CodeObject.cpp - AMD code objects ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loaded code object answers; ObjectReader.cpp reads it.
//
//===----------------------------------------------------------------------===//

#include "Load/CodeObject.h"

#include "Decode/CodeDecoder.h"
#include "Execute/ExecTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Demangle/Demangle.h"

#include <cstdio>
#include <cstdlib>

using namespace llvm;
using namespace lnbwd::sim;

std::unique_ptr<CodeObject> CodeObject::create(ArrayRef<uint8_t> Bytes,
                                               const SimulatedChip &Chip,
                                               const Allocator &Allocate,
                                               std::string &Error) {
  auto Object = std::make_unique<CodeObject>();
  if (!readObject(Bytes, Chip, Allocate, Object->Contents, Error))
    return nullptr;
  Object->Chip = &Chip;
  Object->Lines = SourceLines::load(Bytes);
  return Object;
}

uint64_t CodeObject::extent(const Reader &Read, std::string &Error) {
  return objectExtent(Read, Error);
}

const Kernel *CodeObject::kernel(const std::string &Name) const {
  auto It = Contents.Kernels.find(Name);
  return It == Contents.Kernels.end() ? nullptr : &It->second;
}

const GlobalVariable *CodeObject::global(const std::string &Name) const {
  auto It = Contents.Globals.find(Name);
  return It == Contents.Globals.end() ? nullptr : &It->second;
}

std::vector<std::string> CodeObject::kernelNames() const {
  std::vector<std::string> Names;
  Names.reserve(Contents.Kernels.size());
  for (auto &Entry : Contents.Kernels)
    Names.push_back(Entry.first);
  return Names;
}

const InstructionTable &CodeObject::code(unsigned WaveSize) const {
  std::lock_guard<std::mutex> Guard(ProgramLock);
  auto &P = Codes[WaveSize];
  if (!P)
    P = std::make_unique<DecodedCode>(
        *Chip, WaveSize, Contents.Code, hostExecTable(),
        llvm::any_of(Contents.Kernels, [](const auto &Entry) {
          return Entry.second.ScratchSize || Entry.second.DynamicStack;
        }));
  return *P;
}

std::string CodeObject::sourceLine(uint64_t Address) const {
  return Lines ? Lines->at(Address - Contents.Base) : "";
}

std::vector<SourceFrame> CodeObject::sourceFrames(uint64_t Address) const {
  return Lines ? Lines->frames(Address - Contents.Base)
               : std::vector<SourceFrame>();
}

std::string CodeObject::trapReason(uint64_t Address) const {
  return Lines ? Lines->trapReason(Address - Contents.Base) : "";
}

/// What a C++ function is called in the source, without its arguments.
static std::string baseName(const std::string &Symbol) {
  ItaniumPartialDemangler Parts;
  size_t Size = 0;
  if (Parts.partialDemangle(Symbol.c_str()) || !Parts.isFunction())
    return Symbol;
  char *Text = Parts.getFunctionBaseName(nullptr, &Size);
  std::string Name = Text ? Text : Symbol;
  std::free(Text);
  return Name;
}

std::string CodeObject::symbolize(uint64_t Address) const {
  auto It = Contents.Functions.upper_bound(Address - Contents.Base);
  char Text[32];
  if (It == Contents.Functions.begin()) {
    std::snprintf(Text, sizeof(Text), "0x%llx",
                  (unsigned long long)(Address - Contents.Base));
    return Text;
  }
  --It;
  std::snprintf(Text, sizeof(Text), "+0x%llx",
                (unsigned long long)(Address - Contents.Base - It->first));
  return baseName(It->second) + Text;
}
