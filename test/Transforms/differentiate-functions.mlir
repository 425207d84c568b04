// RUN: lnbwd-opt %s --lnbwd-differentiate --split-input-file | FileCheck %s

// The derivative of a power by its base and by its exponent; 0 where the exponent
// is 0, and where the base is.
// CHECK-LABEL: func @power_bwd(
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-DAG:     %[[LESS:.*]] = arith.subf %z, %{{.*}} : vector<64xf32>
// CHECK-DAG:     math.powf %x, %[[LESS]]
// CHECK-DAG:     arith.cmpf oeq, %z, %[[ZERO]] : vector<64xf32>
// CHECK-DAG:     math.log %x
// CHECK-DAG:     arith.cmpf oeq, %x, %[[ZERO]] : vector<64xf32>
// CHECK-DAG:     arith.cmpf oge, %z, %[[ZERO]] : vector<64xf32>
func.func @power(%x: memref<?x64xf32>, %z: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %z[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "z", "y"]} {
  ^bb0(%xr: vector<64xf32>, %zr: vector<64xf32>):
    %yr = math.powf %xr, %zr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @waves_bwd(
// CHECK-DAG:     math.cos %x
// CHECK-DAG:     %[[SIN:.*]] = math.sin %x
// CHECK-DAG:     %[[DSIN:.*]] = arith.mulf {{.*}}%[[SIN]]
// CHECK-DAG:     arith.negf %[[DSIN]]
func.func @waves(%x: memref<?x64xf32>, %s: memref<?x64xf32>, %c: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%s[m, n] : memref<?x64xf32>, %c[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "s", "c"]} {
  ^bb0(%xr: vector<64xf32>):
    %sr = math.sin %xr : vector<64xf32>
    %cr = math.cos %xr : vector<64xf32>
    lnbwd.yield %sr, %cr : vector<64xf32>, vector<64xf32>
  }
  return
}

// -----

// The largest elements of a row share its adjoint.
// CHECK-LABEL: func @largest_bwd(
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK:         %[[LARGEST:.*]] = vector.reduction <maximumf>, %x
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[LARGEST]]
// CHECK-NOT:     vector.reduction <maximumf>
// CHECK:         %[[IS:.*]] = arith.cmpf oeq, %x, %[[SPREAD]]
// CHECK:         %[[SHARES:.*]] = arith.select %[[IS]], %[[ONE]], %[[ZERO]]
// CHECK:         %[[COUNT:.*]] = vector.reduction <add>, %[[SHARES]]
// CHECK:         arith.divf %{{.*}}, %[[COUNT]]
func.func @largest(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %m: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>, %m[m] : memref<?xf32>)
      attributes {operand_names = ["x", "y", "m"]} {
  ^bb0(%xr: vector<64xf32>):
    %most = vector.reduction <maximumf>, %xr : vector<64xf32> into f32
    %mv = vector.broadcast %most : f32 to vector<64xf32>
    %yr = arith.mulf %xr, %mv : vector<64xf32>
    lnbwd.yield %yr, %most : vector<64xf32>, f32
  }
  return
}

// -----

