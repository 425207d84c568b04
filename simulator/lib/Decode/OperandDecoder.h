//===- OperandDecoder.h - Operands of instructions --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resolves the operands of an instruction by the types that it gives them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_OPERANDDECODER_H
#define LNBWD_LIB_SIMULATOR_DECODE_OPERANDDECODER_H

#include "Decode/MachineOperands.h"

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace lnbwd::sim {

/// What decoders say of what they do not know. All of them return why an
/// instruction cannot be executed, or an empty string.
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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_OPERANDDECODER_H
