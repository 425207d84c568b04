//===- lnbwd-opt.cpp - The compiler's command line ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A full mlir-opt with the lnbwd dialect, passes and pipelines, and with
// --emit, which turns the module that the passes leave into machine code.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Chips/ChipNames.h"
#include "lnbwd/Compiler/CompileSource.h"
#include "lnbwd/Config.h"
#include "lnbwd/Pipelines/Pipelines.h"
#include "lnbwd/Support/OutputFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace lnbwd;
namespace cl = llvm::cl;

namespace {
/// The options that lnbwd-opt has beyond mlir-opt.
struct ToolOptions {
  cl::OptionCategory category{"lnbwd-opt options"};
  cl::opt<std::string> emit{
      "emit",
      cl::desc("Write the module out, after the passes, as: mlir (default), "
               "llvm (LLVM IR after optimisation), isa (assembly of the "
               "target), hsaco (AMD code object), ptx (NVIDIA PTX), cubin "
               "(NVIDIA code object, needs ptxas in PATH or $CUDA_HOME/bin), "
               "report (what the kernels take, execute and move for --rows) "
               "or report-json (the same as JSON)"),
      cl::value_desc("format"), cl::init("mlir"), cl::cat(category)};
  cl::opt<std::string> saveTemps{
      "save-temps",
      cl::desc("Keep the IR after each stage, and the assembly, in this "
               "folder, numbered in order"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<unsigned> maxRegisters{
      "max-registers",
      cl::desc("Vector registers of a lane that kernels may use, at most "
               "(default: as many as the chip has); a kernel that needs more "
               "spills"),
      cl::value_desc("number"), cl::init(0), cl::cat(category)};
  cl::opt<int64_t> rows{
      "rows",
      cl::desc("The number of rows that --emit=report is for (default: the "
               "one that the row blocks have)"),
      cl::value_desc("number"), cl::init(0), cl::cat(category)};
};
} // namespace

static LogicalResult fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "lnbwd-opt") << message << "\n";
  return failure();
}

namespace {
/// Where the result goes.
struct Output {
  /// A file, or "-" for the standard output.
  std::string name;
  /// Whether the command line has -o: then the standard output is meant.
  bool isNamed;
};
} // namespace

/// Writes to a file, whole or not at all, or to the standard output.
static LogicalResult writeFile(const Output &output, StringRef contents) {
  std::error_code problem;
  if (output.name == "-") {
    if (!output.isNamed && llvm::outs().is_displayed() &&
        contents.contains('\0'))
      return fail("expected a file for machine code, got a terminal: name one "
                  "by -o FILE, or say -o - to print it all the same");
    llvm::outs() << contents;
    llvm::outs().flush();
    problem = llvm::outs().error();
    llvm::outs().clear_error(); // It is said here.
  } else {
    problem = writeOutputFile(output.name, contents);
  }
  if (!problem)
    return success();
  return fail("cannot write '" + output.name + "': " + problem.message());
}

/// Compiles as the command line says. Nothing is written unless everything
/// succeeded.
static LogicalResult compile(StringRef input, StringRef inputName,
                             const Output &output,
                             const DialectRegistry &registry,
                             const MlirOptMainConfig &config,
                             const ToolOptions &options, EmitFormat format) {
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  CompileRequest request;
  request.addPasses = [&](PassManager &pm) {
    return config.setupPassPipeline(pm);
  };
  request.configure = applyPassManagerCLOptions;
  request.format = format;
  request.emit.maxRegisters = options.maxRegisters;
  request.reportRows = options.rows;
  request.saveTemps = options.saveTemps;
  request.timing = &scope;
  FailureOr<std::string> code =
      compileSource(input, inputName, registry, request, llvm::errs());
  if (failed(code))
    return failure();
  return writeFile(output, *code);
}

