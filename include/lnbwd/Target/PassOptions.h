//===- PassOptions.h - What many passes ask for -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chip that a module is for, and what passes check of options that count
// something or say when. What is wrong is an error.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_PASSOPTIONS_H
#define LNBWD_TARGET_PASSOPTIONS_H

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/IR/Location.h"

namespace lnbwd {

/// Where an error of an option is: no line of the source is at fault. Printed
/// as "option NAME".
mlir::Location getOptionLoc(mlir::MLIRContext *context, llvm::StringRef option);

/// The name of the option if `location` is one of getOptionLoc's, else empty.
llvm::StringRef getOption(mlir::Location location);

/// The keys of the chip in a module's `dlti.target_system_spec`.
inline constexpr llvm::StringLiteral targetDevice = "GPU", targetChip = "chip";

/// The chip of the module that `op` is or is in.
mlir::FailureOr<TargetId> getTarget(mlir::Operation *op);
mlir::FailureOr<const ChipInfo *> getChip(mlir::Operation *op);

/// Whether the option `name`, which counts something, is not negative.
mlir::LogicalResult checkCountOption(mlir::Operation *root,
                                     llvm::StringRef name, int64_t count);

/// Whether the option `name` says auto, always or never.
mlir::LogicalResult checkModeOption(mlir::Operation *root, llvm::StringRef name,
                                    llvm::StringRef mode);

} // namespace lnbwd

#endif // LNBWD_TARGET_PASSOPTIONS_H
