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

// -----

// Another program might fuse the two.
func.func @f(%x: memref<?x64xf32>, %s: memref<64xf32>) {
  // expected-error@+1 {{expected maxima over rows, of a static number of groups, of inputs or of one product or sum of them, whose elements the gradient finds again, got operand1; write the rows, and take the maximum of these}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%s[n] max : memref<64xf32>) {
  ^bb0(%xr: vector<64xf32>):
    %square = arith.mulf %xr, %xr : vector<64xf32>
    %sum = arith.addf %square, %xr : vector<64xf32>
    lnbwd.yield %sum : vector<64xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x64xf32>, %s: memref<?x64xf32>) {
  // expected-error@+1 {{of a static number of groups, of inputs or}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x64xf32>) outs(%s[b, n] max : memref<?x64xf32>) {
  ^bb0(%xr: vector<64xf32>):
    lnbwd.yield %xr : vector<64xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rms_norm x(%x : memref<?x64xf32>) outs y(%y : memref<?x64xf32>)
  // expected-error@+1 {{expected one forward operation in a function that is differentiated}}
  lnbwd.rms_norm x(%x : memref<?x64xf32>) outs y(%y : memref<?x64xf32>)
  return
}

// -----

// Gradients are float32: what is computed wider would lose what it is wider for.
func.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^bb0(%xr: vector<64xf32>):
    %wide = arith.extf %xr : vector<64xf32> to vector<64xf64>
    %square = arith.mulf %wide, %wide : vector<64xf64>
    // expected-error@+1 {{'arith.truncf' op cannot be differentiated: expected arithmetic of float32 or narrower, got 'f64'; gradients are computed in float32}}
    %yr = arith.truncf %square : vector<64xf64> to vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// A sum that is not of float32 is no row sum.
func.func @f(%x: memref<?x64xbf16>, %y: memref<?xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xbf16>) outs(%y[m] : memref<?xbf16>) {
  ^bb0(%xr: vector<64xbf16>):
    // expected-error@+1 {{'vector.reduction' op cannot be differentiated}}
    %yr = vector.reduction <add>, %xr : vector<64xbf16> into bf16
    lnbwd.yield %yr : bf16
  }
  return
}

// -----

func.func @mask_out(%x: memref<?x8xf32>, %m: memref<?x8xi8>) {
  // expected-error@+1 {{but all (positive) are integers, or row scalars that are saved, which have no adjoint}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%m[m, n] : memref<?x8xi8>)
      attributes {operand_names = ["x", "positive"]} {
  ^bb0(%xr: vector<8xf32>):
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %positive = arith.cmpf ogt, %xr, %zero : vector<8xf32>
    %byte = arith.extui %positive : vector<8xi1> to vector<8xi8>
    lnbwd.yield %byte : vector<8xi8>
  }
  return
}

// -----

// Nor is there a program that adds up in another order than the domain's.
func.func @strided(%x: memref<2x3x8xf32>, %t: memref<8x3xf32>, %y: memref<2x3x8xf32>) {
  // expected-error@+1 {{in dense buffers in the order of the domain; got t of 'memref<8x3xf32>' with affine_map<(d0, d1, d2) -> (d2, d1)>; name others}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<2x3x8xf32>, %t[n, t] : memref<8x3xf32>)
      outs(%y[b, t, n] : memref<2x3x8xf32>) attributes {operand_names = ["x", "t", "y"]} {
  ^row(%xr: vector<8xf32>, %tr: vector<8xf32>):
    %z = arith.mulf %xr, %tr : vector<8xf32>
    lnbwd.yield %z : vector<8xf32>
  }
  return
}

// -----

// The gradient of what groups share would be a sum over the groups.
func.func @shared(%x: memref<?x?x8xf32>, %t: memref<?x8xf32>, %y: memref<?x?x8xf32>) {
  // expected-error@+1 {{expected the option wrt to name inputs that have all row dimensions, columns, or neighbouring dimensions without the first, all static from these on, in dense buffers in the order of the domain; got t of 'memref<?x8xf32>' with affine_map<(d0, d1, d2) -> (d1, d2)>; name others, or repeat it for all rows}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x8xf32>, %t[t, n] : memref<?x8xf32>)
      outs(%y[b, t, n] : memref<?x?x8xf32>) attributes {operand_names = ["x", "t", "y"]} {
  ^row(%xr: vector<8xf32>, %tr: vector<8xf32>):
    %z = arith.mulf %xr, %tr : vector<8xf32>
    lnbwd.yield %z : vector<8xf32>
  }
  return
}
