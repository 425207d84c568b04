//===- PassOptions.cpp - Options that many passes have --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An error says which option it is, what was expected of it and what came.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/PassOptions.h"

#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace lnbwd;

FailureOr<const ChipInfo *> lnbwd::getChipOption(Operation *root,
                                                 StringRef chip) {
  return lookupChip(chip, [&] { return emitError(root->getLoc()); });
}

LogicalResult lnbwd::checkRowsOption(Operation *root, int64_t rows) {
  if (rows >= 0)
    return success();
  return emitError(root->getLoc())
         << "expected rows to be at least 0, got " << rows;
}

LogicalResult lnbwd::checkModeOption(Operation *root, StringRef name,
                                     StringRef mode) {
  if (mode == "auto" || mode == "always" || mode == "never")
    return success();
  return emitError(root->getLoc())
         << "expected " << name << " to be auto, always or never, got '" << mode
         << "'";
}
