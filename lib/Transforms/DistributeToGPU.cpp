//===- DistributeToGPU.cpp - Row programs to kernels and launches ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels whose bodies RowKernelEmitter writes, in RowKernelFrame's frame.
//
//===----------------------------------------------------------------------===//

#include "RowKernelEmitter.h"

#include "lnbwd/Transforms/Passes.h"
#include "lnbwd/Transforms/RowKernelFrame.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lnbwd {
#define GEN_PASS_DEF_DISTRIBUTETOGPUPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class DistributeToGPU
    : public lnbwd::impl::DistributeToGPUPassBase<DistributeToGPU> {
public:
  using DistributeToGPUPassBase::DistributeToGPUPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found =
        lookupChip(chip, [&] { return emitError(getOperation().getLoc()); });
    if (failed(found))
      return signalPassFailure();
    FailureOr<unsigned> kernels = distributePrograms(
        getOperation(), **found, [](RowwiseOp) { return true; },
        [&](const RowKernel &kernel) {
          RowKernelEmitter(kernel.op, **found, kernel.function, kernel.buffers,
                           kernel.rows, kernel.workgroups)
              .emit();
        });
    if (failed(kernels))
      return signalPassFailure();
    numKernels += *kernels;
  }
};
} // namespace
