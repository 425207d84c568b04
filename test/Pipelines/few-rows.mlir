// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 rows=16" | FileCheck %s --check-prefix=ONE
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 few-rows=always" | FileCheck %s --check-prefix=ONE
// RUN: lnbwd-opt %s --lnbwd-differentiate | lnbwd-opt - --lnbwd-gpu-pipeline="chip=sm_90 rows=64" | FileCheck %s --check-prefix=ONE
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942" | FileCheck %s --check-prefix=SEVERAL
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 rows=16 few-rows=never" | FileCheck %s --check-prefix=SEVERAL
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 rows=4096" | FileCheck %s --check-prefix=SEVERAL
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 rows=16 schedule=prefetch=0,unroll=1" | FileCheck %s --check-prefix=SEVERAL

// ONE: lnbwd.plan = "
// ONE-SAME: \22workspace\22:[]
// ONE-COUNT-1: gpu.func
// ONE-NOT: gpu.func
// ONE-COUNT-1: gpu.launch_func
// ONE-NOT: gpu.launch_func
// SEVERAL-COUNT-2: gpu.launch_func
// SEVERAL-NOT: gpu.launch_func
func.func @layer_norm_linear(%x: memref<?x8xf32>, %gamma: memref<8xf32>, %beta: memref<8xf32>,
                             %w: memref<16x8xf32>, %b: memref<16xf32>, %out: memref<?x16xf32>,
                             %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) gamma(%gamma : memref<8xf32>)
      beta(%beta : memref<8xf32>) w(%w : memref<16x8xf32>) b(%b : memref<16xf32>)
      outs out(%out : memref<?x16xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}
