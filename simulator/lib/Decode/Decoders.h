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

#include "Core/Instruction.h"
#include "Core/MatrixShape.h"
#include "SimulatedChip.h"

#include "lnbwd/ISA/Disassembler.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace lnbwd::sim {

// Registers, constants and the signs of sources are operands of LLVM's MCInst.
// What else modifies an instruction is read from its encoding, where the ISA
// documents say it: LLVM has it, too, but the order of such operands is private
// to the backend.

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

// Types by name, and where the elements of matrices lie.

enum class MatrixFamily : uint8_t { Mfma, Smfmac, Wmma, Swmmac };

/// The type of that name in a mnemonic. OneZero: fp8 and bf8 are those of
/// gfx942, with one zero; later chips have OCP's.
std::optional<MatrixType> matrixType(llvm::StringRef Name, bool OneZero);

/// What the places depend on beside the shape.
struct MatrixLayout {
  unsigned Generation; ///< of the instruction set, 9 and more
  unsigned WaveSize;
  bool IsCdna5 = false;
  /// CBSZ, ABID and BLGP of v_mfma: 2^AGroup blocks of A take the place of
  /// block ABlock among them, and BPattern says which lanes give B.
  unsigned AGroup = 0, ABlock = 0, BPattern = 0;
};

/// Fills the places of S, whose other members are set already. DwordsA and
/// DwordsB are the registers of the factors.
void locateElements(MatrixShape &S, MatrixFamily Family, const MatrixLayout &P,
                    unsigned DwordsA, unsigned DwordsB);

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

/// The common part of the decoders of vector and memory instructions.
struct DecoderContext {
  const SimulatedChip &Chip;
  const unsigned N; ///< lanes of a wave
  const ExecTable &Table;
  OperandDecoder &Operands;
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
class LaneDecoder : DecoderContext {
public:
  explicit LaneDecoder(const DecoderContext &C) : DecoderContext(C) {}
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
  std::deque<DppPattern> DppPatterns;
};

/// Loads, stores and atomics of all kinds of memory.
class MemoryDecoder : DecoderContext {
public:
  explicit MemoryDecoder(const DecoderContext &C) : DecoderContext(C) {}
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
};

/// Matrix instructions.
class MatrixDecoder : DecoderContext {
public:
  explicit MatrixDecoder(const DecoderContext &C) : DecoderContext(C) {}
  std::string decode(const MachineOperands &From, Inst &I);

private:
  std::deque<MatrixShape> Shapes;
};

/// Conversions to and from fp8, bf8, fp6, bf6 and fp4, and those that round by
/// a random number.
class ConversionDecoder : DecoderContext {
public:
  explicit ConversionDecoder(const DecoderContext &C) : DecoderContext(C) {}
  /// Whether an instruction is one of these.
  static bool knows(llvm::StringRef Name);
  std::string decode(const MachineOperands &From, Inst &I);

private:
  std::deque<SmallConversion> Conversions;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_DECODERS_H
