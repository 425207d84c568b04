//===- FewRowsToGPU.cpp - Row programs in one workgroup -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for each row program of a function with matrices, where one
// workgroup can take it, and is expected to be faster, or told to.
//
//===----------------------------------------------------------------------===//

#include "FewRowsKernel.h"

#include "../RowwiseToLane/KernelFrame.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/LaunchPlan/ArgumentRoles.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lnbwd {
#define GEN_PASS_DEF_FEWROWSTOGPUPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class FewRowsToGPU : public lnbwd::impl::FewRowsToGPUPassBase<FewRowsToGPU> {
public:
  using FewRowsToGPUPassBase::FewRowsToGPUPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found) || failed(checkRowsOption(getOperation(), rows)) ||
        failed(checkModeOption(getOperation(), "few-rows (mode)", mode)))
      return signalPassFailure();
    if (mode == "never")
      return;
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(convert(function, **found)))
        return signalPassFailure();
  }

private:
  /// The form of each of the programs; none where this is not the way to go.
  FailureOr<SmallVector<FewRowsForm>> choose(ArrayRef<RowwiseOp> programs,
                                             const ChipInfo &info) {
    SmallVector<FewRowsForm> forms;
    for (RowwiseOp op : programs) {
      // Rows of a matrix are no launch's choice, and known.
      int64_t expected = rows;
      if (hasOwnRows(op) || !expected)
        expected = op.getStaticRowCount().value_or(expected);
      std::string obstacle;
      if (op->getParentOp() != op->getParentOfType<func::FuncOp>())
        obstacle = "expected to be at the top level of its function: a launch "
                   "plan has no loops or branches";
      else
        forms.push_back(chooseFewRowsForm(op, info, expected, obstacle));
      if (!obstacle.empty() && mode == "always")
        return op.emitOpError("cannot be taken by one workgroup (few-rows="
                              "always): ")
               << obstacle;
      if (!obstacle.empty() || (mode == "auto" && op.hasContractions() &&
                                !isFewRowsFaster(op, expected)))
        return SmallVector<FewRowsForm>();
    }
    return forms;
  }

  /// All programs of a function, or none: otherwise what is saved is little.
  LogicalResult convert(func::FuncOp function, const ChipInfo &info) {
    SmallVector<RowwiseOp> programs;
    function.walk([&](RowwiseOp op) { programs.push_back(op); });
    if (llvm::none_of(programs,
                      [](RowwiseOp op) { return op.hasContractions(); })) {
      if (mode != "always" || programs.empty())
        return success();
      return programs.front().emitOpError(
          "cannot be taken by one workgroup (few-rows=always): expected a "
          "function with matrices or outer sums, got none; leave few-rows out "
          "for it");
    }
    FailureOr<SmallVector<FewRowsForm>> forms = choose(programs, info);
    if (failed(forms))
      return failure();
    if (forms->empty())
      return success();
    gpu::GPUModuleOp module = makeKernelModule(function);
    for (auto [op, form] : llvm::zip_equal(programs, *forms)) {
      if (failed(recordArgumentRoles(op)))
        return failure();
      recordArgumentAccess(op);
      FewRowsKernel(op, form, module, info).convert();
      op.erase();
      ++numKernels;
    }
    return success();
  }
};
} // namespace
