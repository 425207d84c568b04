//===- AttachLaunchPlan.cpp - Send the plan along with the code -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the launch plan of each function into the GPU module of its kernels, as
// a constant that ends up in the code object and as an attribute.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/LaunchPlan/LaunchPlan.h"
#include "lnbwd/LaunchPlan/Passes.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Target/TargetBackend.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace lnbwd {
#define GEN_PASS_DEF_ATTACHLAUNCHPLANPASS
#include "lnbwd/LaunchPlan/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The plan as a constant that the linker keeps and a loader finds by name.
static void addPlanSymbol(gpu::GPUModuleOp module, StringRef plan,
                          const TargetBackend &backend) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  std::string text = plan.str();
  text.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
  auto global = LLVM::GlobalOp::create(
      b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::External,
      launchPlanSymbol, b.getStringAttr(text), /*alignment=*/1,
      backend.getConstantAddressSpace());
  if (std::optional<StringRef> section = backend.getPlanSection()) {
    global.setSection(*section);
    global.setVisibility_(LLVM::Visibility::Protected);
  }
}

namespace {
class AttachLaunchPlan
    : public lnbwd::impl::AttachLaunchPlanPassBase<AttachLaunchPlan> {
public:
  using AttachLaunchPlanPassBase::AttachLaunchPlanPassBase;

  void runOnOperation() override {
    llvm::Expected<TargetId> target = parseTargetId(chip);
    if (!target) {
      emitError(getOptionLoc(&getContext(), "chip"),
                llvm::toString(target.takeError()));
      return signalPassFailure();
    }
    const TargetBackend &backend = TargetBackend::get(target->chip->backend);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      gpu::GPUModuleOp module;
      function.walk([&](gpu::LaunchFuncOp launch) {
        module = getOperation().lookupSymbol<gpu::GPUModuleOp>(
            launch.getKernelModuleName());
      });
      if (!module)
        continue;
      if (module->hasAttr(launchPlanAttr)) {
        function.emitError("expected the kernels of one function in a GPU "
                           "module, and @")
            << module.getName() << " has a launch plan already";
        return signalPassFailure();
      }
      FailureOr<std::string> plan = buildLaunchPlan(function, *target);
      if (failed(plan))
        return signalPassFailure();
      module->setAttr(launchPlanAttr, StringAttr::get(&getContext(), *plan));
      addPlanSymbol(module, *plan, backend);
      ++numPlans;
    }
  }
};
} // namespace
