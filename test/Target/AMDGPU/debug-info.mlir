// REQUIRES: simulator
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 debug-info=true schedule=threads_per_row=64,row_groups=1" --emit=hsaco -o %t.hsaco
// RUN: llvm-readelf -S %t.hsaco | FileCheck %s --check-prefix=SECTIONS
// RUN: %exits 1 lnbwd-sim %t.hsaco --kernel layer_norm_bwd --block 64 --arg in:f32x100 --arg in:f32x768 \
// RUN:   --arg in:f32x4 --arg in:f32x4 --arg out:f32x768 --arg i64=4 --arg i64=1 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.plain
// RUN: llvm-readelf -S %t.plain | FileCheck %s --check-prefix=PLAIN

// With debug information a check of the simulator names the place in the MLIR
// source: here dy is too short.

// SECTIONS: .debug_line
// PLAIN-NOT: .debug_line
// CHECK: hipErrorIllegalAddress: {{.*}} read of {{.*}} the nearest buffer 'argument 0'
// CHECK-SAME: from {{.*}}debug-info.mlir:[[#@LINE+5]]:

func.func @layer_norm_bwd(
    %dy: memref<?x192xf32>, %x: memref<?x192xf32>, %mean: memref<?xf32>,
    %rstd: memref<?xf32>, %dx: memref<?x192xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x192xf32>) x(%x : memref<?x192xf32>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x192xf32>)
  return
}
