//===- CodeObject.h - AMD code objects --------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An AMD code object (an ELF64 shared object of code object version 4 to 6) in
// memory: its kernels, its variables, and its code, which is decoded when it is
// first asked for.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_LOAD_CODEOBJECT_H
#define LNBWD_LIB_SIMULATOR_LOAD_CODEOBJECT_H

#include "Core/InstructionTable.h"
#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

// Checks the bytes of a code object, copies its segments to memory, relocates
// them, and finds kernels, variables, functions and code in them.

/// A symbol of the code object that is data.
struct GlobalVariable {
  uint64_t Address = 0;
  uint64_t Size = 0;
};

/// What was found, at the addresses to which it was loaded.
struct ObjectContents {
  uint64_t Base = 0;
  std::map<std::string, Kernel> Kernels;
  std::map<std::string, GlobalVariable> Globals;
  /// The local ones, too; sorted by address.
  std::vector<DataSymbol> Data;
  /// Names by address relative to Base.
  std::map<uint64_t, std::string> Functions;
  std::vector<CodeRange> Code;
  /// Addresses and sizes of the segments that kernels must not write to.
  std::vector<std::pair<uint64_t, uint64_t>> ReadOnlyParts;
};

/// Gives memory for the image; null if there is none left.
using ImageAllocator = std::function<void *(uint64_t Size)>;

/// Returns false and says why in Error if this is not a code object for the
/// chip. The bytes need not outlive the call.
bool readObject(llvm::ArrayRef<uint8_t> Bytes, const SimulatedChip &Chip,
                const ImageAllocator &Allocate, ObjectContents &Contents,
                std::string &Error);

/// Copies bytes of an image of unknown size; false if they are not there.
using ObjectBytes =
    std::function<bool(uint64_t Offset, uint64_t Size, void *Out)>;
/// The bytes of an array, which has to outlive the result.
ObjectBytes bytesOf(llvm::ArrayRef<uint8_t> Bytes);

/// The number of bytes that an image's headers say it has, or 0 and an Error.
uint64_t objectExtent(const ObjectBytes &Read, std::string &Error);

/// Adds the kernels that the note describes, by the symbols of their
/// descriptors. False, with an Error, if the note is not what it should be.
bool readKernelMetadata(llvm::ArrayRef<uint8_t> Note,
                        std::map<std::string, Kernel> &BySymbol,
                        std::string &Error);

// The line table of a code object that was compiled with debug information.

class SourceLines {
public:
  /// Null if the code object has no line table, or none that can be read.
  static std::unique_ptr<SourceLines> load(llvm::ArrayRef<uint8_t> Bytes);
  ~SourceLines();
  /// "file:line:column" of an address in the file, or nothing. Where functions
  /// were inlined: "file:line:column in function, inlined at file:line:column".
  std::string at(uint64_t Address) const;
  /// The same, function by function, with the files' folders.
  std::vector<SourceFrame> frames(uint64_t Address) const;
  /// "category: reason" of the __builtin_verbose_trap there, or nothing.
  std::string trapReason(uint64_t Address) const;

private:
  SourceLines();
  struct Impl;
  std::unique_ptr<Impl> TheImpl;
};

class CodeObject final : public Symbolizer {
public:
  /// Gives memory for the image; null if there is none left.
  using Allocator = ImageAllocator;

  /// Returns null and says why in Error if this is not a code object for the
  /// chip. The bytes need not outlive the call.
  static std::unique_ptr<CodeObject> create(llvm::ArrayRef<uint8_t> Bytes,
                                            const SimulatedChip &Chip,
                                            const Allocator &Allocate,
                                            std::string &Error);
  /// Copies bytes of an image of unknown size; false if they are not there.
  using Reader = ObjectBytes;
  /// The number of bytes that an image's headers say it has, or 0 and an Error.
  static uint64_t extent(const Reader &Read, std::string &Error);

  const Kernel *kernel(const std::string &Name) const;
  const GlobalVariable *global(const std::string &Name) const;
  std::vector<std::string> kernelNames() const;
  /// The decoded code, made on first use.
  const InstructionTable &code(unsigned WaveSize) const;
  const SimulatedChip &chip() const { return *Chip; }
  uint64_t imageBase() const { return Contents.Base; }
  /// Addresses and sizes of the segments that kernels must not write to.
  const std::vector<std::pair<uint64_t, uint64_t>> &readOnlyParts() const {
    return Contents.ReadOnlyParts;
  }
  std::string symbolize(uint64_t Address) const override;
  std::string sourceLine(uint64_t Address) const override;
  std::vector<SourceFrame> sourceFrames(uint64_t Address) const override;
  std::string trapReason(uint64_t Address) const override;
  llvm::ArrayRef<DataSymbol> dataSymbols() const override {
    return Contents.Data;
  }

private:
  const SimulatedChip *Chip = nullptr;
  ObjectContents Contents;
  std::unique_ptr<SourceLines> Lines;
  mutable std::mutex ProgramLock;
  mutable std::map<unsigned, std::unique_ptr<InstructionTable>> Codes;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_LOAD_CODEOBJECT_H
