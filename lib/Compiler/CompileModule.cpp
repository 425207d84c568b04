//===- CompileModule.cpp - From a module to machine code ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over schedules lives here, and not in a pass: whether a kernel
// spills is known when it has been emitted, behind the last pass, and another
// schedule changes the IR from lnbwd-split-two-pass on. What the loop knows
// lies in the IR, as an attribute of the module: a pass manager that is given
// that module makes the same kernels again, without the loop.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Compiler/CompileModule.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Transforms/ScheduleModel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace lnbwd;

FailureOr<gpu::GPUModuleOp> lnbwd::getGPUModule(ModuleOp module,
                                                EmitFormat format) {
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() == 1)
    return modules.front();
  return module->emitError("expected one gpu.module to emit as ")
         << getEmitFormatName(format) << ", got " << modules.size()
         << "; lower one function for a chip first, for example by "
            "--lnbwd-pipeline=\"chip=gfx942\"";
}

namespace {
/// A kernel that spills, by the row program that it was made of.
struct Spill {
  LLVM::LLVMFuncOp kernel;
  KernelInfoAttr info;
  std::string what;
};

/// The schedules that a program must not have, by the program's name.
class Rejections {
public:
  bool add(KernelInfoAttr info) {
    return schedules[info.getEntry()].insert(info.getSchedule());
  }
  void attachTo(ModuleOp module) const {
    if (schedules.empty())
      return;
    NamedAttrList lists;
    for (const auto &[entry, list] : schedules) {
      SmallVector<Attribute> attributes(list.begin(), list.end());
      lists.set(entry, ArrayAttr::get(module.getContext(), attributes));
    }
    module->setAttr(rejectedSchedulesAttr,
                    lists.getDictionary(module.getContext()));
  }

private:
  llvm::MapVector<StringAttr, llvm::SetVector<ScheduleAttr>> schedules;
};
} // namespace

static FailureOr<Compilation> compileOnce(ModuleOp module, PassManager &pm,
                                          EmitFormat format,
                                          const EmitOptions &options,
                                          TimingScope *timing) {
  Compilation result;
  result.lowered = module.clone();
  if (failed(pm.run(*result.lowered)))
    return failure();
  FailureOr<gpu::GPUModuleOp> gpuModule = getGPUModule(*result.lowered, format);
  if (failed(gpuModule))
    return failure();
  FailureOr<const TargetBackend *> backend = TargetBackend::get(*gpuModule);
  if (failed(backend))
    return failure();
  TimingScope scope;
  if (timing)
    scope = timing->nest("Code emission");
  FailureOr<Emission> emission = (*backend)->emit(*gpuModule, format, options);
  if (failed(emission))
    return failure();
  result.emission = std::move(*emission);
  return result;
}

static SmallVector<Spill> findSpills(Compilation &compilation) {
  SmallVector<Spill> spills;
  compilation.lowered->walk([&](LLVM::LLVMFuncOp kernel) {
    const auto *resources = llvm::find_if(
        compilation.emission.kernels, [&](const KernelResources &candidate) {
          return candidate.name == kernel.getName();
        });
    if (resources != compilation.emission.kernels.end() && resources->spills())
      spills.push_back({kernel,
                        kernel->getAttrOfType<KernelInfoAttr>(kernelInfoAttr),
                        resources->describeSpills()});
  });
  return spills;
}

static void warn(MutableArrayRef<Spill> spills) {
  for (Spill &spill : spills) {
    InFlightDiagnostic diag = spill.kernel.emitWarning("kernel @")
                              << spill.kernel.getName() << " spills "
                              << spill.what;
    if (spill.info)
      diag << " with " << spill.info.getSchedule();
  }
}

FailureOr<Compilation> lnbwd::compileModule(ModuleOp module, PassManager &pm,
                                            EmitFormat format,
                                            const EmitOptions &options,
                                            TimingScope *timing) {
  FailureOr<Compilation> result =
      compileOnce(module, pm, format, options, timing);
  if (failed(result))
    return failure();
  Rejections rejections;
  while (true) {
    SmallVector<Spill> spills = findSpills(*result);
    SmallVector<Spill> rejected, kept;
    for (const Spill &spill : spills)
      (spill.info && rejections.add(spill.info) ? rejected : kept)
          .push_back(spill);
    if (rejected.empty()) {
      warn(kept);
      return result;
    }
    // What a try without these schedules says is of interest only if it is the
    // one that stays.
    OwningOpRef<ModuleOp> next = module.clone();
    rejections.attachTo(*next);
    SmallVector<Diagnostic> messages;
    FailureOr<Compilation> another = failure();
    {
      ScopedDiagnosticHandler collect(
          module.getContext(),
          [&](Diagnostic &diag) { messages.push_back(std::move(diag)); });
      another = compileOnce(*next, pm, format, options, timing);
    }
    SmallVector<Spill> after;
    if (succeeded(another))
      after = findSpills(*another);
    llvm::erase_if(rejected, [&](const Spill &before) {
      return failed(another) || llvm::any_of(after, [&](const Spill &spill) {
               return spill.info == before.info;
             });
    });
    if (rejected.empty()) {
      warn(spills);
      return result;
    }
    for (Spill &spill : rejected)
      spill.kernel.emitRemark("kernel @")
          << spill.kernel.getName() << " spills " << spill.what << " with "
          << spill.info.getSchedule() << "; trying the next schedule";
    for (Diagnostic &message : messages)
      module.getContext()->getDiagEngine().emit(std::move(message));
    result = std::move(another);
  }
}
