//===- Passes.td - Passes that make the launch plan --------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the passes, in the order in which the pipeline runs them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LAUNCHPLAN_PASSES_TD
#define LNBWD_LAUNCHPLAN_PASSES_TD

include "lnbwd/Target/PassOptions.td"
include "mlir/Pass/PassBase.td"

def AttachLaunchPlanPass
    : Pass<"lnbwd-attach-launch-plan", "::mlir::ModuleOp"> {
  let summary = "Put the launch plan of a function beside its kernels";
  let description = [{
    Derives the launch plan (docs/abi.md) from each function that launches
    kernels, and puts it into their `gpu.module`: as the attribute `lnbwd.plan`,
    and as the constant `lnbwd_plan`, which the code object carries. Fails on a
    launch that a plan cannot express.

    Before:

    ```mlir
    gpu.module @f_kernels {
      gpu.func @k(...) kernel {...}
    }
    func.func @f(...) {
      ...
      gpu.launch_func @f_kernels::@k blocks in (...) threads in (...) args(...)
      return
    }
    ```

    After:

    ```mlir
    gpu.module @f_kernels attributes {lnbwd.plan = "{\"format\":\"lnbwd-plan\",...}"} {
      llvm.mlir.global external protected constant @lnbwd_plan("...")
          {addr_space = 4 : i32, alignment = 1 : i64, section = ".lnbwd.plan"}
      gpu.func @k(...) kernel {...}
    }
    ```
  }];
  let options = [ChipOption];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numPlans", "plans", "Launch plans attached">];
}

#endif // LNBWD_LAUNCHPLAN_PASSES_TD
