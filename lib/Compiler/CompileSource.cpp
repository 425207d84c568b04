//===- CompileSource.cpp - From source text to machine code ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Compiler/CompileSource.h"

#include "lnbwd/Chips/ChipNames.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Pipelines/Pipelines.h"
#include "lnbwd/Pipelines/Stages.h"
#include "lnbwd/Report/Report.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// From a module to machine code
//===----------------------------------------------------------------------===//
//
// The loop over schedules lives here, and not in a pass: whether a kernel
// spills is known when it has been emitted, behind the last pass, and another
// schedule changes the IR from lnbwd-split-two-pass on. What the loop knows
// lies in the IR, as an attribute of the module: a pass manager that is given
// that module makes the same kernels again, without the loop.
//

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

/// The one GPU module of a module that was lowered; anything else is an error
/// that names `format`.
static FailureOr<gpu::GPUModuleOp> getGPUModule(ModuleOp module,
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
/// A module that was lowered, and what it was emitted as.
struct Compilation {
  OwningOpRef<ModuleOp> lowered;
  Emission emission;
};

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

using RunPasses = function_ref<LogicalResult(ModuleOp)>;

static FailureOr<Compilation> compileOnce(ModuleOp module, RunPasses runPasses,
                                          EmitFormat format,
                                          const EmitOptions &options,
                                          TimingScope *timing) {
  Compilation result;
  result.lowered = module.clone();
  if (failed(runPasses(*result.lowered)))
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

/// Runs the passes on a copy of `module` and emits its one GPU module. No
/// kernel should spill: where one does, its schedule is put on the list
/// `lnbwd.rejected_schedules` of `module`'s next copy, which the schedule model
/// chooses beside, and all is done again; a remark says so. Where that does not
/// help, because somebody has set the schedule, no other can run, or several
/// more have spilled, the kernel that spills least is kept, with a warning.
static FailureOr<Compilation>
compileModule(ModuleOp module, RunPasses runPasses, EmitFormat format,
              const EmitOptions &options, TimingScope *timing) {
  FailureOr<Compilation> best =
      compileOnce(module, runPasses, format, options, timing);
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
      another = compileOnce(*next, runPasses, format, options, timing);
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

//===----------------------------------------------------------------------===//
// From source text to a module
//===----------------------------------------------------------------------===//

void lnbwd::registerCompilerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<LNBwdDialect, lane::LaneDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
}

/// Runs the passes, and writes the module as text, as the code of its one GPU
/// module, or as a report on that.
static FailureOr<std::string> emitModule(ModuleOp module, RunPasses runPasses,
                                         const CompileRequest &request,
                                         StageWriter *stages) {
  if (request.format == EmitFormat::MLIR) {
    if (failed(runPasses(module)))
      return failure();
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    os << "\n";
    return text;
  }
  EmitOptions options = request.emit;
  options.onIntermediate = [&](StringRef suffix, StringRef contents) {
    if (stages)
      stages->write(("kernel." + suffix).str(), contents);
    if (request.emit.onIntermediate)
      request.emit.onIntermediate(suffix, contents);
  };
  FailureOr<Compilation> compilation =
      compileModule(module, runPasses, request.format, options, request.timing);
  if (failed(compilation))
    return failure();
  if (request.format != EmitFormat::Report &&
      request.format != EmitFormat::ReportJSON)
    return std::move(compilation->emission.contents);
  FailureOr<Report> report = buildReport(
      *compilation->lowered, compilation->emission, request.reportRows);
  if (failed(report))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (request.format == EmitFormat::Report)
    report->printText(os);
  else
    report->printJSON(os);
  return text;
}

FailureOr<std::string> lnbwd::compileSource(StringRef source, StringRef name,
                                            const DialectRegistry &registry,
                                            const CompileRequest &request,
                                            llvm::raw_ostream &diagnostics) {
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(source, name), llvm::SMLoc());
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // An error says what to do; the whole operation behind it would hide that.
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler handler(*sources, &context, diagnostics);
  ScopedDiagnosticHandler ofOptions(&context, [&](Diagnostic &diag) {
    StringRef option = getOption(diag.getLocation());
    if (option.empty())
      return failure();
    diagnostics << "option '" << option << "': ";
    llvm::WithColor::error(diagnostics) << diag.str() << "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();

  std::optional<StageWriter> stages;
  if (!request.saveTemps.empty()) {
    registerPipelines();
    stages.emplace(request.saveTemps);
  }
  auto configure = [&](PassManager &pm) -> LogicalResult {
    if (request.timing)
      pm.enableTiming(*request.timing);
    return request.configure ? request.configure(pm) : success();
  };
  PassManager pm(module->getOperation()->getName());
  if (failed(configure(pm)) || failed(request.addPasses(pm)))
    return failure();
  auto runPasses = [&](ModuleOp copy) {
    return stages ? stages->run(pm, copy, configure) : pm.run(copy);
  };
  FailureOr<std::string> output =
      emitModule(*module, runPasses, request, stages ? &*stages : nullptr);
  if (!stages || stages->getError().empty())
    return output;
  llvm::WithColor::error(diagnostics, "lnbwd-opt")
      << stages->getError() << "\n";
  return failure();
}
