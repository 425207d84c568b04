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

#include "lnbwd/Chips/ChipNames.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace lnbwd;

/// Whether something is left that a pipeline would make kernels of.
static bool holdsPrograms(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isa_and_nonnull<LNBwdDialect>(op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<gpu::GPUModuleOp> lnbwd::getGPUModule(ModuleOp module,
                                                EmitFormat format) {
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() == 1)
    return modules.front();
  InFlightDiagnostic diag = module->emitError("expected one function with ")
                            << "kernels to emit as "
                            << getEmitFormatName(format) << ", got "
                            << modules.size();
  if (modules.size() > 1)
    diag << "; write each to a file of its own";
  else if (holdsPrograms(module))
    diag << ": a row program or named operation, lowered for a chip, for "
            "example by --lnbwd-pipeline=\"chip=" LNBWD_DEFAULT_SIMULATED_CHIP
            "\"";
  else
    diag << ": the module has no row program and no named operation of lnbwd";
  return diag;
}

/// Compilations before the one that spills least is kept.
static constexpr int maxTries = 8;

namespace {
/// A kernel that spills, and what it was made of, if that is known.
struct Spill {
  Location location;
  KernelResources resources;
  KernelInfoAttr info;
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
  // A report is on the code.
  if (format == EmitFormat::Report || format == EmitFormat::ReportJSON)
    format = (*backend)->getCodeFormat();
  EmitOptions timed = options;
  timed.timing = &scope;
  FailureOr<Emission> emission = (*backend)->emit(*gpuModule, format, timed);
  if (failed(emission))
    return failure();
  result.emission = std::move(*emission);
  return result;
}

static SmallVector<Spill> findSpills(Compilation &compilation) {
  SmallVector<Spill> spills;
  compilation.lowered->walk([&](LLVM::LLVMFuncOp kernel) {
    for (const KernelResources &resources : compilation.emission.kernels)
      if (resources.name == kernel.getName() && resources.spills())
        spills.push_back(
            {kernel.getLoc(), resources,
             kernel->getAttrOfType<KernelInfoAttr>(kernelInfoAttr)});
  });
  return spills;
}

/// What all spills of a compilation come to, in bytes of a lane and its share
/// of a wave: a measure to compare tries by.
static int64_t getSpillCost(ArrayRef<Spill> spills) {
  int64_t cost = 0;
  for (const Spill &spill : spills)
    cost += spill.resources.scratchBytes +
            4 * (spill.resources.spilledVectorRegisters +
                 spill.resources.spilledScalarRegisters);
  return cost;
}

FailureOr<Compilation> lnbwd::compileModule(ModuleOp module, PassManager &pm,
                                            EmitFormat format,
                                            const EmitOptions &options,
                                            TimingScope *timing) {
  FailureOr<Compilation> best =
      compileOnce(module, pm, format, options, timing);
  if (failed(best))
    return failure();
  SmallVector<Spill> leastSpills = findSpills(*best);
  SmallVector<Spill> spills = leastSpills;
  Rejections rejections;
  for (int tries = 1; tries < maxTries && !spills.empty(); ++tries) {
    // A schedule that comes again was set by hand, or is the last that is left.
    SmallVector<Spill> rejected;
    for (const Spill &spill : spills)
      if (spill.info && rejections.add(spill.info))
        rejected.push_back(spill);
    if (rejected.empty())
      break;
    OwningOpRef<ModuleOp> next = module.clone();
    rejections.attachTo(*next);
    // What a try says is of interest if it is one.
    SmallVector<Diagnostic> messages;
    FailureOr<Compilation> another = failure();
    {
      ScopedDiagnosticHandler collect(
          module.getContext(),
          [&](Diagnostic &diag) { messages.push_back(std::move(diag)); });
      another = compileOnce(*next, pm, format, options, timing);
    }
    if (failed(another))
      break;
    spills = findSpills(*another);
    bool isNew = false;
    for (const Spill &before : rejected) {
      bool remains = llvm::any_of(spills, [&](const Spill &spill) {
        return spill.info == before.info;
      });
      if (remains)
        continue;
      isNew = true;
      emitRemark(before.location, "kernel @")
          << before.resources.name << " spills "
          << before.resources.describeSpills() << " with "
          << before.info.getSchedule() << "; trying the next schedule";
    }
    if (!isNew)
      break;
    for (Diagnostic &message : messages)
      module.getContext()->getDiagEngine().emit(std::move(message));
    if (getSpillCost(spills) < getSpillCost(leastSpills)) {
      leastSpills = spills;
      best = std::move(another);
    }
  }
  for (const Spill &spill : leastSpills) {
    InFlightDiagnostic diag = emitWarning(spill.location, "kernel @")
                              << spill.resources.name << " spills "
                              << spill.resources.describeSpills();
    if (spill.info)
      diag << " with " << spill.info.getSchedule();
  }
  return best;
}
