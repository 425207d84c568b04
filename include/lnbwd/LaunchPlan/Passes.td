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

include "mlir/Pass/PassBase.td"

def RecordProgramPass
    : Pass<"lnbwd-record-program", "::mlir::func::FuncOp"> {
  let summary = "Note what a function computes, operation by operation";
  let description = [{
    Writes the row programs of a function down as JSON (docs/runtime.md,
    `program`), into its attribute `lnbwd.operation`, which becomes part of the
    launch plan: `lnbwd-run --verify` interprets it in float64 and compares the
    results of the kernels. Runs before programs are split and scheduled.

    A function that has the attribute stays as it is.

    Before:

    ```mlir
    func.func @twice(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
      lnbwd.rowwise @twice domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
      ^row(%r: vector<64xf32>):
        %0 = arith.addf %r, %r : vector<64xf32>
        lnbwd.yield %0 : vector<64xf32>
      }
      return
    }
    ```

    After:

    ```mlir
    func.func @twice(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
        attributes {lnbwd.operation = "[{\"name\":\"twice\",\"inputs\":[...],\"operations\":[[\"arith.addf\",\"64xf32\",0,0]],\"outputs\":[...]} ]"} {
      ...
    }
    ```
  }];
  let statistics = [Statistic<"numRecorded", "recorded", "Functions recorded">];
}

def AttachLaunchPlanPass
    : Pass<"lnbwd-attach-launch-plan", "::mlir::ModuleOp"> {
  let summary = "Put the launch plan of a function beside its kernels";
  let description = [{
    Derives the launch plan (docs/runtime.md) from each function that launches
    kernels, and puts it into their `gpu.module` as the constant `lnbwd_plan`,
    which the code object carries. Fails on a launch that a plan cannot express.

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
    gpu.module @f_kernels {
      llvm.mlir.global external protected constant @lnbwd_plan("{\"format\":\"lnbwd-plan\",...}")
          {addr_space = 4 : i32, alignment = 1 : i64, section = ".lnbwd.plan"}
      gpu.func @k(...) kernel {...}
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::lnbwd::LNBwdDialect"];
  let statistics = [Statistic<"numPlans", "plans", "Launch plans attached">];
}

#endif // LNBWD_LAUNCHPLAN_PASSES_TD
