// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize | FileCheck %s --check-prefixes=CHECK,WAVE
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 | FileCheck %s --check-prefixes=CHECK,LANE
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx1030 | FileCheck %s --check-prefix=PLAIN
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=sm_80 | FileCheck %s --check-prefix=CUDA

// The epilogue's buffers are after the product's. It is done to the fragments
// that a lane has of the result: rows, columns and numbers of rows are read as
// that, and within memory.
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x4096xbf16, {{[^:]*}}: memref<1x4096xbf16, {{[^:]*}}: memref<1x4096xbf16, {{[^:]*}}: memref<1x4096xf32, {{[^:]*}}: memref<4096xf32, {{[^:]*}}: memref<1xf32, {{[^:]*}}: i64)
// WAVE:          %[[SUMS:.*]]:4 = scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
// WAVE-COUNT-8:    lane.multiply %{{.*}} : vector<8xbf16>, vector<4xf32>
// WAVE:            scf.yield
// WAVE:          arith.minsi
// WAVE:          arith.minsi
// WAVE:          %[[R:.*]] = vector.load %{{[^{]*}} {alignment = 16 : i64} : memref<?x4096xf32, {{.*}}>, vector<4xf32>
// WAVE:          arith.minsi
// WAVE:          %[[G:.*]] = vector.load %{{.*}} : memref<4096xf32, {{.*}}>, vector<4xf32>
// WAVE:          arith.minsi
// WAVE:          %[[S:.*]] = memref.load %{{.*}} : memref<?xf32, {{.*}}>
// WAVE-NEXT:     %[[SV:.*]] = vector.broadcast %[[S]] : f32 to vector<4xf32>
// WAVE:          %[[SQUARE:.*]] = arith.mulf %[[SV]], %[[SV]] : vector<4xf32>
// WAVE:          %[[SHIFT:.*]] = arith.mulf %[[R]], %[[SQUARE]] : vector<4xf32>
// WAVE:          %[[SUM:.*]] = vector.fma %[[SUMS]]#0, %[[G]], %[[SHIFT]] : vector<4xf32>
// WAVE:          %[[V:.*]] = arith.truncf %[[SUM]] : vector<4xf32> to vector<4xbf16>
// WAVE:          scf.if
// WAVE-NEXT:       vector.store %[[V]], %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<4xbf16>

// All pieces of the result are finished, and then those stored that it has.
// LANE:            amdgpu.mfma
// LANE:            scf.yield
// LANE:          vector.load %{{.*}} : memref<?x4096xf32, {{.*}}>, vector<4xf32>
// LANE:          vector.load %{{.*}} : memref<4096xf32, {{.*}}>, vector<4xf32>
// LANE:          memref.load %{{.*}} : memref<?xf32
// LANE:          arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
// LANE:          vector.fma %{{.*}} : vector<4xf32>
// LANE:          %[[V:.*]] = arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// LANE:          scf.if
// LANE-NEXT:       vector.store %[[V]], %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<4xbf16>

// PLAIN:       gpu.func @k(
// PLAIN:         math.fma
// PLAIN:         vector.fma %{{.*}} : vector<1xf32>
// PLAIN:         vector.store %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<1xbf16>

// CUDA:        nvvm.mma.sync
// CUDA:        vector.fma %{{.*}} : vector<8xf32>
// CUDA:        vector.store %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<2xbf16>

// The roles of the function's arguments.
// CHECK-LABEL: func @f(
// CHECK-SAME:    %{{.*}}: memref<?x4096xf32> {lnbwd.argument = #lnbwd.argument<name = "r", kind = "row_block", access = "read">}
// CHECK-SAME:    %{{.*}}: memref<4096xf32> {lnbwd.argument = #lnbwd.argument<name = "g", kind = "column", access = "read">}
// CHECK-SAME:    %{{.*}}: memref<?xf32> {lnbwd.argument = #lnbwd.argument<name = "s", kind = "row_scalar", access = "read">}
// CHECK-SAME:    %{{.*}}: memref<?x4096xbf16> {lnbwd.argument = #lnbwd.argument<name = "y", kind = "row_block", access = "write">}
func.func @f(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %r: memref<?x4096xf32>, %g: memref<4096xf32>,
             %s: memref<?xf32>, %y: memref<?x4096xbf16>) {
  lnbwd.rowwise @k domain(m | n0, n1)
      ins(%x[m, n0] : memref<?x4096xbf16>, %r[m, n1] : memref<?x4096xf32>, %g[n1] : memref<4096xf32>, %s[m] : memref<?xf32>,
          %w[n0, n1] : memref<4096x4096xbf16>)
      outs(%y[m, n1] : memref<?x4096xbf16>) attributes {operand_names = ["x", "r", "g", "s", "w", "y"]} {
  ^row(%xr: vector<4096xbf16>, %rr: vector<4096xf32>, %gr: vector<4096xf32>, %sr: f32, %wm: vector<4096x4096xbf16>):
    %p = lnbwd.linear %xr, %wm transposed : vector<4096xbf16>, vector<4096x4096xbf16>
    %square = arith.mulf %sr, %sr : f32
    %spread = vector.broadcast %square : f32 to vector<4096xf32>
    %shift = arith.mulf %rr, %spread : vector<4096xf32>
    %sum = vector.fma %p, %gr, %shift : vector<4096xf32>
    %yr = arith.truncf %sum : vector<4096xf32> to vector<4096xbf16>
    lnbwd.yield %yr : vector<4096xbf16>
  }
  return
}

// Numbers are splats, or read as such.
// WAVE:        gpu.func @constant(
// WAVE:          %[[HALF:.*]] = arith.constant dense<5.000000e-01> : vector<4xf32>
// WAVE:          %[[S:.*]] = memref.load %{{.*}}[] : memref<f32, {{.*}}>
// WAVE:          %[[SR:.*]] = vector.broadcast %[[S]] : f32 to vector<4xf32>
// WAVE:          %[[SCALE:.*]] = arith.mulf %[[SR]], %[[HALF]] : vector<4xf32>
// WAVE:          %[[V:.*]] = arith.mulf %{{.*}}, %[[SCALE]] : vector<4xf32>
// WAVE:          scf.if
// WAVE-NEXT:       vector.store %[[V]]
func.func @number(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %s: memref<f32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @constant domain(m | n0, n1)
      ins(%x[m, n0] : memref<?x64xbf16>, %s[] : memref<f32>, %w[n1, n0] : memref<96x64xbf16>) outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xbf16>, %sr: f32, %wm: vector<96x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<96x64xbf16>
    %half = arith.constant 0.5 : f32
    %scale = arith.mulf %sr, %half : f32
    %spread = vector.broadcast %scale : f32 to vector<96xf32>
    %yr = arith.mulf %p, %spread : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}
