//===- NVPTXBackend.cpp - PTX and cubins ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers GPU modules through NVVM to PTX, which the driver compiles when it
// loads it. A cubin is made by ptxas, where that is installed.
//
//===----------------------------------------------------------------------===//

#include "BackendSupport.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace lnbwd;

namespace {

/// Serialises to PTX: no device library and no toolkit is needed.
class NVPTXSerializer : public LLVM::ModuleToObject {
public:
  NVPTXSerializer(gpu::GPUModuleOp module, NVVM::NVVMTargetAttr target,
                  function_ref<void(llvm::Module &)> onOptimized,
                  unsigned maxRegisters)
      : ModuleToObject(*module, target.getTriple(), target.getChip(),
                       target.getFeatures(), target.getO(), {}, {},
                       onOptimized),
        maxRegisters(maxRegisters) {}

protected:
  /// Upstream lowers gpu.dynamic_shared_memory to an array of no elements that
  /// the module defines, which would share its place with other arrays. Only a
  /// declaration stands for the memory that a launch adds.
  void handleModulePreLink(llvm::Module &llvmModule) override {
    boundRegisters(llvmModule);
    constexpr unsigned sharedSpace = 3;
    for (llvm::GlobalVariable &global : llvmModule.globals()) {
      auto *array = llvm::dyn_cast<llvm::ArrayType>(global.getValueType());
      if (global.getAddressSpace() != sharedSpace || !array ||
          array->getNumElements() != 0)
        continue;
      global.setInitializer(nullptr);
      global.setLinkage(llvm::GlobalValue::ExternalLinkage);
      global.setAlignment(llvm::Align(128));
    }
  }
  FailureOr<SmallVector<char, 0>>
  moduleToObject(llvm::Module &llvmModule) override {
    auto emitError = [&] { return getOperation().emitError(); };
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (failed(machine))
      return emitError() << "no target machine for " << triple << " " << chip;
    FailureOr<SmallString<0>> text =
        translateModuleToISA(llvmModule, **machine, emitError);
    if (failed(text))
      return failure();
    return SmallVector<char, 0>(text->begin(), text->end());
  }

private:
  /// Gives each kernel the bound of its schedule, or of the option where that
  /// is lower.
  void boundRegisters(llvm::Module &llvmModule) {
    for (auto kernel :
         cast<gpu::GPUModuleOp>(getOperation()).getOps<LLVM::LLVMFuncOp>()) {
      auto info = kernel->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
      unsigned most = maxRegisters;
      if (info && info.getSchedule())
        if (auto bound = unsigned(info.getSchedule()->mostRegisters))
          most = most ? std::min(most, bound) : bound;
      llvm::Function *function = llvmModule.getFunction(kernel.getName());
      if (most && function && !function->isDeclaration())
        function->addFnAttr("nvvm.maxnreg", std::to_string(most));
    }
  }

  unsigned maxRegisters;
};

class NVPTXBackend : public TargetBackend {
public:
  void addLowering(OpPassManager &pm, const ChipInfo &chip,
                   StringRef features) const override;
  unsigned getConstantAddressSpace() const override { return 1; }
  std::optional<StringRef> getPlanSection() const override {
    return std::nullopt;
  }
  EmitFormat getCodeFormat() const override { return EmitFormat::PTX; }
  StringRef getFormats() const override {
    return "mlir, llvm, isa (PTX), ptx, cubin";
  }
  FailureOr<Emission> emit(gpu::GPUModuleOp module, EmitFormat format,
                           const EmitOptions &options) const override;
};

} // namespace

void NVPTXBackend::addLowering(OpPassManager &pm, const ChipInfo &chip,
                               StringRef) const {
  GpuNVVMAttachTargetOptions target;
  target.chip = chip.name.str();
  target.features = chip.features.str();
  target.optLevel = 3;
  pm.addPass(createGpuNVVMAttachTarget(target));

  addConversions(pm, [&](OpPassManager &modulePM) {
    ConvertGpuOpsToNVVMOpsOptions nvvm;
    nvvm.indexBitwidth = 64;
    nvvm.useBarePtrCallConv = true;
    modulePM.addPass(createConvertGpuOpsToNVVMOps(nvvm));
    modulePM.addPass(createConvertNVVMToLLVMPass());
  });
}

/// Puts the launch plan before the first directive, where a reader of the text
/// finds it without a parser.
static void insertPlan(std::string &ptx, gpu::GPUModuleOp module) {
  std::string plan = getLaunchPlan(module);
  size_t version = ptx.find(".version");
  if (plan.empty() || version == std::string::npos)
    return;
  ptx.insert(version, "// lnbwd-plan: " + plan + "\n");
}

