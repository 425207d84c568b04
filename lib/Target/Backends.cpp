//===- Backends.cpp - What differs between code generators ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Picks the backend of a chip or of a lowered module.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/TargetBackend.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;
using namespace lnbwd;

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
  Attribute target = targets[0];
  StringRef chip;
  if (auto rocdl = dyn_cast<ROCDL::ROCDLTargetAttr>(target))
    chip = rocdl.getChip();
  else if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target))
    chip = nvvm.getChip();
  return lookupChip(chip, [&] { return module.emitOpError(); });
}

void lnbwd::registerTargetTranslations(DialectRegistry &registry) {
  registerAllToLLVMIRTranslations(registry);
}
