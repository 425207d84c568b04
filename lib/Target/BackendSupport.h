//===- BackendSupport.h - What backends share -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every backend does alike. It knows none of them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TARGET_BACKENDSUPPORT_H
#define LNBWD_LIB_TARGET_BACKENDSUPPORT_H

#include "lnbwd/Target/TargetBackend.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"

namespace llvm {
class TargetPassConfig;
} // namespace llvm

namespace lnbwd {

/// Adds the conversions of a GPU module to LLVM's dialect: upstream's for all
/// targets, and between them those that `addVendors` adds.
void addConversions(mlir::OpPassManager &pm,
                    llvm::function_ref<void(mlir::OpPassManager &)> addVendors);

/// An LLVM module as text.
std::string printModule(const llvm::Module &module);

/// Reports that the backend of `chip` does not emit `format`, and which it
/// does.
mlir::LogicalResult reportUnsupportedFormat(mlir::gpu::GPUModuleOp module,
                                            EmitFormat format,
                                            llvm::StringRef chip,
                                            llvm::StringRef formats);

/// Changes LLVM's passes for all targets, once for the process, since nothing
/// guards its list of changes; what this thread compiles next omits a pass.
void adjustCodeGeneration(llvm::AnalysisID omitted = nullptr);

/// Has AMD's code generation add wait states that LLVM misses.
void addMissedWaitStates(llvm::TargetPassConfig &config);

/// Writes `contents` into a new temporary file that ends in `suffix`, and gives
/// its path; the caller removes it. Reports at `op` what fails.
mlir::FailureOr<std::string> writeTemporaryFile(mlir::Operation &op,
                                                llvm::StringRef suffix,
                                                llvm::StringRef contents);

} // namespace lnbwd

#endif // LNBWD_LIB_TARGET_BACKENDSUPPORT_H
