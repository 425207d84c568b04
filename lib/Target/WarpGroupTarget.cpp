//===- WarpGroupTarget.cpp - Targets of matrix instructions ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pairs of chips and targets come from lib/Chips/Chips.json.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/WarpGroupTarget.h"

#include "lnbwd/Dialect/LNBwd/IR/TargetAttr.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lnbwd;

namespace {
struct Row {
  llvm::StringLiteral chip, target;
};
} // namespace

static constexpr Row rows[] = {
#include "lnbwd/Chips/WarpGroupTargets.inc"
};

StringRef lnbwd::getWarpGroupTarget(const ChipInfo &chip) {
  const Row *row = llvm::find_if(
      rows, [&](const Row &entry) { return entry.chip == chip.name; });
  return row == std::end(rows) ? StringRef() : StringRef(row->target);
}

StringRef lnbwd::getChipOfTarget(StringRef target) {
  const Row *row = llvm::find_if(
      rows, [&](const Row &entry) { return entry.target == target; });
  return row == std::end(rows) ? target : StringRef(row->chip);
}

void lnbwd::setTarget(gpu::GPUModuleOp module, StringRef target) {
  module->setAttr(moduleTargetAttr, StringAttr::get(module.getContext(), target));
}

StringRef lnbwd::getTarget(gpu::GPUModuleOp module) {
  auto target = module->getAttrOfType<StringAttr>(moduleTargetAttr);
  return target ? target.getValue() : StringRef();
}
