// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx950 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,CLAMPED
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1250 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,CLAMPED
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,INTEGER
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1100 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,INTEGER
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_80 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,INTEGER
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_89 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,PAIRS

// What is too large becomes the largest number ahead of AMD's instructions, and
// in NVIDIA's.
// CHECK-LABEL:   func @narrow(
// CLAMPED:         %[[LARGE:.*]] = arith.cmpf olt
// CLAMPED:         %[[MOST:.*]] = llvm.call_intrinsic "llvm.copysign"
// CLAMPED:         %[[CLAMPED:.*]] = arith.select %[[LARGE]], %[[MOST]], %arg0
// CLAMPED-COUNT-2: amdgpu.packed_trunc_2xfp8
// INTEGER-NOT:     arith.truncf
// INTEGER:         arith.trunci %{{.*}} : vector<4xi32> to vector<4xi8>
// INTEGER-NEXT:    arith.bitcast %{{.*}} : vector<4xi8> to vector<4xf8E4M3FN>
// PAIRS-COUNT-2:   llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"
// PAIRS:           vector.bitcast %{{.*}} : vector<2xi16> to vector<4xi8>
// CHECK:           return
func.func @narrow(%x: vector<4xf32>) -> vector<4xf8E4M3FN> {
  %0 = arith.truncf %x : vector<4xf32> to vector<4xf8E4M3FN>
  return %0 : vector<4xf8E4M3FN>
}

// CHECK-LABEL:   func @widen(
// CLAMPED-COUNT-2: amdgpu.ext_packed_fp8
// INTEGER-NOT:     arith.extf
// INTEGER:         arith.extui %{{.*}} : vector<3xi8> to vector<3xi32>
// PAIRS-COUNT-2:   llvm.call_intrinsic "llvm.nvvm.e5m2x2.to.f16x2.rn"
// CHECK:           return
func.func @widen(%x: vector<3xf8E5M2>) -> vector<3xf32> {
  %0 = arith.extf %x : vector<3xf8E5M2> to vector<3xf32>
  return %0 : vector<3xf32>
}

// A type between goes through float32.
// CHECK-LABEL:   func @scalar(
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK:           arith.extf %{{.*}} : bf16 to f32
// CHECK:           return
func.func @scalar(%x: f8E5M2) -> f8E4M3FN {
  %0 = arith.extf %x : f8E5M2 to bf16
  %1 = arith.truncf %0 : bf16 to f8E4M3FN
  return %1 : f8E4M3FN
}

// NVIDIA and most of AMD's chips have no instructions for those of one zero.
// CHECK-LABEL:   func @one_zero(
// CLAMPED-NOT:     arith.truncf
// PAIRS-NOT:       arith.truncf
// CHECK:           return
func.func @one_zero(%x: vector<4xf32>) -> vector<4xf8E4M3FNUZ> {
  %0 = arith.truncf %x : vector<4xf32> to vector<4xf8E4M3FNUZ>
  return %0 : vector<4xf8E4M3FNUZ>
}
