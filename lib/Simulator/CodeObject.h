//===- CodeObject.h - AMD code objects --------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks, loads and relocates an AMD code object (an ELF64 shared object of
// code object version 5 or 6) and reads its kernels: descriptor and metadata.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CODEOBJECT_H
#define LNBWD_LIB_SIMULATOR_CODEOBJECT_H

#include "Checker/SourceLines.h"
#include "ChipInfo.h"
#include "Decoder.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// One entry of a kernel's `.args` metadata.
struct KernelArgument {
  uint32_t Offset = 0;
  uint32_t Size = 0;
  std::string Kind; ///< `.value_kind`
  bool hidden() const { return Kind.rfind("hidden_", 0) == 0; }
};

struct Kernel {
  std::string Name;
  uint64_t Descriptor = 0; ///< address in the loaded image
  uint64_t Entry = 0;      ///< first instruction that executes

  // From the descriptor.
  uint32_t LdsSize = 0;
  uint32_t ScratchSize = 0; ///< bytes for a work-item
  uint32_t KernargSize = 0;
  uint32_t Rsrc1 = 0, Rsrc2 = 0, Rsrc3 = 0;
  uint16_t Properties = 0;
  uint16_t PreloadLength = 0; ///< dwords of kernel arguments in SGPRs
  uint16_t PreloadOffset = 0; ///< dwords
  unsigned WaveSize = 64;

  // From the metadata.
  bool HasMetadata = false;
  std::vector<KernelArgument> Arguments;
  uint32_t MaxFlatWorkgroupSize = 1024;
  uint32_t VgprCount = 256;
  uint32_t AgprCount = 256;
  uint32_t SgprCount = 104;
  bool DynamicStack = false;
  uint32_t RequiredBlock[3] = {}; ///< 0: any
  /// What the descriptor says as well; -1: not stated.
  int64_t MetadataLds = -1, MetadataScratch = -1, MetadataKernarg = -1,
          MetadataWaveSize = -1;
};

/// A symbol of the code object that is data.
struct GlobalVariable {
  uint64_t Address = 0;
  uint64_t Size = 0;
};

class CodeObject {
public:
  /// Gives memory for the image; null if there is none left.
  using Allocator = std::function<void *(uint64_t Size)>;

  /// Returns null and says why in Error if this is not a code object for the
  /// chip. The bytes need not outlive the call.
  static std::unique_ptr<CodeObject> load(llvm::ArrayRef<uint8_t> Bytes,
                                          const ChipInfo &Chip,
                                          const Allocator &Allocate,
                                          std::string &Error);
  /// Copies bytes of an image of unknown size; false if they are not there.
  using Reader = std::function<bool(uint64_t Offset, uint64_t Size, void *Out)>;
  /// The number of bytes that an image's headers say it has, or 0 and an Error.
  static uint64_t extent(const Reader &Read, std::string &Error);

  const Kernel *kernel(const std::string &Name) const;
  const GlobalVariable *global(const std::string &Name) const;
  std::vector<std::string> kernelNames() const;
  /// The decoded code, made on first use.
  const Program &program(unsigned WaveSize) const;
  const ChipInfo &chip() const { return *Chip; }
  uint64_t imageBase() const { return Base; }
  /// Addresses and sizes of the segments that kernels must not write to.
  const std::vector<std::pair<uint64_t, uint64_t>> &readOnlyParts() const {
    return ReadOnlyParts;
  }
  /// "name+0x40" of an address, for diagnostics.
  std::string symbolize(uint64_t Address) const;
  /// "file:line:column" of an address, if the debug information has it.
  std::string sourceLine(uint64_t Address) const;

private:
  friend class CodeObjectReader;
  const ChipInfo *Chip = nullptr;
  uint64_t Base = 0;
  std::map<std::string, Kernel> Kernels;
  std::map<std::string, GlobalVariable> Globals;
  std::map<uint64_t, std::string> Functions;
  std::vector<CodeRange> Code;
  std::vector<std::pair<uint64_t, uint64_t>> ReadOnlyParts;
  std::unique_ptr<SourceLines> Lines;
  mutable std::mutex ProgramLock;
  mutable std::map<unsigned, std::unique_ptr<Program>> Programs;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CODEOBJECT_H
