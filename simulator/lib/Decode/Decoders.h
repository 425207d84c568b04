//===- Decoders.h - Instructions by their kind ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What resolves the operands and modifiers of each kind of instruction. All
// return why an instruction cannot be executed, or an empty string.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_DECODERS_H
#define LNBWD_LIB_SIMULATOR_DECODE_DECODERS_H

#include "Core/MatrixShape.h"
#include "Core/Operation.h"
#include "Decode/MachineOperands.h"
#include "SimulatedChip.h"

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace lnbwd::sim {

/// What decoders say of what they do not know.
constexpr const char *NotImplemented = "the instruction is not implemented";
constexpr const char *OperandCount = "it has an unexpected number of operands";
/// "'What' is not modelled here"
std::string notModelled(llvm::StringRef What);

class OperandDecoder {
public:
  explicit OperandDecoder(unsigned WaveSize) : N(WaveSize) {}
  /// A source of the type.
  std::string source(const MachineOperand &From, OperandType Type, Operand &O);
  std::string scalarDestination(const MachineOperand &From, Operand &O);
  /// VCC as a lane mask's destination.
  Operand vcc() const;
  /// Gives O a constant, and a row of it.
  void constant(Operand &O, uint64_t Value);
  /// A constant once for each lane, low dwords before high ones; lives as long
  /// as this.
  const uint32_t *constantRow(uint64_t Value);

private:
  const unsigned N;
  std::map<uint64_t, std::unique_ptr<std::array<uint32_t, 128>>> Constants;
};

/// Scalar instructions but for loads.
class ScalarDecoder {
public:
  explicit ScalarDecoder(OperandDecoder &Operands) : Operands(Operands) {}
  /// The handler is set already.
  std::string decode(const MachineOperands &From, Inst &I);

private:
  OperandDecoder &Operands;
};

/// Vector instructions that do the same in each lane, and those that cross
/// lanes.
class LaneDecoder {
public:
  LaneDecoder(const SimulatedChip &Chip, unsigned WaveSize,
              const ExecTable &Table, OperandDecoder &Operands)
      : Chip(Chip), N(WaveSize), Table(Table), Operands(Operands) {}
  std::string decode(const MachineOperands &From, const LaneOpInfo &Info,
                     Inst &I);
  /// The handler is set already.
  std::string decodeCrossLane(const MachineOperands &From, Inst &I);

private:
  std::string modifiers(const MachineOperands &From, const LaneOpInfo &Info,
                        Inst &I, bool &Slow);
  std::string halves(const MachineOperands &From, const LaneOpInfo &Info,
                     Inst &I, bool &Slow);
  std::string dpp(const MachineOperands &From, const LaneOpInfo &Info, Inst &I);
  template <typename T> void permute(Inst &I, T From);
  bool permuteBy(unsigned Control, bool WholeRegisters, Inst &I);
  uint64_t dppEnabled(unsigned RowMask, unsigned BankMask) const;

  const SimulatedChip &Chip;
  const unsigned N;
  const ExecTable &Table;
  OperandDecoder &Operands;
  std::deque<DppPattern> DppPatterns;
};

/// Loads, stores and atomics of all kinds of memory.
class MemoryDecoder {
public:
  MemoryDecoder(const SimulatedChip &Chip, const ExecTable &Table,
                OperandDecoder &Operands)
      : Chip(Chip), Table(Table), Operands(Operands) {}
  std::string decode(const MachineOperands &From, Inst &I);

private:
  std::string decodeVector(const MachineOperands &From,
                           const isa::MemoryFacts &Facts, Inst &I);
  std::string decodeLds(const MachineOperands &From,
                        const isa::MemoryFacts &Facts, Inst &I);
  std::string decodeTensor(const MachineOperands &From, Inst &I);
  std::string decodeScalarLoad(const MachineOperands &From,
                               const isa::MemoryFacts &Facts, Inst &I);
  std::string modifiers(const MachineOperands &From, Inst &I) const;

  const SimulatedChip &Chip;
  const ExecTable &Table;
  OperandDecoder &Operands;
};

/// Matrix instructions.
class MatrixDecoder {
public:
  MatrixDecoder(const SimulatedChip &Chip, unsigned WaveSize,
                const ExecTable &Table, OperandDecoder &Operands)
      : Chip(Chip), N(WaveSize), Table(Table), Operands(Operands) {}
  std::string decode(const MachineOperands &From, Inst &I);

private:
  const SimulatedChip &Chip;
  const unsigned N;
  const ExecTable &Table;
  OperandDecoder &Operands;
  std::deque<MatrixShape> Shapes;
};

/// Conversions to and from fp8, bf8, fp6, bf6 and fp4, and those that round by
/// a random number.
class ConversionDecoder {
public:
  ConversionDecoder(const SimulatedChip &Chip, const ExecTable &Table,
                    OperandDecoder &Operands)
      : Chip(Chip), Table(Table), Operands(Operands) {}
  /// Whether an instruction is one of these.
  static bool knows(llvm::StringRef Name);
  std::string decode(const MachineOperands &From, Inst &I);

private:
  const SimulatedChip &Chip;
  const ExecTable &Table;
  OperandDecoder &Operands;
  std::deque<SmallConversion> Conversions;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_DECODERS_H
