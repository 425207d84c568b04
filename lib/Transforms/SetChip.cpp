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

#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/DLTI/DLTI.h"

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
    for (ModuleOp nested : getOperation().getOps<ModuleOp>()) {
      nested.emitError("expected no module within the module that is compiled; "
                       "move its functions out of it");
      return signalPassFailure();
    }
    StringRef name = DLTIDialect::kTargetSystemDescAttrName;
    Builder b(&getContext());
    auto entry = [&](StringRef key, Attribute value) {
      return DataLayoutEntryInterface(
          DataLayoutEntryAttr::get(b.getStringAttr(key), value));
    };
    Attribute device = TargetDeviceSpecAttr::get(
        &getContext(), entry(targetChip, b.getStringAttr(target->str())));
    Attribute system =
        TargetSystemSpecAttr::get(&getContext(), entry(targetDevice, device));
    Attribute known = getOperation()->getAttr(name);
    if (known && known != system) {
      emitError(loc) << "expected the target that the module is for, " << known
                     << ", got " << target->str();
      return signalPassFailure();
    }
    getOperation()->setAttr(name, system);
  }
};
} // namespace
