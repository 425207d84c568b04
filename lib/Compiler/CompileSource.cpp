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
#include "lnbwd/Report/Report.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
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
// The second choice of schedules lives here, and not in a pass: whether a
// kernel spills is known when it has been emitted, behind the last pass, and
// another schedule changes the IR from lnbwd-split-two-pass on. What must not
// be chosen again lies in the IR, as an attribute of the module: a pass manager
// that is given that module makes the same kernels.
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
} // namespace

using RunPasses = function_ref<LogicalResult(ModuleOp)>;

static FailureOr<Compilation> compileOnce(ModuleOp module, RunPasses runPasses,
                                          EmitFormat format,
                                          const EmitOptions &options,
                                          TimingScope *timing) {
  Compilation result;
  result.lowered = module.clone();
  if (failed(runPasses(*result.lowered)) || failed(verify(*result.lowered)))
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

/// What all spills of a compilation come to, in bytes of a lane: a measure to
/// compare compilations by.
static int64_t getSpillCost(ArrayRef<Spill> spills) {
  int64_t cost = 0;
  for (const Spill &spill : spills)
    cost += spill.resources.scratchBytes +
            4 * spill.resources.spilledVectorRegisters;
  return cost;
}

/// `module` with the schedules of `spills` on `lnbwd.rejected_schedules`, by
/// the entries of programs. Null if no kernel says what it was made of.
static OwningOpRef<ModuleOp> rejectSchedules(ModuleOp module,
                                             ArrayRef<Spill> spills) {
  llvm::MapVector<StringAttr, llvm::SetVector<Attribute>> schedules;
  for (const Spill &spill : spills)
    if (spill.info)
      schedules[spill.info.getEntry()].insert(spill.info.getSchedule());
  if (schedules.empty())
    return {};
  Builder builder(module.getContext());
  NamedAttrList lists;
  for (const auto &[entry, list] : schedules)
    lists.set(entry, builder.getArrayAttr(list.getArrayRef()));
  OwningOpRef<ModuleOp> copy = module.clone();
  copy->getOperation()->setAttr(rejectedSchedulesAttr,
                                lists.getDictionary(module.getContext()));
  return copy;
}

/// Runs the passes on a copy of `module` and emits its one GPU module. No
/// kernel should spill: where one does, all is done again with schedules that
/// take fewer registers, or first without the bound on registers that some
/// had. What spills least is kept; a remark says that it is another schedule
/// than the first, and a warning what still spills.
static FailureOr<Compilation>
compileModule(ModuleOp module, RunPasses runPasses, EmitFormat format,
              const EmitOptions &options, TimingScope *timing) {
  FailureOr<Compilation> best =
      compileOnce(module, runPasses, format, options, timing);
  if (failed(best))
    return failure();
  SmallVector<Spill> spills = findSpills(*best), rejected = spills;
  // Once more where it may have been the bound: a schedule that is set by hand
  // has it again.
  bool hadBound = true;
  for (int tries = 0; tries < 2 && hadBound; ++tries) {
    OwningOpRef<ModuleOp> next = rejectSchedules(module, rejected);
    if (!next)
      break;
    hadBound = llvm::any_of(rejected, [](const Spill &spill) {
      return spill.info && spill.info.getSchedule()->mostRegisters;
    });
    // What another compilation says is of interest if it is kept.
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
    SmallVector<Spill> left = findSpills(*another);
    if (getSpillCost(left) < getSpillCost(spills)) {
      for (const Spill &spill : spills)
        if (spill.info)
          emitRemark(spill.location, "kernel @")
              << spill.resources.name << " spills "
              << spill.resources.describeSpills() << " with "
              << spill.info.getSchedule() << "; taking another schedule";
      for (Diagnostic &message : messages)
        module.getContext()->getDiagEngine().emit(std::move(message));
      best = std::move(another);
      spills = left;
    }
    rejected = std::move(left);
  }
  for (const Spill &spill : spills) {
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
    // On the way to code only what all passes have made is verified: that each
    // leaves valid IR takes a tenth of the time.
    pm.enableVerifier(request.format == EmitFormat::MLIR || stages);
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
