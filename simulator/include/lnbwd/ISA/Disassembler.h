//===- Disassembler.h - LLVM's view of AMD machine code ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The set-up that LLVM's assembler, disassembler and printer need for one chip,
// and instructions read with it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ISA_DISASSEMBLER_H
#define LNBWD_ISA_DISASSEMBLER_H

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdint>
#include <memory>
#include <string>

namespace lnbwd::isa {

/// LLVM's tables for one chip and wave size.
struct Machine {
  llvm::Triple TT;
  const llvm::Target *Target;
  llvm::MCTargetOptions Options;
  std::unique_ptr<llvm::MCRegisterInfo> Registers;
  std::unique_ptr<llvm::MCAsmInfo> Assembly;
  std::unique_ptr<llvm::MCInstrInfo> Instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> Subtarget;

  /// Wave size 0 is the chip's usual one.
  static llvm::Expected<std::unique_ptr<Machine>> create(llvm::StringRef Chip,
                                                         unsigned WaveSize);
};

/// An instruction in memory.
struct Disassembled {
  llvm::MCInst Code;
  uint64_t Size = 0;        ///< bytes
  std::string Text;         ///< assembly
  llvm::StringRef Mnemonic; ///< of a pair, the first one's
};

/// Reads the machine code of one chip. For one thread at a time.
class Disassembler {
public:
  static llvm::Expected<std::unique_ptr<Disassembler>>
  create(llvm::StringRef Chip, unsigned WaveSize);
  ~Disassembler();

  /// The instruction at the start of the bytes, whose address is Address;
  /// false if there is none.
  bool read(llvm::ArrayRef<uint8_t> Bytes, uint64_t Address, Disassembled &Out);
  /// What LLVM says of all instructions of the number.
  InstructionDescription describe(unsigned Opcode) const;
  /// The mnemonic of the second of two instructions of the number that are
  /// issued together, as if it were alone; empty if LLVM does not say it.
  std::string secondOfDual(unsigned Opcode) const;
  const llvm::MCRegisterInfo &registers() const;

private:
  Disassembler();
  struct Impl;
  std::unique_ptr<Impl> TheImpl;
};

} // namespace lnbwd::isa

#endif // LNBWD_ISA_DISASSEMBLER_H
