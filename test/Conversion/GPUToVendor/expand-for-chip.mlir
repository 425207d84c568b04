// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,NVIDIA

// Of a scalar, correctly rounded.
// CHECK-LABEL: func @scalar_roots(
// CHECK:         %[[ROOT:.*]] = llvm.call_intrinsic "llvm.sqrt"(%arg0) : (f32) -> f32
// CHECK:         arith.divf %{{.*}}, %[[ROOT]] : f32
// CHECK:         llvm.call_intrinsic "llvm.sqrt"
func.func @scalar_roots(%v: f32) -> f32 {
  %0 = math.rsqrt %v : f32
  %1 = math.sqrt %0 : f32
  return %1 : f32
}

// Of a vector, the hardware's, scaled for subnormal numbers.
// CHECK-LABEL: func @roots(
// CHECK:         %[[SMALL:.*]] = arith.cmpf olt
// CHECK:         arith.select %[[SMALL]]
// AMD-COUNT-2:   llvm.call_intrinsic "llvm.amdgcn.rsq"(%{{.*}}) : (f32) -> f32
// NVIDIA-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
// AMD-COUNT-2:   llvm.call_intrinsic "llvm.amdgcn.sqrt"
// NVIDIA-COUNT-2: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"
func.func @roots(%v: vector<2xf32>) -> vector<2xf32> {
  %0 = math.rsqrt %v : vector<2xf32>
  %1 = math.sqrt %0 : vector<2xf32>
  return %1 : vector<2xf32>
}

// CHECK-LABEL: func @exp(
// CHECK:         arith.mulf
// CHECK-COUNT-2: math.fma
// CHECK:         llvm.call_intrinsic "llvm.maxnum"
// CHECK:         llvm.call_intrinsic "llvm.minnum"
// CHECK:         math.fma
// AMD:           llvm.call_intrinsic "llvm.amdgcn.exp2"
// NVIDIA:        llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK-NEXT:    arith.mulf
// CHECK-NEXT:    return
func.func @exp(%v: f32) -> f32 {
  %0 = math.exp %v : f32
  return %0 : f32
}

// One exp2, one select.
// CHECK-LABEL: func @erf(
// CHECK-NOT:     arith.select
// CHECK:         "llvm.minnum"(%{{.*}}) {fastmathFlags = #llvm.fastmath<nnan>}
// CHECK-COUNT-5: math.fma
// AMD:           llvm.call_intrinsic "llvm.amdgcn.exp2"
// CHECK:         llvm.call_intrinsic "llvm.copysign"
// CHECK-COUNT-5: math.fma
// CHECK:         arith.cmpf ult
// CHECK-NEXT:    arith.select
// CHECK-NEXT:    return
func.func @erf(%v: f32) -> f32 {
  %0 = math.erf %v : f32
  return %0 : f32
}

// NVIDIA's log2 is far off near 1: a polynomial, but for the ends.
// CHECK-LABEL: func @log(
// AMD-NOT:       bitcast
// AMD:           llvm.call_intrinsic "llvm.amdgcn.log"
// AMD:           math.fma
// NVIDIA:        arith.bitcast
// NVIDIA-COUNT-10: math.fma
// NVIDIA:        llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
// NVIDIA-NEXT:   arith.select
// CHECK-NEXT:    return
func.func @log(%v: f32) -> f32 {
  %0 = math.log %v : f32
  return %0 : f32
}

// No library and no instruction of the chip's. One branch reduces large angles,
// element by element, for both functions.
// CHECK-LABEL: func @angles(
// CHECK-COUNT-4: math.fma
// CHECK:         arith.cmpf olt
// CHECK:         %[[ANGLE:.*]]:2 = scf.if
// CHECK:           scf.if
// CHECK:             llvm.intr.fshr(%{{.*}}) : (i32, i32, i32)
// CHECK:             arith.mului_extended
// CHECK:           scf.if
// CHECK:         arith.mulf %[[ANGLE]]#0, %[[ANGLE]]#0 : vector<2xf32>
// CHECK-NOT:     math.sin
// CHECK-NOT:     scf.if
// CHECK:         arith.mulf %[[ANGLE]]#0, %[[ANGLE]]#0 : vector<2xf32>
// CHECK-NOT:     math.cos
// CHECK:         return
func.func @angles(%v: vector<2xf32>) -> (vector<2xf32>, vector<2xf32>) {
  %0 = math.sin %v : vector<2xf32>
  %1 = math.cos %v : vector<2xf32>
  return %0, %1 : vector<2xf32>, vector<2xf32>
}

