//===- SetChip.cpp - Which chip a module is for ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where a name becomes the target of all passes.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

namespace lnbwd {
#define GEN_PASS_DEF_SETCHIPPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
struct SetChip : lnbwd::impl::SetChipPassBase<SetChip> {
  using SetChipPassBase::SetChipPassBase;

  void runOnOperation() override {
    Location loc = getOptionLoc(&getContext(), "chip");
    FailureOr<TargetId> target =
        lookupTarget(chip, [&] { return emitError(loc); });
    if (failed(target))
      return signalPassFailure();
    auto known = getOperation()->getAttrOfType<StringAttr>(chipAttr);
    if (known && known != target->str()) {
      emitError(loc) << "expected the chip that the module is for, "
                     << known.getValue() << ", got " << target->str();
      return signalPassFailure();
    }
    getOperation()->setAttr(chipAttr,
                            StringAttr::get(&getContext(), target->str()));
  }
};
} // namespace
