//===- PassOptions.h - Options that many passes have ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes check of the options of PassOptions.td, and of those that say
// when. What is wrong is an error at the operation that the pass is run on.
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

/// The chip that the option `chip` names.
mlir::FailureOr<const ChipInfo *> getChipOption(mlir::Operation *root,
                                                llvm::StringRef chip);

/// Whether the option `name`, which counts something, is not negative.
mlir::LogicalResult checkCountOption(mlir::Operation *root,
                                     llvm::StringRef name, int64_t count);

/// Whether the option `name` says auto, always or never.
mlir::LogicalResult checkModeOption(mlir::Operation *root, llvm::StringRef name,
                                    llvm::StringRef mode);

} // namespace lnbwd

#endif // LNBWD_TARGET_PASSOPTIONS_H
