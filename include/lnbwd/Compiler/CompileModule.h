//===- CompileModule.h - From a module to machine code ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a pipeline and code emission, and does so again with the next schedule
// where a kernel spills.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_COMPILER_COMPILEMODULE_H
#define LNBWD_COMPILER_COMPILEMODULE_H

#include "lnbwd/Target/TargetBackend.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"

namespace lnbwd {

/// A module that was lowered, and what it was emitted as.
struct Compilation {
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  Emission emission;
};

/// The one GPU module of a module that was lowered; anything else is an error
/// that names `format`.
mlir::FailureOr<mlir::gpu::GPUModuleOp> getGPUModule(mlir::ModuleOp module,
                                                     EmitFormat format);

/// Runs `pm` on a copy of `module` and emits its one GPU module. No kernel
/// should spill: where one does, its schedule is put on the list
/// `lnbwd.rejected_schedules` of `module`'s next copy, which the schedule model
/// chooses beside, and all is done again; a remark says so. Where that does not
/// help, because somebody has set the schedule, no other can run, or several
/// more have spilled, the kernel that spills least is kept, with a warning.
mlir::FailureOr<Compilation>
compileModule(mlir::ModuleOp module, mlir::PassManager &pm, EmitFormat format,
              const EmitOptions &options, mlir::TimingScope *timing);

} // namespace lnbwd

#endif // LNBWD_COMPILER_COMPILEMODULE_H
