//===- ProductToGPU.cpp - Products of matrices to kernels -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for each product: of matrix instructions where it has a tiling, of
// fused multiply-adds where it has none.
//
//===----------------------------------------------------------------------===//

#include "ProductKernel.h"

#include "../RowwiseToLane/KernelFrame.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/LaunchPlan/ArgumentRoles.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lnbwd {
#define GEN_PASS_DEF_PRODUCTTOGPUPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class ProductToGPU : public lnbwd::impl::ProductToGPUPassBase<ProductToGPU> {
public:
  using ProductToGPUPassBase::ProductToGPUPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found))
      return signalPassFailure();
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(convert(function, **found)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(func::FuncOp function, const ChipInfo &info) {
    SmallVector<ProductOp> products;
    function.walk([&](ProductOp op) { products.push_back(op); });
    if (products.empty())
      return success();
    gpu::GPUModuleOp module;
    function.walk([&](gpu::LaunchFuncOp launch) {
      module = getOperation().lookupSymbol<gpu::GPUModuleOp>(
          launch.getKernelModuleName());
    });
    if (!module)
      module = makeKernelModule(function);
    for (ProductOp op : products) {
      if (op->getParentOp() != function)
        return op.emitOpError("expected to be at the top level of its "
                              "function: a launch plan has no loops or "
                              "branches");
      if (op.getTiling() && failed(checkTiling(op, info)))
        return failure();
      if (!op.getTiling() && op.getPrecision() == Precision::TF32)
        return op.emitOpError("expected a tiling with the precision tf32, got "
                              "none; run lnbwd-select-tiling before");
      if (failed(recordArgumentRoles(op)))
        return failure();
      recordAccess(op.getLhs(), "read");
      recordAccess(op.getRhs(), "read");
      recordAccess(op.getOut(), "write");
      for (Value operand : op.getEpilogueOperands())
        recordAccess(operand, "read");
      for (Value operand : op.getPrologueOperands())
        recordAccess(operand, "read");
      numKernels += makeProductKernel(op, module, info)->convert();
      op.erase();
    }
    return success();
  }
};
} // namespace
