//===- AttachNVVMTarget.cpp - What GPU modules are compiled for -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's pass of this kind gives all modules the same target; here a module
// may ask for one of its own.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/TargetAttr.h"
#include "lnbwd/Target/OptionLocation.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Target/Passes.h"
#include "lnbwd/Target/WarpGroupTarget.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace lnbwd {
#define GEN_PASS_DEF_ATTACHNVVMTARGETPASS
#include "lnbwd/Target/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class AttachNVVMTarget
    : public lnbwd::impl::AttachNVVMTargetPassBase<AttachNVVMTarget> {
public:
  using AttachNVVMTargetPassBase::AttachNVVMTargetPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found))
      return signalPassFailure();
    const ChipInfo &info = **found;
    if (info.backend != Backend::NVPTX) {
      emitError(getOptionLoc(&getContext(), "chip"))
          << "expected a chip of NVIDIA's, got " << info.name
          << "; use rocdl-attach-target";
      return signalPassFailure();
    }
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>()) {
      StringRef target = getTarget(module);
      if (target.empty())
        target = info.name;
      if (getChipOfTarget(target) != info.name) {
        module.emitOpError("expected ")
            << moduleTargetAttr << " to be a target of " << info.name
            << ", which its code is for, got '" << target
            << "'; convert its products for that chip";
        return signalPassFailure();
      }
      constexpr int optLevel = 3;
      Attribute attached = NVVM::NVVMTargetAttr::get(&getContext(), optLevel,
                                                     "nvptx64-nvidia-cuda",
                                                     target, info.features);
      module.setTargetsAttr(ArrayAttr::get(&getContext(), {attached}));
      ++numModules;
    }
  }
};
} // namespace
