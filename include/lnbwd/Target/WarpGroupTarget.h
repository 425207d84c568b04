//===- WarpGroupTarget.h - Targets of matrix instructions -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of one chip alone make code that no later chip runs. So a GPU
// module is compiled for their target only where it has such instructions.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_WARPGROUPTARGET_H
#define LNBWD_TARGET_WARPGROUPTARGET_H

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lnbwd {

/// The target whose code has matrix instructions of four warps of `chip`
/// (wgmma), "sm_90a"; empty where it has none.
llvm::StringRef getWarpGroupTarget(const ChipInfo &chip);

/// The chip of a target's name: "sm_90" of "sm_90a", and of itself.
llvm::StringRef getChipOfTarget(llvm::StringRef target);

/// Has the module compiled for `target` in place of its chip.
void setTarget(mlir::gpu::GPUModuleOp module, llvm::StringRef target);

/// What the module is to be compiled for; empty: its chip.
llvm::StringRef getTarget(mlir::gpu::GPUModuleOp module);

} // namespace lnbwd

#endif // LNBWD_TARGET_WARPGROUPTARGET_H