// The angle is one for all elements.
// CHECK-LABEL: func @one_angle(
// CHECK:         math.fma %{{.*}} : f32
// CHECK:         %[[COSINE:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT:    vector.broadcast %[[COSINE]] : f32 to vector<2xf32>
// CHECK-NEXT:    return
func.func @one_angle(%i: i32, %s: f32) -> vector<2xf32> {
  %v = vector.broadcast %i : i32 to vector<2xi32>
  %x = arith.uitofp %v : vector<2xi32> to vector<2xf32>
  %c = arith.constant dense<0.5> : vector<2xf32>
  %y = arith.mulf %x, %c : vector<2xf32>
  %0 = math.cos %y : vector<2xf32>
  return %0 : vector<2xf32>
}

// CHECK-LABEL: func @others(
// CHECK-NOT:     math.{{exp|log|tanh}}
// CHECK:         return
func.func @others(%v: vector<4xf32>)
    -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  %0 = math.exp2 %v : vector<4xf32>
  %1 = math.tanh %v : vector<4xf32>
  %2 = math.log2 %v : vector<4xf32>
  %3 = math.expm1 %v : vector<4xf32>
  %4 = math.log1p %v : vector<4xf32>
  return %0, %1, %2, %3, %4
      : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
}

// CHECK-LABEL: func @powers(
// CHECK:         %[[SQUARE:.*]] = arith.mulf %arg0, %arg0
// CHECK:         %[[CUBE:.*]] = arith.mulf %arg0, %[[SQUARE]]
// CHECK:         arith.divf %{{.*}}, %[[CUBE]]
// CHECK:         llvm.call_intrinsic "llvm.{{amdgcn|nvvm}}.sqrt
// CHECK:         llvm.call_intrinsic "llvm.{{amdgcn|nvvm}}.{{log|lg2}}
// CHECK:         llvm.call_intrinsic "llvm.{{amdgcn|nvvm}}.{{exp2|ex2}}
func.func @powers(%v: vector<1xf32>) -> (vector<1xf32>, vector<1xf32>, vector<1xf32>) {
  %i = arith.constant dense<-3> : vector<1xi32>
  %h = arith.constant dense<1.5> : vector<1xf32>
  %c = arith.constant dense<2.2> : vector<1xf32>
  %0 = math.fpowi %v, %i : vector<1xf32>, vector<1xi32>
  %1 = math.powf %v, %h : vector<1xf32>
  %2 = math.powf %v, %c : vector<1xf32>
  return %0, %1, %2 : vector<1xf32>, vector<1xf32>, vector<1xf32>
}

