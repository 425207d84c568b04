// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx90a --emit=mlir | FileCheck %s --check-prefixes=CHECK,AMD -DCHIP=gfx90a
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=mlir | FileCheck %s --check-prefixes=CHECK,AMD -DCHIP=gfx942
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx950 --emit=mlir | FileCheck %s --check-prefixes=CHECK,AMD -DCHIP=gfx950
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1100 --emit=mlir | FileCheck %s --check-prefixes=CHECK,AMD -DCHIP=gfx1100
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1201 --emit=mlir | FileCheck %s --check-prefixes=CHECK,AMD -DCHIP=gfx1201
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_80 --emit=mlir | FileCheck %s --check-prefixes=CHECK,NVIDIA -DCHIP=sm_80
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=mlir | FileCheck %s --check-prefixes=CHECK,NVIDIA -DCHIP=sm_90

// Without --emit the same, by way of mlir-opt.
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 | FileCheck %s --check-prefixes=CHECK,AMD -DCHIP=gfx942

// The kernels are in LLVM's dialect with the target attached; the function
// beside them says how they are launched.
// CHECK:        gpu.module @layer_norm_bwd_kernels
// AMD-SAME:       [#rocdl.target<O = 3, chip = "[[CHIP]]"
// NVIDIA-SAME:    [#nvvm.target<O = 3, chip = "[[CHIP]]"
// CHECK:          llvm.mlir.global {{.*}} @lnbwd_plan
// CHECK-NOT:      builtin.unrealized_conversion_cast
// CHECK:          llvm.func @layer_norm_bwd(
// CHECK:          llvm.func @layer_norm_bwd_finalize(
// CHECK-NOT:      builtin.unrealized_conversion_cast
// CHECK:        func.func @layer_norm_bwd(
// CHECK:          gpu.launch_func @layer_norm_bwd_kernels::@layer_norm_bwd
// CHECK:          gpu.launch_func @layer_norm_bwd_kernels::@layer_norm_bwd_finalize