/// Leaves to --help the options of this tool and a few of mlir-opt's; the
/// thousand others, most of them LLVM's, are printed by --help-hidden. Returns
/// the names of our passes, which are options too.
static SmallVector<StringRef> arrangeHelp(cl::OptionCategory &category) {
  SmallVector<StringRef> passes;
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    if (name.starts_with("lnbwd-"))
      passes.push_back(name);
    if (is_contained({"pass-pipeline", "split-input-file",
                      "mlir-print-ir-after-all", "mlir-timing"},
                     name))
      option->addCategory(category);
    const bool isGeneric =
        is_contained({"help", "help-hidden", "version"}, name);
    if (!isGeneric && !is_contained(option->Categories, &category) &&
        option->getOptionHiddenFlag() == cl::NotHidden)
      option->setHiddenFlag(cl::Hidden);
  }
  sort(passes);
  return passes;
}

/// The passes and pipelines, with the first sentence of what each does.
static std::string describePasses(ArrayRef<StringRef> names) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "\nlnbwd's passes and pipelines (--help-hidden prints their options, "
        "and "
        "what mlir-opt and LLVM have beside):\n\n";
  for (StringRef name : names) {
    StringRef description;
    if (const PassInfo *pass = PassInfo::lookup(name))
      description = pass->getPassDescription();
    else if (const PassPipelineInfo *pipeline = PassPipelineInfo::lookup(name))
      description = pipeline->getPassDescription();
    else
      continue;
    os << "  --" << llvm::left_justify(name, 34) << " - " << description
       << "\n";
  }
  return text;
}

static LogicalResult run(int argc, char **argv) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  registerPipelines();

  ToolOptions options;
  cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "lnbwd " LNBWD_VERSION "\n"; });
  registerCLIOptions("lnbwd-opt", registry);
  // The operation below an error is printed without what surrounds it, the
  // operands of a row program as unknown: the location says more.
  static_cast<cl::opt<bool> *>(
      cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic"))
      ->setInitialValue(false);
  const std::string passes = describePasses(arrangeHelp(options.category));
  cl::extrahelp moreHelp(passes);
  auto [inputName, outputName] = parseCLIOptions(
      argc, argv,
      "lnbwd-opt: LayerNorm backward from MLIR to GPU machine code\n\n"
      "  lnbwd-opt examples/softmax.mlir "
      "--lnbwd-pipeline=\"chip=" LNBWD_DEFAULT_SIMULATED_CHIP
      "\" --emit=hsaco -o "
      "kernel.hsaco\n");
  // The option itself is mlir-opt's, and gone again.
  bool isNamed = any_of(ArrayRef<char *>(argv, argc), [](StringRef argument) {
    if (!argument.consume_front("-"))
      return false;
    argument.consume_front("-");
    return argument == "o" || argument.starts_with("o=");
  });
  const Output output{outputName, isNamed};
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();

  std::optional<EmitFormat> format = parseEmitFormat(options.emit);
  if (!format)
    return fail("unknown emit format '" + options.emit +
                "', expected one of: " + listEmitFormats());
  if (options.rows < 0 ||
      (options.rows.getNumOccurrences() && options.rows == 0))
    return fail("expected --rows to be at least 1, got " +
                llvm::Twine(options.rows.getValue()));
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInputFile(inputName, &message);
  if (!input)
    return fail(message);
  if (input->getBuffer().starts_with("\177ELF"))
    return fail("expected MLIR, got the machine code '" + inputName +
                "'; lnbwd-run runs it");
  // Splitting, diagnostics checking and the like are mlir-opt's business.
  if (options.emit.getNumOccurrences() == 0 && options.saveTemps.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    LogicalResult result = MlirOptMain(os, std::move(input), registry, config);
    // What mlir-opt prints of the parts that went well is for reading; a file
    // is whole or not written.
    if (succeeded(result) || output.name == "-")
      if (failed(writeFile(output, text)))
        return failure();
    return result;
  }
  return compile(input->getBuffer(), input->getBufferIdentifier(), output,
                 registry, config, options, *format);
}

/// Runs lnbwd-opt with the arguments of a main function. The compiler's library
/// exports it where it holds the program.
// NOLINTNEXTLINE(readability-identifier-naming): C's.
extern "C" int lnbwd_opt_main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  surviveFileSizeLimit();
  return failed(run(argc, argv));
}
