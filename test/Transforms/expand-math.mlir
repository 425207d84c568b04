// RUN: lnbwd-opt %s --lnbwd-expand-math | FileCheck %s

// CHECK-LABEL: func @rsqrt(
// CHECK:         %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%arg0) : (f32) -> f32
// CHECK:         arith.divf %{{.*}}, %[[ROOT]]
func.func @rsqrt(%v: f32) -> f32 {
  %0 = math.rsqrt %v : f32
  return %0 : f32
}

// CHECK-LABEL: func @polynomials(
// CHECK-NOT:     math.exp
// CHECK-NOT:     math.tanh
// CHECK-NOT:     math.log
// CHECK-NOT:     math.erf
// CHECK:         return
func.func @polynomials(%v: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  %0 = math.exp %v : vector<4xf32>
  %1 = math.tanh %v : vector<4xf32>
  %2 = math.log %v : vector<4xf32>
  %3 = math.erf %v : vector<4xf32>
  return %0, %1, %2, %3 : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func @instructions(
// CHECK:         llvm.call_intrinsic "llvm.sqrt"(%arg0) : (vector<4xf32>) -> vector<4xf32>
// CHECK:         llvm.call_intrinsic "llvm.fabs"
// CHECK:         llvm.call_intrinsic "llvm.floor"
// CHECK:         llvm.call_intrinsic "llvm.ceil"
func.func @instructions(%v: vector<4xf32>) -> vector<4xf32> {
  %0 = math.sqrt %v : vector<4xf32>
  %1 = math.absf %0 : vector<4xf32>
  %2 = math.floor %1 : vector<4xf32>
  %3 = math.ceil %2 : vector<4xf32>
  return %3 : vector<4xf32>
}

// CHECK-LABEL: func @left_alone(
// CHECK:         math.fma
// CHECK:         math.copysign
func.func @left_alone(%v: f32) -> f32 {
  %0 = math.fma %v, %v, %v : f32
  %1 = math.copysign %0, %v : f32
  return %1 : f32
}
