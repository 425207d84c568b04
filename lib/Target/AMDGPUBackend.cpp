//===- AMDGPUBackend.cpp - AMD code objects -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers GPU modules through ROCDL and serialises them with upstream's
// serialiser; only the last step is ours: the object is linked in this process,
// so that no installation of ROCm is looked for.
//
//===----------------------------------------------------------------------===//

#include "BackendSupport.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVM/ROCDL/Utils.h"
#include "mlir/Transforms/Passes.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace lnbwd;

namespace {

/// Leaves out loop strength reduction: it holds an address of each row block in
/// each of a loop's tiles, in scalar registers that spill, where the loop's
/// row gives them all.
class PassGate : public llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return pass != "Loop Strength Reduction";
  }
};

/// Widens integers of vectors of one element as scalars: LLVM 22's instruction
/// selection may combine such a cast and its operand forever.
void widenScalars(llvm::Function &function) {
  for (llvm::Instruction &each :
       llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *cast = dyn_cast<llvm::CastInst>(&each);
    auto *type = dyn_cast<llvm::FixedVectorType>(each.getType());
    if (!cast || !cast->isIntegerCast() || !type || type->getNumElements() != 1)
      continue;
    llvm::IRBuilder<> b(cast);
    llvm::Value *x = b.CreateExtractElement(cast->getOperand(0), uint64_t(0));
    x = b.CreateCast(cast->getOpcode(), x, type->getElementType());
    cast->replaceAllUsesWith(b.CreateInsertElement(type, x, uint64_t(0)));
    cast->eraseFromParent();
  }
}

/// Whether it multiplies by gfx1250's instructions.
bool hasWideProduct(llvm::Function &function) {
  return llvm::any_of(llvm::instructions(function), [](const auto &each) {
    auto *call = dyn_cast<llvm::IntrinsicInst>(&each);
    return call && call->getCalledFunction()->getName().starts_with(
                       "llvm.amdgcn.wmma.f32.16x16x32.");
  });
}

/// Upstream's serialiser with the link step in this process; keeps the texts
/// that lie on the way.
class Serializer : public ROCDL::SerializeGPUModuleBase {
public:
  Serializer(gpu::GPUModuleOp module, ROCDL::ROCDLTargetAttr target,
             const gpu::TargetOptions &options, const EmitOptions &emitOptions)
      : SerializeGPUModuleBase(*module, target, options),
        targetOptions(options), emitOptions(emitOptions) {
    adjustCodeGeneration();
  }

  std::string llvmText;
  std::string isaText;

  /// No device library is linked; upstream would look for an installed ROCm.
  std::optional<SmallVector<std::unique_ptr<llvm::Module>>>
  loadBitcodeFiles(llvm::Module &llvmModule) override {
    for (llvm::Function &function : llvmModule) {
      if (!function.isDeclaration() || function.isIntrinsic())
        continue;
      getOperation().emitOpError("calls a function of AMD's device library, '")
          << function.getName()
          << "', which is not linked; use operations that the chip has "
             "instructions for";
      return std::nullopt;
    }
    return SmallVector<std::unique_ptr<llvm::Module>>();
  }

protected:
  LogicalResult optimizeModule(llvm::Module &llvmModule, int level) override {
    TimingScope scope = time("LLVM's optimisation");
    llvm::for_each(llvmModule, widenScalars);
    if (unsigned most = getMaxRegisters())
      for (llvm::Function &function : llvmModule)
        if (!function.isDeclaration())
          function.addFnAttr("amdgpu-num-vgpr", std::to_string(most));
    // LLVM 22 keeps no distance between products and dual instructions that
    // overwrite their factors (llvm-project #183546).
    if (llvm::any_of(llvmModule, hasWideProduct))
      adjustCodeGeneration(llvm::PassRegistry::getPassRegistry()
                               ->getPassInfo(StringRef("gcn-create-vopd"))
                               ->getTypeInfo());
    if (failed(ModuleToObject::optimizeModule(llvmModule, level)))
      return failure();
    llvmText = printModule(llvmModule);
    return success();
  }
  FailureOr<SmallVector<char, 0>>
  moduleToObject(llvm::Module &llvmModule) override {
    TimingScope scope = time("LLVM's code generation");
    llvmModule.getContext().setOptPassGate(passGate);
    return moduleToObjectImpl(targetOptions, llvmModule);
  }
  FailureOr<SmallVector<char, 0>> compileToBinary(StringRef isa) override;

private:
  /// The most vector registers that LLVM may use; 0 is its own limit.
  unsigned getMaxRegisters() const {
    const ChipInfo &info = *cantFail(parseTargetId(chip)).chip;
    unsigned most = emitOptions.maxRegisters;
    if (info.maxRegistersPerLane == info.addressableRegisters)
      return most;
    return most ? std::min<unsigned>(most, info.maxRegistersPerLane)
                : info.maxRegistersPerLane;
  }
  TimingScope time(StringRef name) const {
    return emitOptions.timing ? emitOptions.timing->nest(name) : TimingScope();
  }

  const gpu::TargetOptions &targetOptions;
  const EmitOptions &emitOptions;
  PassGate passGate;
};

