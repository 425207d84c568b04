//===- PassOptions.cpp - What many passes ask for -------------------------===//
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

#include "mlir/Dialect/DLTI/DLTI.h"

using namespace mlir;
using namespace lnbwd;

static constexpr StringLiteral optionPrefix = "option ";

Location lnbwd::getOptionLoc(MLIRContext *context, StringRef option) {
  return NameLoc::get(StringAttr::get(context, optionPrefix + option));
}

StringRef lnbwd::getOption(Location location) {
  auto name = dyn_cast<NameLoc>(location);
  StringRef text = name ? name.getName().getValue() : "";
  return text.consume_front(optionPrefix) ? text : "";
}

FailureOr<TargetId> lnbwd::getTarget(Operation *op) {
  Operation *at = op;
  while (at && !at->hasAttr(DLTIDialect::kTargetSystemDescAttrName))
    at = at->getParentOp();
  FailureOr<Attribute> found = failure();
  if (at)
    found = dlti::query(at, {StringRef(targetDevice), StringRef(targetChip)});
  auto chip = succeeded(found) ? dyn_cast<StringAttr>(*found) : StringAttr();
  if (!chip)
    return op->emitError("expected a module for a chip; run lnbwd-set-chip "
                         "before");
  return lookupTarget(chip, [&] { return op->emitError(); });
}

FailureOr<const ChipInfo *> lnbwd::getChip(Operation *op) {
  FailureOr<TargetId> target = getTarget(op);
  if (failed(target))
    return failure();
  return target->chip;
}

LogicalResult lnbwd::checkCountOption(Operation *root, StringRef name,
                                      int64_t count) {
  if (count >= 0)
    return success();
  return emitError(getOptionLoc(root->getContext(), name))
         << "expected " << name << " to be at least 0, got " << count;
}

LogicalResult lnbwd::checkModeOption(Operation *root, StringRef name,
                                     StringRef mode) {
  if (mode == "auto" || mode == "always" || mode == "never")
    return success();
  return emitError(getOptionLoc(root->getContext(), name))
         << "expected " << name << " to be auto, always or never, got '" << mode
         << "'";
}
