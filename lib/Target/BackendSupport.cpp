//===- BackendSupport.cpp - What backends share ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The base of all backends, the names of formats, the conversions that all
// targets need, and temporary files for the tools that are given some.
//
//===----------------------------------------------------------------------===//

#include "BackendSupport.h"

#include "lnbwd/Target/PassOptions.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace lnbwd;

TargetBackend::~TargetBackend() = default;

const TargetBackend &TargetBackend::get(Backend backend) {
  switch (backend) {
  case Backend::AMDGPU:
    return getAMDGPU();
  case Backend::NVPTX:
    return getNVPTX();
  }
  llvm_unreachable("all backends are listed");
}

FailureOr<const TargetBackend *> TargetBackend::get(gpu::GPUModuleOp module) {
  FailureOr<const ChipInfo *> chip = getChip(module);
  if (failed(chip))
    return failure();
  return &get((*chip)->backend);
}

FailureOr<const ChipInfo *> TargetBackend::getChip(gpu::GPUModuleOp module) {
  ArrayAttr targets = module.getTargetsAttr();
  if (!targets || targets.size() != 1)
    return module.emitOpError("expected one target: a module is emitted after "
                              "it was lowered for a chip, for example by "
                              "--lnbwd-pipeline=\"chip=...\"");
  return lnbwd::getChip(module);
}

std::string lnbwd::getLaunchPlan(gpu::GPUModuleOp module) {
  auto plan = module.lookupSymbol<LLVM::GlobalOp>(launchPlanSymbol);
  auto text = plan ? dyn_cast_if_present<StringAttr>(plan.getValueOrNull())
                   : StringAttr();
  return text ? text.getValue().drop_back().str() : "";
}

namespace {
struct FormatName {
  EmitFormat format;
  StringRef name;
};
} // namespace

static constexpr FormatName formatNames[] = {
    {EmitFormat::MLIR, "mlir"},     {EmitFormat::LLVM, "llvm"},
    {EmitFormat::ISA, "isa"},       {EmitFormat::HSACO, "hsaco"},
    {EmitFormat::PTX, "ptx"},       {EmitFormat::Cubin, "cubin"},
    {EmitFormat::Report, "report"}, {EmitFormat::ReportJSON, "report-json"},
};

std::optional<EmitFormat> lnbwd::parseEmitFormat(StringRef name) {
  for (const FormatName &entry : formatNames)
    if (entry.name == name)
      return entry.format;
  return std::nullopt;
}

StringRef lnbwd::getEmitFormatName(EmitFormat format) {
  for (const FormatName &entry : formatNames)
    if (entry.format == format)
      return entry.name;
  llvm_unreachable("all formats have names");
}

std::string lnbwd::listEmitFormats() {
  return llvm::join(
      llvm::map_range(formatNames,
                      [](const FormatName &entry) { return entry.name; }),
      ", ");
}

void lnbwd::addConversions(OpPassManager &pm,
                           function_ref<void(OpPassManager &)> addVendors) {
  OpPassManager &modulePM = pm.nest<gpu::GPUModuleOp>();
  modulePM.addPass(createSCFToControlFlowPass());
  // Ahead of the vendors' conversions, which would call a device library.
  modulePM.addPass(createConvertMathToLLVMPass());
  addVendors(modulePM);
  modulePM.addPass(createConvertVectorToLLVMPass());
  modulePM.addPass(createArithToLLVMConversionPass());
  modulePM.addPass(createUBToLLVMConversionPass());
  modulePM.addPass(createReconcileUnrealizedCastsPass());
  modulePM.addPass(createCanonicalizerPass());
  modulePM.addPass(createCSEPass());
}

void lnbwd::adjustCodeGeneration(llvm::AnalysisID omitted) {
  static thread_local llvm::AnalysisID omittedHere = nullptr;
  omittedHere = omitted;
  static const llvm::RegisterTargetPassConfigCallback callback(
      [](llvm::TargetMachine &machine, llvm::legacy::PassManagerBase &,
         llvm::TargetPassConfig *config) {
        if (machine.getTargetTriple().isAMDGCN())
          addMissedWaitStates(*config);
        if (omittedHere)
          config->disablePass(omittedHere);
      });
}

std::string lnbwd::printModule(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  return text;
}

LogicalResult lnbwd::reportUnsupportedFormat(gpu::GPUModuleOp module,
                                             EmitFormat format, StringRef chip,
                                             StringRef formats) {
  return module.emitOpError("cannot be emitted as ")
         << getEmitFormatName(format) << " for " << chip
         << "; expected one of: " << formats;
}

FailureOr<std::string>
lnbwd::writeTemporaryFile(Operation &op, StringRef suffix, StringRef contents) {
  SmallString<128> path;
  int fd = -1;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("lnbwd", suffix, fd, path))
    return op.emitError("cannot create a temporary file: ") << error.message();
  llvm::raw_fd_ostream os(fd, /*shouldClose=*/true);
  os << contents;
  os.close();
  if (std::error_code error = os.error()) {
    os.clear_error();
    llvm::sys::fs::remove(path);
    return op.emitError("cannot write ") << path << ": " << error.message();
  }
  return path.str().str();
}
