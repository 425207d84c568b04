// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=gfx942 --canonicalize --cse | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=gfx1030 --canonicalize --cse | FileCheck %s --check-prefix=PLAIN
// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s --check-prefix=CUDA

// The epilogue's buffers are after the product's. All pieces of the result are
// finished, and then those stored that the result has.
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x4096xbf16, {{[^:]*}}: memref<1x4096xbf16, {{[^:]*}}: memref<1x4096xbf16, {{[^:]*}}: memref<1x4096xf32, {{[^:]*}}: memref<4096xf32, {{[^:]*}}: memref<1xf32, {{[^:]*}}: i64)
// CHECK:           amdgpu.mfma
// CHECK:           scf.yield
// CHECK:         vector.load %{{.*}} : memref<?x4096xf32, {{.*}}>, vector<4xf32>
// CHECK:         vector.load %{{.*}} : memref<4096xf32, {{.*}}>, vector<4xf32>
// CHECK:         memref.load %{{.*}} : memref<?xf32
// CHECK-NEXT:    arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK:         vector.fma %{{.*}} : vector<4xf32>
// CHECK:         %[[V:.*]] = arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK:         scf.if
// CHECK-NEXT:      vector.store %[[V]], %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<4xbf16>

// PLAIN:       gpu.func @k(
// PLAIN:         math.fma
// PLAIN:         vector.fma %{{.*}} : vector<1xf32>
// PLAIN:         vector.store %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<1xbf16>

// CUDA:        nvvm.mma.sync
// CUDA:        vector.fma %{{.*}} : vector<2xf32>
// CUDA:        vector.store %{{.*}} : memref<?x4096xbf16, {{.*}}>, vector<2xbf16>

// What the function is told of the arguments.
// CHECK-LABEL: func @f(
// CHECK-SAME:    %{{.*}}: memref<?x4096xf32> {lnbwd.access = "read", lnbwd.kind = "row_block", lnbwd.name = "r"}
// CHECK-SAME:    %{{.*}}: memref<4096xf32> {lnbwd.access = "read", lnbwd.kind = "column", lnbwd.name = "g"}
// CHECK-SAME:    %{{.*}}: memref<?xf32> {lnbwd.access = "read", lnbwd.kind = "row_scalar", lnbwd.name = "s"}
// CHECK-SAME:    %{{.*}}: memref<?x4096xbf16> {lnbwd.access = "write", lnbwd.kind = "row_block", lnbwd.name = "y"}
func.func @f(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %r: memref<?x4096xf32>, %g: memref<4096xf32>,
             %s: memref<?xf32>, %y: memref<?x4096xbf16>) {
  lnbwd.product @k lhs(%x : memref<?x4096xbf16>) rhs(%w : memref<4096x4096xbf16>) outs(%y : memref<?x4096xbf16>)
      attributes {operand_names = ["x", "w", "y", "r", "g", "s"]}
      epilogue rows(%r : memref<?x4096xf32>) columns(%g : memref<4096xf32>) scalars(%s : memref<?xf32>) {
  ^row(%p: vector<4096xf32>, %rr: vector<4096xf32>, %gr: vector<4096xf32>, %sr: f32):
    %square = arith.mulf %sr, %sr : f32
    %spread = vector.broadcast %square : f32 to vector<4096xf32>
    %shift = arith.mulf %rr, %spread : vector<4096xf32>
    %sum = vector.fma %p, %gr, %shift : vector<4096xf32>
    %yr = arith.truncf %sum : vector<4096xf32> to vector<4096xbf16>
    lnbwd.product_yield %yr : vector<4096xbf16>
  }
  return
}

// Parts are of sums alone; what adds them has the epilogue.
// CHECK:       gpu.func @outer({{.*}}, %{{[^:]*}}: memref<1x1024xf32, {{[^:]*}}: i64)
// CHECK-NOT:     arith.truncf
// CHECK:       gpu.func @outer_parts(%{{[^:]*}}: memref<1x1024xf32, {{[^:]*}}: memref<1x64xbf16, {{[^:]*}}: i64)
// CHECK-COUNT-15: arith.addf
// CHECK:         arith.truncf
func.func @sums(%dy: memref<?x96xbf16>, %x: memref<?x64xbf16>, %dw: memref<96x64xbf16>) {
  lnbwd.product @outer lhs(%dy : memref<?x96xbf16>) rhs(%x : memref<?x64xbf16>) outs(%dw : memref<96x64xbf16>)
      attributes {lhs_transposed} epilogue {
  ^row(%p: vector<64xf32>):
    %r = arith.truncf %p : vector<64xf32> to vector<64xbf16>
    lnbwd.product_yield %r : vector<64xbf16>
  }
  return
}
