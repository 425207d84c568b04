//===- CApi.cpp - The compiler's C interface ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function of lnbwd_compiler.h in terms of the driver. The interface has
// no state: every compilation has a context of its own.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Compiler/lnbwd_compiler.h"

#include "lnbwd/Compiler/CompileSource.h"
#include "lnbwd/Config.h"
#include "lnbwd/Pipelines/Pipelines.h"
#include "lnbwd/Transforms/Passes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace lnbwd;

struct lnbwd_compilation {
  std::string diagnostics;
  llvm::StringMap<std::string> parts;
};

static const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    auto *result = new DialectRegistry();
    registerCompilerDialects(*result);
    return result;
  }();
  return *registry;
}

static StringRef orEmpty(const char *text) { return text ? text : ""; }

/// Does with `source` what `request` says, and puts what comes of it into
/// `result`; what fails has been printed to `diagnostics`.
static LogicalResult run(const CompileRequest &request, StringRef source,
                         const char *sourceName, lnbwd_compilation &result,
                         llvm::raw_ostream &diagnostics) {
  StringRef name = orEmpty(sourceName);
  FailureOr<std::string> code =
      compileSource(source, name.empty() ? "input" : name, getRegistry(),
                    request, diagnostics);
  if (failed(code))
    return failure();
  result.parts["code"] = std::move(*code);
  return success();
}

/// Fills in `result`; what fails has been printed to `diagnostics`.
static LogicalResult compile(StringRef source,
                             const lnbwd_compile_options &options,
                             lnbwd_compilation &result,
                             llvm::raw_ostream &diagnostics) {
  auto fail = [&](const llvm::Twine &text) -> LogicalResult {
    diagnostics << "error: " << text << "\n";
    return failure();
  };
  StringRef chipName = orEmpty(options.chip);
  if (chipName.empty())
    return fail("expected a chip of: " + listChips());
  llvm::Expected<TargetId> target = parseTargetId(chipName);
  if (!target)
    return fail(llvm::toString(target.takeError()));
  PipelineOptions pipeline;
  if (failed(pipeline.parseFromString(orEmpty(options.pipeline_options),
                                      diagnostics)))
    return fail("the pipeline's options: expected option=value, separated by "
                "spaces, got '" +
                orEmpty(options.pipeline_options) + "'");
  pipeline.chip = chipName.str();
  StringRef formatName = orEmpty(options.format);
  if (formatName.empty())
    formatName = getEmitFormatName(
        TargetBackend::get(target->chip->backend).getCodeFormat());
  std::optional<EmitFormat> format = parseEmitFormat(formatName);
  if (!format)
    return fail("unknown format '" + formatName +
                "', expected one of: " + listEmitFormats());
  if (options.report_rows < 0)
    return fail("expected report_rows to be at least 0, got " +
                llvm::Twine(options.report_rows));

  CompileRequest request;
  request.addPasses = [&](PassManager &pm) {
    buildPipeline(pm, pipeline);
    return success();
  };
  request.format = *format;
  request.saveTemps = orEmpty(options.save_temps).str();
  request.reportRows = options.report_rows;
  request.emit.onIntermediate = [&](StringRef suffix, StringRef contents) {
    if (suffix == "ll")
      result.parts["llvm"] = contents.str();
    else if (suffix == "s" || suffix == "ptx")
      result.parts["isa"] = contents.str();
  };
  return run(request, source, options.source_name, result, diagnostics);
}

/// The names between commas.
static SmallVector<std::string> splitNames(const char *names) {
  SmallVector<StringRef> parts;
  orEmpty(names).split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return llvm::map_to_vector(parts, [](StringRef part) { return part.str(); });
}

/// Puts the gradient's text and results into `result`.
static LogicalResult differentiate(StringRef source,
                                   const lnbwd_differentiate_options &options,
                                   lnbwd_compilation &result,
                                   llvm::raw_ostream &diagnostics) {
  CompileRequest request;
  request.addPasses = [&](PassManager &pm) {
    DifferentiatePassOptions pass;
    pass.wrt = splitNames(options.wrt);
    pass.of = splitNames(options.of);
    pass.saved = splitNames(options.saved);
    pm.addPass(createDifferentiatePass(pass));
    return success();
  };
  return run(request, source, options.source_name, result, diagnostics);
}

/// What lnbwd_compile and lnbwd_differentiate have in common.
template <typename Options, typename Function>
static lnbwd_compiler_status
makeCompilation(const char *source, size_t sourceSize, const Options *options,
                lnbwd_compilation **result, Function run) {
  if (!source || !options || !result || options->size != sizeof(*options))
    return LNBWD_COMPILER_ERROR_ARGUMENT;
  auto compilation = std::make_unique<lnbwd_compilation>();
  llvm::raw_string_ostream diagnostics(compilation->diagnostics);
  LogicalResult outcome =
      run(StringRef(source, sourceSize), *options, *compilation, diagnostics);
  if (failed(outcome))
    compilation->parts.clear();
  *result = compilation.release();
  return succeeded(outcome) ? LNBWD_COMPILER_SUCCESS
                            : LNBWD_COMPILER_ERROR_INPUT;
}

// Named as in the header: NOLINTBEGIN(readability-identifier-naming)
extern "C" {

const char *lnbwd_compiler_version(void) { return LNBWD_VERSION; }

const char *lnbwd_compiler_llvm_version(void) { return LLVM_VERSION_STRING; }

lnbwd_compiler_status lnbwd_compile(const char *source, size_t source_size,
                                    const lnbwd_compile_options *options,
                                    lnbwd_compilation **result) {
  return makeCompilation(source, source_size, options, result, compile);
}

lnbwd_compiler_status
lnbwd_differentiate(const char *source, size_t source_size,
                    const lnbwd_differentiate_options *options,
                    lnbwd_compilation **result) {
  return makeCompilation(source, source_size, options, result, differentiate);
}

const char *lnbwd_compilation_diagnostics(const lnbwd_compilation *result) {
  return result ? result->diagnostics.c_str() : "";
}

lnbwd_compiler_status lnbwd_compilation_get(const lnbwd_compilation *result,
                                            const char *part, const void **data,
                                            size_t *size) {
  if (!result || !part || !data || !size)
    return LNBWD_COMPILER_ERROR_ARGUMENT;
  auto found = result->parts.find(part);
  if (found == result->parts.end())
    return LNBWD_COMPILER_ERROR_ARGUMENT;
  *data = found->second.data();
  *size = found->second.size();
  return LNBWD_COMPILER_SUCCESS;
}

void lnbwd_compilation_destroy(lnbwd_compilation *result) { delete result; }

} // extern "C"
// NOLINTEND(readability-identifier-naming)