// CHECK-LABEL: func @divisions(
// CHECK:         arith.divf
// AMD-NEXT:      arith.divf %arg0, %arg1 fastmath<arcp>
// NVIDIA-NEXT:   llvm.call_intrinsic "llvm.nvvm.div.full"(%arg0, %arg1)
// CHECK-NOT:     arith.divf
// AMD-COUNT-2:   llvm.call_intrinsic "llvm.amdgcn.rcp"
// NVIDIA-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK-NOT:     arith.divf
// CHECK:         return
func.func @divisions(%a: f32, %b: f32) -> (f32, f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %0 = arith.divf %a, %b : f32
  %1 = arith.divf %a, %b fastmath<arcp> : f32
  %2 = arith.divf %a, %b fastmath<afn> : f32
  %e = math.exp %a : f32
  %s = arith.addf %e, %one : f32
  %3 = arith.divf %b, %s : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// NVIDIA's own has a branch.
// CHECK-LABEL: func @factors(
// AMD-COUNT-4:   arith.divf
// NVIDIA-COUNT-3: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// NVIDIA:        arith.cmpf uno, %[[QUOTIENT:.*]], %[[QUOTIENT]] : f32
// NVIDIA:        arith.select %{{.*}}, %{{.*}}, %[[QUOTIENT]] : f32
// NVIDIA:        arith.divf %{{.*}}, %arg0
// CHECK-NOT:     arith.divf
// CHECK:         return
func.func @factors(%a: f32) -> (f32, f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %most = arith.constant 448.0 : f32
  %least = arith.constant 1.0e-12 : f32
  %bounded = arith.maximumf %a, %least : f32
  %0 = arith.divf %most, %bounded : f32
  %1 = arith.divf %one, %0 : f32
  %2 = arith.divf %bounded, %most : f32
  %3 = arith.divf %most, %a : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// CHECK-LABEL: func @instructions(
// CHECK:         llvm.call_intrinsic "llvm.fabs"(%arg0) : (vector<4xf32>) -> vector<4xf32>
// CHECK:         llvm.call_intrinsic "llvm.floor"
// CHECK:         llvm.call_intrinsic "llvm.ceil"
// CHECK:         llvm.call_intrinsic "llvm.trunc"
// CHECK:         llvm.call_intrinsic "llvm.roundeven"
// CHECK:         llvm.call_intrinsic "llvm.copysign"
// CHECK:         llvm.call_intrinsic "llvm.maxnum"
// CHECK:         llvm.call_intrinsic "llvm.minnum"
func.func @instructions(%v: vector<4xf32>) -> vector<4xf32> {
  %0 = math.absf %v : vector<4xf32>
  %1 = math.floor %0 : vector<4xf32>
  %2 = math.ceil %1 : vector<4xf32>
  %t = math.trunc %2 : vector<4xf32>
  %r = math.roundeven %t : vector<4xf32>
  %3 = math.copysign %r, %v : vector<4xf32>
  %4 = arith.maxnumf %3, %v : vector<4xf32>
  %5 = arith.minnumf %4, %v : vector<4xf32>
  return %5 : vector<4xf32>
}

// CHECK-LABEL: func @left_alone(
// CHECK:         math.fma
// CHECK:         arith.maximumf
func.func @left_alone(%v: f32) -> f32 {
  %0 = math.fma %v, %v, %v : f32
  %1 = arith.maximumf %0, %v : f32
  return %1 : f32
}

// With afn, what would keep the error small near 0, of large arguments and of
// subnormal numbers is left out.
// CHECK-LABEL: func @approximate(
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    %[[PRODUCT:.*]] = arith.mulf
// AMD-NEXT:      llvm.call_intrinsic "llvm.amdgcn.exp2"(%[[PRODUCT]])
// NVIDIA-NEXT:   llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[PRODUCT]])
// AMD-NEXT:      llvm.call_intrinsic "llvm.amdgcn.rsq"
// NVIDIA-NEXT:   llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
// CHECK-NOT:     arith.select
// CHECK:         return
func.func @approximate(%v: f32) -> f32 {
  %0 = math.exp %v fastmath<afn> : f32
  %1 = math.rsqrt %0 fastmath<afn> : f32
  %2 = math.erf %1 fastmath<afn> : f32
  %3 = math.tanh %2 fastmath<afn> : f32
  %4 = math.log %3 fastmath<afn> : f32
  return %4 : f32
}

// Element by element, so that the rounds' keys are scalars.
// CHECK-LABEL: func @philox(
// CHECK:         vector.to_elements %arg1
// CHECK-COUNT-40: arith.mul
// CHECK-NOT:     vector<2xi32>
// CHECK:         vector.from_elements
func.func @philox(%seed: i64, %counter: vector<2xi32>) -> vector<2xi32> {
  %bits = lnbwd.philox %seed, %counter : vector<2xi32>
  return %bits : vector<2xi32>
}
