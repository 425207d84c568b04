//===- MachineCode.h - The instructions of a kernel -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Disassembles AMD code objects and says for each instruction what class it is
// of and which part of the kernel it belongs to.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_REPORT_MACHINECODE_H
#define LNBWD_LIB_REPORT_MACHINECODE_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/ISA/InstructionRecord.h"
#include "lnbwd/Report/CodeFigures.h"
#include "lnbwd/Target/ChipInfo.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace lnbwd {

/// The part of a kernel that an instruction is of, as `lane.part` has it.
struct KernelPart {
  lane::PartKind kind = lane::PartKind::Setup;
  bool reload = false;
  bool scalars = false;
  /// The number of row groups that take part; 0: all.
  unsigned groups = 0;
};

struct Instruction {
  InstructionClass kind;
  /// Two operations in one.
  bool isDual = false;
  bool isStore = false;
  /// A buffer access, whose descriptor has bounds: beyond them it is dropped.
  bool isBounded = false;
  /// Bytes of an access: of each lane, or of the wave for scalar memory.
  int64_t bytes = 0;
  /// Multiplications and additions of a wave's matrix instruction, in pairs.
  int64_t multiplyAdds = 0;
  KernelPart part;
};

/// The class of an AMD instruction and what it accesses.
Instruction classify(const isa::InstructionRecord &record, bool isDual);

/// Turns the notes of parts in a lowered module's locations into line numbers,
/// which code emission then writes to the object's line table: line 1 is the
/// first part of the result, and so on.
mlir::FailureOr<llvm::SmallVector<KernelPart>>
notePartsAsLines(mlir::ModuleOp module);

/// The instructions of `kernel` in an AMD code object with such a table of
/// `parts`.
llvm::Expected<llvm::SmallVector<Instruction>>
readInstructions(llvm::StringRef object, llvm::StringRef kernel,
                 llvm::ArrayRef<KernelPart> parts, const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_LIB_REPORT_MACHINECODE_H
