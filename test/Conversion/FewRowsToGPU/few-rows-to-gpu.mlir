// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx942 rows=16" --canonicalize --cse --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx942 rows=100000" --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx942" --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx942 rows=16 few-rows=never" --split-input-file | FileCheck %s --check-prefix=MANY

// A product: rows and matrix go to workgroup memory, whose rows are an odd
// number of elements apart, and each work-item multiplies behind the barrier.
// CHECK-LABEL: gpu.func @product
// CHECK-SAME: workgroup(%[[X:.*]] : memref<144xf32, #gpu.address_space<workgroup>> {{.*}}, %[[W:.*]] : memref<144xf32
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: scf.for {{.*}} step %c16
// CHECK: memref.store {{.*}}, %[[W]]
// CHECK: memref.store {{.*}}, %[[X]]
// CHECK: gpu.barrier
// CHECK-COUNT-8: math.fma
// CHECK-NOT: math.fma
// CHECK: scf.if
// CHECK-NEXT: memref.store
// CHECK: gpu.barrier
// CHECK: func.func @f
// CHECK: gpu.launch_func @f_kernels::@product blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1)
// MANY: lnbwd.rowwise @product
func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %y: memref<?x16xf32>) {
  lnbwd.rowwise @product domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<16x8xf32>) outs(%y[m, n1] : memref<?x16xf32>) {
  ^row(%xr: vector<8xf32>, %wm: vector<16x8xf32>):
    %p = lnbwd.linear %xr, %wm : vector<8xf32>, vector<16x8xf32>
    lnbwd.yield %p : vector<16xf32>
  }
  return
}

// -----

// Sums over the rows are carried from turn to turn, and stored once, rounded.
// CHECK-LABEL: gpu.func @sums
// CHECK: %[[TOTALS:.*]]:2 = scf.for {{.*}} iter_args
// CHECK: gpu.barrier
// CHECK: arith.addf
// CHECK: math.fma
// CHECK: gpu.barrier
// CHECK: scf.yield
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[TOTALS]]#0 : f32 to bf16
// CHECK: memref.store %[[ROUNDED]]
// CHECK: memref.store %[[TOTALS]]#1
// MANY: lnbwd.rowwise @sums
func.func @f(%x: memref<?x4xf32>, %s: memref<4xbf16>, %g: memref<4x4xf32>) {
  lnbwd.rowwise @sums domain(m | n0, n1) ins(%x[m, n0] : memref<?x4xf32>) outs(%s[n0] add : memref<4xbf16>, %g[n1, n0] add : memref<4x4xf32>) {
  ^row(%xr: vector<4xf32>):
    %o = vector.outerproduct %xr, %xr : vector<4xf32>, vector<4xf32>
    lnbwd.yield %xr, %o : vector<4xf32>, vector<4x4xf32>
  }
  return
}

// -----

// A product of what a row sum made waits twice, and long products are a loop of
// chains.
// CHECK-LABEL: gpu.func @phases
// CHECK-COUNT-2: gpu.barrier
// CHECK: scf.for {{.*}} step %c32 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK-COUNT-32: math.fma
// CHECK: gpu.barrier
// MANY: lnbwd.rowwise @phases
func.func @f(%x: memref<?x64xf32>, %w: memref<4x64xf32>, %y: memref<?x4xf32>) {
  lnbwd.rowwise @phases domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<4x64xf32>) outs(%y[m, n1] : memref<?x4xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<4x64xf32>):
    %s = vector.reduction <add>, %xr : vector<64xf32> into f32
    %b = vector.broadcast %s : f32 to vector<64xf32>
    %c = arith.subf %xr, %b : vector<64xf32>
    %p = lnbwd.linear %c, %wm : vector<64xf32>, vector<4x64xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

// What has no matrices has a schedule instead.
// CHECK-LABEL: func.func @f
// CHECK: lnbwd.rowwise @plain
// MANY: lnbwd.rowwise @plain
func.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @plain domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    %d = arith.addf %xr, %xr : vector<64xf32>
    lnbwd.yield %d : vector<64xf32>
  }
  return
}
