//===- InstructionTable.h - Decoded code ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a code object in the form that is executed, and what belongs to
// each instruction beside that: its text, its description, why it cannot be
// executed. The decoder fills it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_INSTRUCTIONTABLE_H
#define LNBWD_LIB_SIMULATOR_CORE_INSTRUCTIONTABLE_H

#include "Core/Instruction.h"
#include "SimulatedChip.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
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
  virtual ~Symbolizer();
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
  virtual ~CodeNotes();
};

/// Decoded code for one wave size of one chip.
class InstructionTable {
public:
  virtual ~InstructionTable();
  InstructionTable(const InstructionTable &) = delete;
  InstructionTable &operator=(const InstructionTable &) = delete;

  /// The instruction at the address, or null if none starts there.
  const Inst *at(uint64_t Address) const;
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
  notes(llvm::function_ref<std::unique_ptr<CodeNotes>()> Make) const;

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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_INSTRUCTIONTABLE_H
