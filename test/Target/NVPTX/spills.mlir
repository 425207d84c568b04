// REQUIRES: ptxas
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=sm_80" --emit=ptx -o %t.ptx 2>&1 | count 0
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=sm_80" --max-registers=64 --emit=ptx -o %t.ptx 2>&1 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=sm_80 schedule=threads_per_row=32,row_groups=8,vector_width=4,rows_per_workgroup=16,workgroups_per_compute_unit=4,prefetch=0,unroll=1" --max-registers=96 --emit=cubin -o %t.cubin 2>&1 | FileCheck %s --check-prefix=FORCED --implicit-check-not=remark
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=sm_80 schedule=most_registers=24" --emit=ptx -o %t.ptx 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: env PATH=/nowhere CUDA_HOME=/nowhere %{lnbwd-opt} %s --lnbwd-pipeline="chip=sm_80" --max-registers=64 --emit=ptx -o %t.ptx > %t.log 2>&1
// RUN: count 0 < %t.log

// Where ptxas is installed, it says what kernels take; without it nothing does.

// CHECK:     remark: kernel @layer_norm_bwd spills {{[0-9]+}} vector registers{{.*}}; taking another schedule
// CHECK-NOT: warning
// FORCED:    warning: kernel @layer_norm_bwd spills {{[0-9]+}} vector registers
// A bound that is set by hand stays, whatever is tried.
// BOUND:     warning: kernel @layer_norm_bwd spills {{[0-9]+}} vector registers{{.*}}most_registers = 24

func.func @layer_norm_bwd(%dy: memref<?x1024xf32>, %x: memref<?x1024xf32>, %g: memref<1024xf32>, %s: memref<?xf32>,
                          %dx: memref<?x1024xf32>, %dg: memref<1024xf32>, %db: memref<1024xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x1024xf32>) x(%x : memref<?x1024xf32>) gamma(%g : memref<1024xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
      outs dx(%dx : memref<?x1024xf32>) dgamma(%dg : memref<1024xf32>) dbeta(%db : memref<1024xf32>)
  return
}
