//===- ChipInfo.h - The table of chips --------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's view of the chips. Its members and rows are made of their
// description, lib/Chips/Chips.json, which says unit and origin of each fact
// (docs/reference/chips.md); no code compares a chip's name.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_CHIPINFO_H
#define LNBWD_TARGET_CHIPINFO_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace lnbwd {

/// The code generators that chips share.
enum class Backend { AMDGPU, NVPTX };

/// The kinds of matrix instructions, each of which has its operands in another
/// place of a wave.
enum class MatrixUnit {
  None,
  /// 16 elements deep; a lane has a fourth of a row.
  MFMA,
  /// 32 elements deep; a lane has a fourth of a row.
  WideMFMA,
  /// A lane has a whole row of 16, and another one the same.
  ReplicatedWMMA,
  /// A lane has half a row of 16.
  WMMA,
  /// A lane has half a row of 32.
  WideWMMA,
  /// NVIDIA's, for a warp; operands come by ldmatrix.
  MmaSync
};

/// The formats of 8-bit floats that instructions convert: those of the Open
/// Compute Project, E4M3FN and E5M2, or those of one zero.
enum class Float8Unit { None, FNUZ, OCP };

/// Lanes of a row of DPP, among which AMD's waves move values; four rows are a
/// wave of 64.
inline constexpr int64_t dppRowLanes = 16;

#define GET_CHIP_GROUPS
#include "lnbwd/Chips/CompilerChips.inc"

/// What the compiler needs to know of a chip.
struct ChipInfo {
  /// The name as LLVM's `-mcpu` takes it.
  llvm::StringRef name;
#define GET_CHIP_MEMBERS
#include "lnbwd/Chips/CompilerChips.inc"
};

/// All chips, AMD's first, oldest first.
llvm::ArrayRef<ChipInfo> getChips();

/// A chip with the settings of its device that code may depend on, as LLVM's
/// target ids have it: "gfx942" runs on all devices of the chip,
/// "gfx942:xnack+" on those that repeat accesses after page faults.
struct TargetId {
  const ChipInfo *chip = nullptr;
  /// On, off, or either.
  std::optional<bool> sramEcc;
  std::optional<bool> xnack;

  /// The canonical spelling: the chip and the settings in alphabetical order.
  std::string str() const;
  /// What LLVM calls the settings, "+sramecc,-xnack"; those of the chip itself
  /// go before them.
  std::string getFeatures() const;
};

/// Reads a chip's name and its settings, in any order. The error's message
/// says what was expected: the known chips for an unknown one.
llvm::Expected<TargetId> parseTargetId(llvm::StringRef text);

/// The same; where it is none, `emitError` has the message.
mlir::FailureOr<TargetId>
lookupTarget(llvm::StringRef targetId,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The names of all chips, separated by ", ".
std::string listChips();

} // namespace lnbwd

#endif // LNBWD_TARGET_CHIPINFO_H
