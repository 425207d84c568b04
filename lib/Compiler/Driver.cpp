//===- Driver.cpp - From source text to machine code ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Compiler/Driver.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Pipelines/StageDumper.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace lnbwd;

void lnbwd::registerCompilerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerTargetTranslations(registry);
  registry.insert<LNBwdDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
}

/// The module as text, or the code of its one GPU module.
static FailureOr<std::string> emitModule(ModuleOp module,
                                         const CompileRequest &request,
                                         StageWriter *stages) {
  if (request.format == EmitFormat::MLIR) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    os << "\n";
    return text;
  }
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() != 1)
    return module->emitError("expected one gpu.module to emit as ")
           << getEmitFormatName(request.format) << ", got " << modules.size()
           << "; lower one function for a chip first, for example by "
              "--lnbwd-pipeline=\"chip=gfx942\"";
  FailureOr<const TargetBackend *> backend = TargetBackend::get(modules[0]);
  if (failed(backend))
    return failure();
  EmitOptions options = request.emit;
  options.onIntermediate = [&](StringRef suffix, StringRef contents) {
    if (stages)
      stages->write(("kernel." + suffix).str(), contents);
    if (request.emit.onIntermediate)
      request.emit.onIntermediate(suffix, contents);
  };
  TimingScope emission;
  if (request.timing)
    emission = request.timing->nest("Code emission");
  return (*backend)->emit(modules[0], request.format, options);
}

FailureOr<std::string>
lnbwd::compileSource(const std::shared_ptr<llvm::SourceMgr> &sources,
                     const DialectRegistry &registry,
                     const CompileRequest &request,
                     llvm::raw_ostream &diagnostics) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // An error says what to do; the whole operation behind it would hide that.
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler handler(*sources, &context, diagnostics);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();

  std::shared_ptr<StageWriter> stages;
  auto checkStages = [&](llvm::Error problem) -> LogicalResult {
    if (!problem)
      return success();
    llvm::WithColor::error(diagnostics, "lnbwd-opt")
        << llvm::toString(std::move(problem)) << "\n";
    return failure();
  };
  if (!request.saveTemps.empty()) {
    stages = std::make_shared<StageWriter>(request.saveTemps);
    if (failed(checkStages(stages->prepare())))
      return failure();
  }
  PassManager pm(module->getOperation()->getName());
  if (request.timing)
    pm.enableTiming(*request.timing);
  if (stages)
    pm.addInstrumentation(createStageDumper(stages));
  if (failed(request.addPasses(pm)) || failed(pm.run(*module)))
    return failure();

  FailureOr<std::string> output = emitModule(*module, request, stages.get());
  if (failed(output) || (stages && failed(checkStages(stages->takeError()))))
    return failure();
  return output;
}
