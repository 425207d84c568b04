// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=gfx942 --canonicalize --cse | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=gfx1030 --canonicalize --cse | FileCheck %s --check-prefix=PLAIN

// The prologue's buffers are the last ones. What was computed is replaced by 0
// where the sum has ended, and not the other way around.
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x96xf16, {{[^:]*}}: memref<1x96xf16, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<96xf32, {{[^:]*}}: memref<1xf32, {{[^:]*}}: i64)
// CHECK:         scf.for
// CHECK:           vector.load %{{.*}} : memref<?x96xf16, {{.*}}>, vector<8xf16>
// CHECK-NEXT:      vector.load %{{.*}} : memref<96xf32, {{.*}}>, vector<8xf32>
// CHECK-NEXT:      memref.load %{{.*}} : memref<?xf32
// CHECK:           arith.mulf %{{.*}} : vector<8xf32>
// CHECK:           %[[Z:.*]] = arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK:           arith.select %{{.*}}, %[[Z]], %{{.*}} : vector<8xf16>
// CHECK:           vector.store
// CHECK:           amdgpu.mfma

// PLAIN:       scf.for
// PLAIN:         arith.mulf %{{.*}} : vector<4xf32>
// PLAIN:         arith.truncf %{{.*}} : vector<4xf32> to vector<4xf16>
// PLAIN:         math.fma
func.func @f(%x: memref<?x96xf16>, %w: memref<64x96xf16>, %y: memref<?x64xf32>, %g: memref<96xf32>, %r: memref<?xf32>) {
  lnbwd.product @k lhs(%x : memref<?x96xf16>) rhs(%w : memref<64x96xf16>) outs(%y : memref<?x64xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y", "g", "r"]}
      prologue columns(%g : memref<96xf32>) scalars(%r : memref<?xf32>) {
  ^row(%xr: vector<96xf16>, %gr: vector<96xf32>, %rr: f32):
    %wide = arith.extf %xr : vector<96xf16> to vector<96xf32>
    %spread = vector.broadcast %rr : f32 to vector<96xf32>
    %moved = arith.addf %wide, %spread : vector<96xf32>
    %scaled = arith.mulf %moved, %gr : vector<96xf32>
    %zr = arith.truncf %scaled : vector<96xf32> to vector<96xf16>
    lnbwd.product_yield %zr : vector<96xf16>
  }
  return
}
