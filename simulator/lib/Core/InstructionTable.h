//===- InstructionTable.h - Decoded code and kernels ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a code object in the form that is executed, and what belongs to
// each instruction beside that: its text, its description, why it cannot be
// executed. The decoder fills it. A kernel is its descriptor and metadata.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_INSTRUCTIONTABLE_H
#define LNBWD_LIB_SIMULATOR_CORE_INSTRUCTIONTABLE_H

#include "Core/Instruction.h"
#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Demangle/Demangle.h"

#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// Code in memory: its bytes are at Address.
struct CodeRange {
  uint64_t Address;
  uint64_t Size;
  /// Addresses where functions start: decoding starts afresh there, whatever
  /// padding lies before.
  std::vector<uint64_t> Entries;
};

/// A variable of the code object, in memory.
struct DataSymbol {
  uint64_t Begin, End;
  std::string Name;
};

/// A place in the source, of a function that may be inlined.
struct SourceFrame {
  std::string File; ///< with its folder, as far as the code object says it
  unsigned Line = 0, Column = 0;
  std::string Function;
};

/// Names of addresses, for diagnostics.
class Symbolizer {
public:
  virtual ~Symbolizer() = default;
  /// "name+0x40" of an address.
  virtual std::string symbolize(uint64_t Address) const = 0;
  /// "file:line:column" of an address, and where the functions around it were
  /// inlined, or nothing if that is not known.
  virtual std::string sourceLine(uint64_t Address) const = 0;
  /// The same, function by function, the innermost first.
  virtual std::vector<SourceFrame> sourceFrames(uint64_t Address) const = 0;
  /// What a trap was put there for, or nothing if that is not known.
  virtual std::string trapReason(uint64_t Address) const = 0;
  /// The variables that there are symbols of, sorted by address; of several
  /// that begin in one place the longest.
  virtual llvm::ArrayRef<DataSymbol> dataSymbols() const = 0;
};

/// What an observer has found out of the code as a whole.
class CodeNotes {
public:
  virtual ~CodeNotes() = default;
};

/// Decoded code for one wave size of one chip.
class InstructionTable {
public:
  virtual ~InstructionTable() = default;
  InstructionTable(const InstructionTable &) = delete;
  InstructionTable &operator=(const InstructionTable &) = delete;

  /// The instruction at the address, or null if none starts there.
  const Inst *at(uint64_t Address) const {
    for (const Index &R : Ranges) {
      if (Address - R.Where.Address >= R.Where.Size)
        continue;
      const uint64_t Offset = Address - R.Where.Address;
      if (Offset % 4 || Offset / 4 >= R.Instructions.size())
        return nullptr;
      const int32_t Number = R.Instructions[size_t(Offset / 4)];
      return Number < 0 ? nullptr : &Code[size_t(Number)];
    }
    return nullptr;
  }
  /// The assembly text of an instruction.
  const std::string &text(const Inst *I) const { return listing(I).Text; }
  /// Why an instruction cannot be executed, empty if it can.
  const std::string &problem(const Inst *I) const { return listing(I).Problem; }

  unsigned waveSize() const { return WaveSize; }
  const SimulatedChip &chip() const { return Chip; }
  /// Whether lanes may have memory of their own.
  bool hasScratch() const { return HasScratch; }
  llvm::ArrayRef<Inst> instructions() const { return Code; }
  /// What the observers know of the code; made on first use.
  const CodeNotes &
  notes(llvm::function_ref<std::unique_ptr<CodeNotes>()> Make) const {
    std::call_once(NotesMade, [&] { Notes = Make(); });
    return *Notes;
  }

protected:
  InstructionTable(const SimulatedChip &Chip, unsigned WaveSize,
                   bool HasScratch)
      : Chip(Chip), WaveSize(WaveSize), HasScratch(HasScratch) {}

  struct Listing {
    std::string Text;
    std::string Problem;
  };
  /// For each dword of a range the index of its instruction, or -1.
  struct Index {
    CodeRange Where;
    std::vector<int32_t> Instructions;
  };
  const SimulatedChip &Chip;
  const unsigned WaveSize;
  const bool HasScratch;
  std::vector<Inst> Code;
  std::vector<Listing> Listings; ///< of the instructions of Code
  std::vector<Index> Ranges;

private:
  const Listing &listing(const Inst *I) const {
    return Listings[size_t(I - Code.data())];
  }
  mutable std::once_flag NotesMade;
  mutable std::unique_ptr<CodeNotes> Notes;
};

/// One entry of a kernel's `.args` metadata.
struct KernelArgument {
  uint32_t Offset = 0;
  uint32_t Size = 0;
  std::string Kind; ///< `.value_kind`
  bool hidden() const { return Kind.rfind("hidden_", 0) == 0; }
};

struct Kernel {
  std::string Name;        ///< its symbol
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
  uint32_t ClusterDims[3] = {};   ///< workgroups of a cluster; 0: not stated
  /// What the descriptor says as well; -1: not stated.
  int64_t MetadataLds = -1, MetadataScratch = -1, MetadataKernarg = -1,
          MetadataWaveSize = -1;

  /// Its name as it is in the source, for messages.
  std::string shownName() const { return llvm::demangle(Name); }
};

// Kernels that print, or allocate memory, do so through buffers that the host
// serves while they run. The simulator has none. A kernel that could use them
// and does not runs; one that does gets a report of what it has reached for.

/// The buffer of a service: 4 GiB at an address where nothing is.
struct HostService {
  const char *Argument; ///< the hidden argument that points to it
  const char *What;     ///< in the source
};
constexpr HostService HostServices[] = {
    {"hidden_hostcall_buffer", "printf, assert or another call of the host"},
    {"hidden_printf_buffer", "printf"},
    {"hidden_heap_v1", "malloc or free"},
};

constexpr uint64_t FirstHostService = 0x0003000000000000ull;

/// The address for a hidden argument; 0: it is none of these.
inline uint64_t hostServiceAddress(llvm::StringRef Argument) {
  uint64_t Address = FirstHostService;
  for (const HostService &S : HostServices) {
    if (Argument == S.Argument)
      return Address;
    Address += 1ull << 32;
  }
  return 0;
}

/// The service that an address belongs to, or null.
inline const HostService *hostServiceAt(uint64_t Address) {
  const uint64_t Number = (Address - FirstHostService) >> 32;
  return Address >= FirstHostService && Number < std::size(HostServices)
             ? &HostServices[Number]
             : nullptr;
}

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_INSTRUCTIONTABLE_H
