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
#include "Core/Kernel.h"
#include "Load/ObjectReader.h"
#include "Load/SourceLines.h"
#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

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
