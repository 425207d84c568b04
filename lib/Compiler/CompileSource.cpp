//===- CompileSource.cpp - From source text to machine code ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Compiler/CompileSource.h"

#include "lnbwd/Compiler/CompileModule.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Pipelines/StageDumper.h"
#include "lnbwd/Report/Report.h"
#include "lnbwd/Target/PassOptions.h"

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
  registry.insert<LNBwdDialect, lane::LaneDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
}

/// Runs the passes, and writes the module as text, as the code of its one GPU
/// module, or as a report on that.
static FailureOr<std::string> emitModule(ModuleOp module, PassManager &pm,
                                         const CompileRequest &request,
                                         StageWriter *stages) {
  if (request.format == EmitFormat::MLIR) {
    if (failed(pm.run(module)))
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
      compileModule(module, pm, request.format, options, request.timing);
  if (failed(compilation))
    return failure();
  if (request.format != EmitFormat::Report &&
      request.format != EmitFormat::ReportJSON)
    return std::move(compilation->emission.contents);
  FailureOr<Report> report =
      buildReport(*compilation->lowered, compilation->emission, options,
                  request.reportRows);
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

FailureOr<std::string>
lnbwd::compileSource(const std::shared_ptr<llvm::SourceMgr> &sources,
                     const DialectRegistry &registry,
                     const CompileRequest &request,
                     llvm::raw_ostream &diagnostics) {
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
  if (failed(request.addPasses(pm)))
    return failure();

  FailureOr<std::string> output =
      emitModule(*module, pm, request, stages.get());
  if (failed(output) || (stages && failed(checkStages(stages->takeError()))))
    return failure();
  return output;
}
