//===- Decoder.h - From machine code to Inst --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes whole sections of code through LLVM's MC disassembler.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODER_H
#define LNBWD_LIB_SIMULATOR_DECODER_H

#include "ChipInfo.h"
#include "Instruction.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace lnbwd::sim {

struct ExecTable;
struct ProgramEffects;

/// The table for this host's processor. LNBWD_SIM_ISA=baseline|avx2 chooses
/// another one that it can run.
const ExecTable &hostExecTable();
/// All tables that this host's processor can run; the tests go through them.
std::vector<const ExecTable *> runnableExecTables();

/// Code in memory: its bytes are at Address.
struct CodeRange {
  uint64_t Address;
  uint64_t Size;
  /// Addresses where functions start: decoding starts afresh there, whatever
  /// padding lies before.
  std::vector<uint64_t> Entries;
};

/// What LLVM's description of an instruction says that its text does not.
struct InstDescription {
  bool ReadsScc = false, WritesScc = false;
  bool ReadsVcc = false;
  bool ReadsM0 = false, WritesM0 = false;
  bool ReadsExec = false, WritesExec = false;
  bool ReadsResult = false; ///< the destination is a source, too
  bool IsBranch = false;    ///< not calls
  bool IsCall = false;
  bool MayLoad = false, MayStore = false; ///< both: an atomic
};

/// Decoded code for one wave size of one chip.
class Program {
public:
  /// Decodes all code. Instructions that are not known become ones that stop
  /// the wave that executes them.
  Program(const ChipInfo &Chip, unsigned WaveSize,
          llvm::ArrayRef<CodeRange> Ranges,
          const ExecTable &Table = hostExecTable());
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  /// The instruction at the address, or null if none starts there.
  const Inst *at(uint64_t Address) const;
  /// The assembly text of an instruction.
  std::string text(const Inst *I) const;
  /// The description of an instruction; all false if it is not valid.
  InstDescription description(const Inst *I) const;
  /// Why an instruction cannot be executed, empty if it can.
  std::string problem(const Inst *I) const;

  unsigned waveSize() const { return WaveSize; }
  const ChipInfo &chip() const { return Chip; }
  llvm::ArrayRef<Inst> instructions() const { return Code; }
  /// What the instructions read and write; made on first use.
  const ProgramEffects &effects() const;

private:
  struct Impl;
  const ChipInfo &Chip;
  unsigned WaveSize;
  std::vector<Inst> Code;
  std::unique_ptr<Impl> TheImpl;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODER_H