/// An installed ptxas; empty if there is none.
static std::string findPtxas() {
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  if (std::optional<std::string> home =
          llvm::sys::Process::GetEnv("CUDA_HOME")) {
    std::string path = *home + "/bin/ptxas";
    if (llvm::sys::fs::can_execute(path))
      return path;
  }
  return {};
}

/// Makes a cubin of `ptx` and reads off what its kernels take. Errors go
/// through `emitError`.
static LogicalResult
assemble(gpu::GPUModuleOp module, const std::string &ptx,
         const std::string &ptxas, StringRef chip, Emission &emission,
         function_ref<InFlightDiagnostic(const Twine &)> emitError) {
  FailureOr<std::string> inputPath = writeTemporaryFile(*module, "ptx", ptx);
  if (failed(inputPath))
    return failure();
  llvm::FileRemover removeInput(*inputPath);
  SmallString<128> outputPath(*inputPath), logPath(*inputPath);
  llvm::sys::path::replace_extension(outputPath, "cubin");
  llvm::sys::path::replace_extension(logPath, "log");
  llvm::FileRemover removeOutput(outputPath), removeLog(logPath);
  std::string arch = ("-arch=" + chip).str();
  StringRef arguments[] = {ptxas,      arch, "-O3",     "-v",
                           *inputPath, "-o", outputPath};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(logPath),
                                          StringRef(logPath)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  auto log = llvm::MemoryBuffer::getFile(logPath);
  StringRef logText = log ? (*log)->getBuffer() : StringRef();
  if (status != 0)
    return emitError("ptxas failed: " + message + logText);
  auto buffer = llvm::MemoryBuffer::getFile(outputPath, /*IsText=*/false);
  if (!buffer)
    return emitError("cannot read " + outputPath + ": " +
                     buffer.getError().message());
  emission.object = (*buffer)->getBuffer().str();
  emission.kernels = readPtxasLog(logText);
  return success();
}

FailureOr<Emission> NVPTXBackend::emit(gpu::GPUModuleOp module,
                                       EmitFormat format,
                                       const EmitOptions &options) const {
  auto target = cast<NVVM::NVVMTargetAttr>(module.getTargetsAttr()[0]);
  if (format == EmitFormat::MLIR || format == EmitFormat::HSACO)
    return reportUnsupportedFormat(module, format, target.getChip(),
                                   getFormats());
  std::string llvmText;
  auto keepLLVM = [&](llvm::Module &llvmModule) {
    llvmText = printModule(llvmModule);
    if (options.onIntermediate)
      options.onIntermediate("ll", llvmText);
  };
  NVVM::SerializeGPUModuleBase::init();
  bool isSinking = llvm::none_of(
      module.getOps<FunctionOpInterface>(), [](FunctionOpInterface function) {
        auto info = function->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
        return info && info.getNoSinking();
      });
  adjustCodeGeneration(isSinking ? nullptr : &llvm::MachineSinkingLegacyID);
  NVPTXSerializer serializer(module, target, keepLLVM, options.maxRegisters);
  std::optional<SmallVector<char, 0>> text = serializer.run();
  if (!text)
    return failure();
  Emission emission;
  if (format == EmitFormat::LLVM) {
    emission.contents = std::move(llvmText);
    return emission;
  }
  std::string ptx(text->begin(), text->end());
  // No device library is linked: a function that the code calls and does not
  // have would only be found missing when it is loaded.
  StringRef external = StringRef(ptx).split(".extern .func").second;
  if (!external.empty())
    return module.emitOpError("calls a function of NVIDIA's device library, '")
           << external.substr(external.find("__nv_")).take_while([](char c) {
                return llvm::isAlnum(c) || c == '_';
              })
           << "', which is not linked; use operations that the chip has "
              "instructions for";
  insertPlan(ptx, module);
  if (options.onIntermediate)
    options.onIntermediate("ptx", ptx);
  const std::string ptxas = findPtxas();
  if (format == EmitFormat::Cubin) {
    if (ptxas.empty())
      return module.emitOpError(
          "cannot be emitted as cubin: ptxas was not found in PATH or "
          "$CUDA_HOME/bin; install the CUDA toolkit, or emit ptx, which the "
          "driver compiles when it loads it");
    auto emitError = [&](const Twine &message) {
      return module.emitOpError(message);
    };
    if (failed(assemble(module, ptx, ptxas, target.getChip(), emission,
                        emitError)))
      return failure();
    emission.contents = emission.object;
    return emission;
  }
  // Text is whole without an assembler. An installed one says what the kernels
  // take; one that is too old for the text says nothing.
  if (!ptxas.empty()) {
    auto ignore = [&](const Twine &) { return InFlightDiagnostic(); };
    (void)assemble(module, ptx, ptxas, target.getChip(), emission, ignore);
  }
  emission.contents = std::move(ptx);
  return emission;
}

const TargetBackend &TargetBackend::getNVPTX() {
  static const NVPTXBackend backend;
  return backend;
}