// An exponential that may overflow in a denominator: all terms are multiplied by
// exp(-m), m the largest exponent, a constant.
// CHECK-LABEL: func @shifted_bwd(
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK:         %[[N:.*]] = arith.negf %x
// CHECK:         %[[M:.*]] = arith.maximumf %[[N]], %[[ZERO]] {lnbwd.detach}
// CHECK:         %[[SHIFT:.*]] = arith.negf %[[M]]
// CHECK:         %[[SMALL:.*]] = math.exp %[[SHIFT]]
// CHECK:         arith.mulf %[[SMALL]], %x
// CHECK:         math.exp
// CHECK-NOT:     math.exp
func.func @shifted(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^bb0(%xr: vector<64xf32>):
    %two = arith.constant dense<2.0> : vector<64xf32>
    %n = arith.negf %xr : vector<64xf32>
    %e = math.exp %n : vector<64xf32>
    %d = arith.addf %e, %two : vector<64xf32>
    %yr = arith.divf %xr, %d : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// The divisor 1 + exp(u) needs no shift: one quotient s gives all, and -s (1 - s)
// goes to u, 1 - s being exp(u) s, where exp(u) may be infinite.
// CHECK-LABEL: func @silu_bwd(
// CHECK:         %[[U:.*]] = arith.negf %x
// CHECK:         %[[E:.*]] = math.exp %[[U]]
// CHECK:         %[[D:.*]] = arith.addf %[[E]]
// CHECK:         %[[S:.*]] = arith.divf %{{.*}}, %[[D]]
// CHECK-NOT:     arith.divf
// CHECK-NOT:     math.exp
// CHECK:         %[[FINITE:.*]] = arith.minimumf %[[E]]
// CHECK:         arith.mulf %[[FINITE]], %[[S]]
// CHECK-NOT:     arith.divf
func.func @silu(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^bb0(%xr: vector<64xf32>):
    %one = arith.constant dense<1.0> : vector<64xf32>
    %n = arith.negf %xr : vector<64xf32>
    %e = math.exp %n : vector<64xf32>
    %d = arith.addf %e, %one : vector<64xf32>
    %yr = arith.divf %xr, %d : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// One that cannot overflow is left alone.
// CHECK-LABEL: func @bounded_bwd(
// CHECK-NOT:     arith.maximumf
// CHECK-NOT:     arith.select
func.func @bounded(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^bb0(%xr: vector<64xf32>):
    %one = arith.constant dense<1.0> : vector<64xf32>
    %square = arith.mulf %xr, %xr : vector<64xf32>
    %n = arith.negf %square : vector<64xf32>
    %e = math.exp %n : vector<64xf32>
    %d = arith.addf %e, %one : vector<64xf32>
    %yr = arith.divf %xr, %d : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// Neither does that of what is less than the row's largest element, detached or
// not.
// CHECK-LABEL: func @softmax_bwd(
// CHECK-NOT:     arith.select
// CHECK:         return
func.func @softmax(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^bb0(%xr: vector<64xf32>):
    %one = arith.constant 1.0 : f32
    %max = vector.reduction <maximumf>, %xr : vector<64xf32> into f32
    %m = arith.mulf %max, %one {lnbwd.detach} : f32
    %mv = vector.broadcast %m : f32 to vector<64xf32>
    %shifted = arith.subf %xr, %mv : vector<64xf32>
    %e = math.exp %shifted : vector<64xf32>
    %sum = vector.reduction <add>, %e : vector<64xf32> into f32
    %sv = vector.broadcast %sum : f32 to vector<64xf32>
    %yr = arith.divf %e, %sv : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// Adjoints of narrow arithmetic are float32.
// CHECK-LABEL: func @narrow_bwd(
// CHECK:         %[[DY:.*]] = arith.extf %dy : vector<64xbf16> to vector<64xf32>
// CHECK:         %[[TWICE:.*]] = arith.mulf %[[DY]], %{{.*}} : vector<64xf32>
// CHECK:         %[[X:.*]] = arith.extf %x : vector<64xbf16> to vector<64xf32>
// CHECK:         %[[DX:.*]] = arith.mulf %[[X]], %[[TWICE]] {{.*}} : vector<64xf32>
// CHECK:         arith.truncf %[[DX]] : vector<64xf32> to vector<64xbf16>
func.func @narrow(%x: memref<?x64xbf16>, %y: memref<?x64xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xbf16>) outs(%y[m, n] : memref<?x64xbf16>)
      attributes {operand_names = ["x", "y"]} {
  ^bb0(%xr: vector<64xbf16>):
    %yr = arith.mulf %xr, %xr : vector<64xbf16>
    lnbwd.yield %yr : vector<64xbf16>
  }
  return
}
