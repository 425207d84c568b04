// RUN: split-file %s %t
// RUN: lnbwd-opt %t/programs.mlir --lnbwd-differentiate --split-input-file --verify-diagnostics
// RUN: not lnbwd-opt %t/names.mlir --lnbwd-differentiate=wrt=z 2>&1 | FileCheck %s --check-prefix=WRT
// RUN: not lnbwd-opt %t/names.mlir --lnbwd-differentiate=of=x 2>&1 | FileCheck %s --check-prefix=OF
// RUN: not lnbwd-opt %t/names.mlir --lnbwd-differentiate=saved=x 2>&1 | FileCheck %s --check-prefix=SAVED
// RUN: not lnbwd-opt %t/sum.mlir --lnbwd-differentiate=saved=total 2>&1 | FileCheck %s --check-prefix=SUM

// RUN: not lnbwd-opt %t/names.mlir --lnbwd-differentiate=saved=none,y 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not lnbwd-opt %t/scalar.mlir --lnbwd-differentiate=saved=s 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not lnbwd-opt %t/scalars.mlir --lnbwd-differentiate=saved=s,t 2>&1 | FileCheck %s --check-prefix=SCALARS
// RUN: not lnbwd-opt %t/statistics.mlir --lnbwd-differentiate 2>&1 | FileCheck %s --check-prefix=STATISTICS

// A gradient of nothing would be 0.
// SCALAR:     scalar.mlir:2:3: error: 'lnbwd.rowwise' op expected an output that the loss depends on, but all (s) are integers, or row scalars that are saved, which have no adjoint; write saved=none
// SCALARS:    scalars.mlir:2:3: error: 'lnbwd.rowwise' op expected an output that the loss depends on, but all (s, t) are integers, or row scalars that are saved, which have no adjoint; write saved=none, or name in saved those that the loss does not depend on
// STATISTICS: statistics.mlir:2:3: error: 'lnbwd.rowwise' op expected an output that the loss depends on, but all (mean, rstd) are integers, or row scalars

// BOTH:  names.mlir:2:3: error: 'lnbwd.rowwise' op expected the option saved to be 'none' alone or names of outputs, got both
// WRT:   names.mlir:2:3: error: 'lnbwd.rowwise' op expected the option wrt to name some of x, scale, got 'z'
// OF:    names.mlir:2:3: error: 'lnbwd.rowwise' op expected the option of to name some of y, norm, got 'x'
// SAVED: names.mlir:2:3: error: 'lnbwd.rowwise' op expected the option saved to name some of y, norm, got 'x'
// SUM:   sum.mlir:2:3: error: 'lnbwd.rowwise' op expected the option saved to name outputs of all rows, got total, a sum over rows

//--- sum.mlir
func.func @f(%x: memref<?x64xf32>, %total: memref<64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%total[n] add : memref<64xf32>)
      attributes {operand_names = ["x", "total"]} {
  ^bb0(%xr: vector<64xf32>):
    lnbwd.yield %xr : vector<64xf32>
  }
  return
}

//--- names.mlir
func.func @f(%x: memref<?x64xf32>, %scale: memref<64xf32>, %y: memref<?x64xf32>, %norm: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %scale[n] : memref<64xf32>)
      outs(%y[m, n] : memref<?x64xf32>, %norm[m] : memref<?xf32>)
      attributes {operand_names = ["x", "scale", "y", "norm"]} {
  ^bb0(%xr: vector<64xf32>, %s: vector<64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %yr = arith.mulf %xr, %s : vector<64xf32>
    lnbwd.yield %yr, %sum : vector<64xf32>, f32
  }
  return
}

//--- scalar.mlir
func.func @f(%x: memref<?x64xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%s[m] : memref<?xf32>)
      attributes {operand_names = ["x", "s"]} {
  ^bb0(%xr: vector<64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

//--- scalars.mlir
func.func @f(%x: memref<?x64xf32>, %s: memref<?xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%s[m] : memref<?xf32>, %t[m] : memref<?xf32>)
      attributes {operand_names = ["x", "s", "t"]} {
  ^bb0(%xr: vector<64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %twice = arith.addf %sum, %sum : f32
    lnbwd.yield %sum, %twice : f32, f32
  }
  return
}

//--- statistics.mlir
func.func @f(%x: memref<?x64xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm x(%x : memref<?x64xf32>) outs mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}

//--- programs.mlir
// Sums and the largest element are the only reductions.
func.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^bb0(%xr: vector<64xf32>):
    // expected-error@+1 {{'vector.reduction' op cannot be differentiated: expected the sum or the largest element of a row of float32, vector.reduction <add> or <maximumf>}}
    %m = vector.reduction <mul>, %xr : vector<64xf32> into f32
    %mv = vector.broadcast %m : f32 to vector<64xf32>
    %yr = arith.mulf %xr, %mv : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^bb0(%xr: vector<64xf32>):
    // expected-error@+1 {{'math.sinh' op cannot be differentiated: expected one of arith.addf, arith.divf, arith.extf, arith.maximumf}}
    %yr = math.sinh %xr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}
