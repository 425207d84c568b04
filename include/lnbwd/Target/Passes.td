//===- Passes.td - Passes of code emission -----------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes what the backends need beside upstream's conversions.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TARGET_PASSES_TD
#define LNBWD_TARGET_PASSES_TD

include "lnbwd/Target/PassOptions.td"
include "mlir/Pass/PassBase.td"

def AttachNVVMTargetPass
    : Pass<"lnbwd-attach-nvvm-target", "::mlir::ModuleOp"> {
  let summary = "Say what each GPU module is compiled for, on NVIDIA's chips";
  let description = [{
    Gives each `gpu.module` the target `#nvvm.target` of `chip`, with the PTX
    version that the chip table has for it. A module with instructions of this
    chip alone asks for a target of its own by `lnbwd.target`, which
    `lnbwd-convert-products-to-gpu` leaves there: its code runs on no later
    chip. Upstream's `nvvm-attach-target` gives all modules the same target,
    and adds to those that are there; here they are replaced.

    Fails on a chip that is not NVIDIA's, and on a module that asks for a target
    which `chip` does not have.

    Before:

    ```mlir
    gpu.module @f_kernels {...}
    gpu.module @g_kernels attributes {lnbwd.target = "sm_NNa"} {...}
    ```

    After, for a chip `sm_NN`:

    ```mlir
    gpu.module @f_kernels [#nvvm.target<O = 3, chip = "sm_NN", features = "+ptx86">] {...}
    gpu.module @g_kernels [#nvvm.target<O = 3, chip = "sm_NNa", features = "+ptx86">]
        attributes {lnbwd.target = "sm_NNa"} {...}
    ```
  }];
  let options = [ChipOption];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
  let statistics = [
    Statistic<"numModules", "modules", "GPU modules that were given a target">,
  ];
}

#endif // LNBWD_TARGET_PASSES_TD
