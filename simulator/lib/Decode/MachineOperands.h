//===- MachineOperands.h - Instructions, taken apart ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers, constants and the signs of sources are operands of LLVM's MCInst.
// What else modifies an instruction is read from its encoding, where the ISA
// documents say it: LLVM has it, too, but the order of such operands is private
// to the backend.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_MACHINEOPERANDS_H
#define LNBWD_LIB_SIMULATOR_DECODE_MACHINEOPERANDS_H

#include "Core/Instruction.h"

#include "lnbwd/ISA/Disassembler.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace lnbwd::sim {

/// A constant has the bits that LLVM reads, as wide as they are. Of a register
/// that is not modelled, the kind is None, and Name is LLVM's.
struct MachineOperand : Operand {
  llvm::StringRef Name;
};

struct MachineOperands {
  MachineOperands() = default;
  MachineOperands(const isa::Disassembled &Read,
                  const isa::InstructionDescription &Description,
                  const llvm::MCRegisterInfo &Registers,
                  llvm::ArrayRef<uint8_t> Bytes);

  /// Adds the banks of vector registers, of which a wave has so many. Each kind
  /// of instruction has its own order of operands.
  void select(const isa::InstructionFacts &Facts, unsigned Banks,
              unsigned Vgprs);

  /// Results, and then sources.
  llvm::SmallVector<MachineOperand, 6> List;
  unsigned Results = 0;
  llvm::SmallVector<int64_t, 8> Immediates;
  /// A bit for each source: the upper half is meant; of packed instructions,
  /// the lower and the upper half of what is read, and what is negated.
  uint8_t Half = 0, HalfHigh = 0, NegLow = 0, NegHigh = 0;
  bool ResultHigh = false; ///< the result goes to the upper half
  uint32_t Words[5] = {};  ///< the encoding, zeros behind it
  isa::Encoding Coded = isa::Encoding::Other;
  bool IsDpp = false;

  unsigned sources() const { return unsigned(List.size()) - Results; }
  const MachineOperand &source(unsigned K) const { return List[Results + K]; }
  bool isClamped() const;
  /// The result is multiplied by two to the power of this.
  int outputShift() const;
  /// The field of a vector instruction's first source, which says in which form
  /// of DPP it is.
  unsigned firstSource() const;
  /// The dword that follows the others in DPP.
  uint32_t dppWord() const {
    return Words[Coded == isa::Encoding::Other ? 1 : 2];
  }
  /// The float that source K of a VOP3 or a scalar encoding names; nothing if
  /// it is something else.
  std::optional<uint64_t> inlineFloat(unsigned K, OperandType Type) const;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_MACHINEOPERANDS_H
