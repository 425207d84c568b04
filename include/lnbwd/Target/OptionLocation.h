//===- OptionLocation.h - Where errors of options are -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error in an option of a pass is at no line of the source.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_OPTIONLOCATION_H
#define LNBWD_TARGET_OPTIONLOCATION_H

#include "mlir/IR/Location.h"

namespace lnbwd {

/// Where an error of an option is: no line of the source is at fault. Printed
/// as "option NAME".
mlir::Location getOptionLoc(mlir::MLIRContext *context, llvm::StringRef option);

/// The name of the option if `location` is one of getOptionLoc's, else empty.
llvm::StringRef getOption(mlir::Location location);

} // namespace lnbwd

#endif // LNBWD_TARGET_OPTIONLOCATION_H