class AMDGPUBackend : public TargetBackend {
public:
  void addLowering(OpPassManager &pm, const ChipInfo &chip,
                   StringRef features) const override;
  unsigned getConstantAddressSpace() const override { return 4; }
  std::optional<StringRef> getPlanSection() const override {
    return StringRef(".lnbwd.plan");
  }
  EmitFormat getCodeFormat() const override { return EmitFormat::HSACO; }
  StringRef getFormats() const override { return "mlir, llvm, isa, hsaco"; }
  FailureOr<Emission> emit(gpu::GPUModuleOp module, EmitFormat format,
                           const EmitOptions &options) const override;
};

} // namespace

/// Links one relocatable object into a code object. The linker works on files
/// and keeps global state: one call at a time.
static FailureOr<SmallVector<char, 0>> linkObject(Operation &op,
                                                  ArrayRef<char> object) {
  static std::mutex linkerMutex;
  std::lock_guard<std::mutex> lock(linkerMutex);

  FailureOr<std::string> inputPath =
      writeTemporaryFile(op, "o", StringRef(object.data(), object.size()));
  if (failed(inputPath))
    return failure();
  llvm::FileRemover removeInput(*inputPath);
  SmallString<128> outputPath(*inputPath);
  llvm::sys::path::replace_extension(outputPath, "hsaco");
  llvm::FileRemover removeOutput(outputPath);

  std::string messages;
  llvm::raw_string_ostream errors(messages);
  const char *arguments[] = {"ld.lld", "-shared", inputPath->c_str(), "-o",
                             outputPath.c_str()};
  bool linked = lld::elf::link(arguments, llvm::nulls(), errors,
                               /*exitEarly=*/false, /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  if (!linked)
    return op.emitError("cannot link the code object: ") << messages;

  auto buffer = llvm::MemoryBuffer::getFile(outputPath, /*IsText=*/false);
  if (!buffer)
    return op.emitError("cannot read ")
           << outputPath << ": " << buffer.getError().message();
  StringRef bytes = (*buffer)->getBuffer();
  return SmallVector<char, 0>(bytes.begin(), bytes.end());
}

FailureOr<SmallVector<char, 0>> Serializer::compileToBinary(StringRef isa) {
  isaText = isa.str();
  TimingScope scope = time("Assembly and linking");
  FailureOr<SmallVector<char, 0>> object = ROCDL::assembleIsa(
      isa, triple, chip, features, [&] { return getOperation().emitError(); });
  if (failed(object))
    return failure();
  return linkObject(getOperation(), *object);
}

void AMDGPUBackend::addLowering(OpPassManager &pm, const ChipInfo &chip,
                                StringRef features) const {
  GpuROCDLAttachTargetOptions target;
  target.chip = chip.name.str();
  target.features = features.str();
  target.abiVersion = "500"; // Of ROCm 6 and later.
  target.optLevel = 3;
  target.wave64Flag = chip.waveSize == 64;
  pm.addPass(createGpuROCDLAttachTarget(target));

  addConversions(pm, [&](OpPassManager &modulePM) {
    ConvertAMDGPUToROCDLPassOptions amdgpu;
    amdgpu.chipset = chip.name.str();
    modulePM.addPass(createConvertAMDGPUToROCDLPass(amdgpu));
    ConvertGpuOpsToROCDLOpsOptions rocdl;
    rocdl.chipset = chip.name.str();
    rocdl.indexBitwidth = 64;
    rocdl.useBarePtrCallConv = true;
    rocdl.runtime = gpu::amd::Runtime::HIP;
    modulePM.addPass(createConvertGpuOpsToROCDLOps(rocdl));
  });
}

FailureOr<Emission> AMDGPUBackend::emit(gpu::GPUModuleOp module,
                                        EmitFormat format,
                                        const EmitOptions &options) const {
  auto target = cast<ROCDL::ROCDLTargetAttr>(module.getTargetsAttr()[0]);
  if (format != EmitFormat::LLVM && format != EmitFormat::ISA &&
      format != EmitFormat::HSACO)
    return reportUnsupportedFormat(module, format, target.getChip(),
                                   getFormats());

  gpu::TargetOptions targetOptions(
      /*toolkitPath=*/"", /*librariesToLink=*/{}, /*cmdOptions=*/"",
      /*elfSection=*/"", gpu::CompilationTarget::Binary);
  ROCDL::SerializeGPUModuleBase::init();
  Serializer serializer(module, target, targetOptions, options);
  std::optional<SmallVector<char, 0>> binary = serializer.run();
  if (!binary)
    return failure();
  if (options.onIntermediate) {
    options.onIntermediate("ll", serializer.llvmText);
    options.onIntermediate("s", serializer.isaText);
  }
  Emission emission;
  emission.object.assign(binary->begin(), binary->end());
  llvm::Expected<llvm::StringMap<KernelResources>> kernels =
      readAMDGPUResources(emission.object);
  if (!kernels)
    return module.emitError() << llvm::toString(kernels.takeError());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (auto found = kernels->find(function.getName()); found != kernels->end())
      emission.kernels.push_back(found->second);
  if (format == EmitFormat::LLVM)
    emission.contents = std::move(serializer.llvmText);
  else if (format == EmitFormat::ISA)
    emission.contents = std::move(serializer.isaText);
  else
    emission.contents = emission.object;
  return emission;
}

const TargetBackend &TargetBackend::getAMDGPU() {
  static const AMDGPUBackend backend;
  return backend;
}
