// RUN: lnbwd-opt %s --lnbwd-simplify-row-algebra --split-input-file | FileCheck %s

// A scalar factor leaves a sum, with its sign.
// CHECK-LABEL: func @factor_leaves_sum(
// CHECK:         %[[SUM:.*]] = vector.reduction <add>, %x
// CHECK-NOT:     vector.broadcast
// CHECK:         %[[P:.*]] = arith.mulf %t, %[[SUM]]
// CHECK:         %[[R:.*]] = arith.negf %[[P]]
// CHECK:         lnbwd.yield %[[R]]
func.func @factor_leaves_sum(%f_x: memref<?x512xf32>, %f_t: memref<?xf32>, %f_o0: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_t[m] : memref<?xf32>) outs(%f_o0[m] : memref<?xf32>)
      attributes {operand_names = ["x", "t", "o0"]} {
  ^row(%xr: vector<512xf32>, %ts: f32):
    %sv = vector.broadcast %ts : f32 to vector<512xf32>
    %t = arith.mulf %xr, %sv : vector<512xf32>
    %n = arith.negf %t : vector<512xf32>
    %r = vector.reduction <add>, %n : vector<512xf32> into f32
    lnbwd.yield %r : f32
  }
  return
}

// -----

// A row that is a scalar in all places sums to N times it.
// CHECK-LABEL: func @even_row(
// CHECK:         %[[N:.*]] = arith.constant 5.120000e+02 : f32
// CHECK-NOT:     vector.reduction
// CHECK:         arith.mulf %{{.*}}, %[[N]]
func.func @even_row(%f_x: memref<?x512xf32>, %f_t: memref<?xf32>, %f_o0: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_t[m] : memref<?xf32>) outs(%f_o0[m] : memref<?xf32>)
      attributes {operand_names = ["x", "t", "o0"]} {
  ^row(%xr: vector<512xf32>, %ts: f32):
    %sv = vector.broadcast %ts : f32 to vector<512xf32>
    %r = vector.reduction <add>, %sv : vector<512xf32> into f32
    lnbwd.yield %r : f32
  }
  return
}

// -----

// The deviations from the mean sum to 0: what is left of x - mean + y is the sum of y.
// CHECK-LABEL: func @sum_of_centred(
// CHECK:         ^bb0(%{{.*}}: vector<512xf32>, %[[Y:.*]]: vector<512xf32>):
// CHECK-NEXT:    %[[R:.*]] = vector.reduction <add>, %[[Y]]
// CHECK-NEXT:    lnbwd.yield %[[R]]
func.func @sum_of_centred(%f_x: memref<?x512xf32>, %f_y: memref<?x512xf32>, %f_o0: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_y[m, n] : memref<?x512xf32>) outs(%f_o0[m] : memref<?xf32>)
      attributes {operand_names = ["x", "y", "o0"]} {
  ^row(%xr: vector<512xf32>, %yr: vector<512xf32>):
    %c = arith.constant 0.001953125 : f32
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %m = arith.mulf %sum, %c : f32
    %mv = vector.broadcast %m : f32 to vector<512xf32>
    %d = arith.subf %xr, %mv : vector<512xf32>
    %t = arith.addf %d, %yr : vector<512xf32>
    %r = vector.reduction <add>, %t : vector<512xf32> into f32
    lnbwd.yield %r : f32
  }
  return
}

// -----

// What any other shift leaves of the sum is a multiple of it: 1 - 512 * 0.001.
// CHECK-LABEL: func @other_shifts(
// CHECK:         %[[REST:.*]] = arith.constant 0.487999976 : f32
// CHECK:         %[[SUM:.*]] = vector.reduction <add>, %x
// CHECK-NEXT:    %[[R:.*]] = arith.mulf %[[SUM]], %[[REST]]
// CHECK-NEXT:    lnbwd.yield %[[R]]
func.func @other_shifts(%f_x: memref<?x512xf32>, %f_o0: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>) outs(%f_o0[m] : memref<?xf32>)
      attributes {operand_names = ["x", "o0"]} {
  ^row(%xr: vector<512xf32>):
    %c = arith.constant 0.001 : f32
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %m = arith.mulf %sum, %c : f32
    %mv = vector.broadcast %m : f32 to vector<512xf32>
    %d = arith.subf %xr, %mv : vector<512xf32>
    %r = vector.reduction <add>, %d : vector<512xf32> into f32
    lnbwd.yield %r : f32
  }
  return
}

// -----

// The squares of a normalised row sum to N (1 - eps rstd^2), here with eps = 0.5.
// CHECK-LABEL: func @sum_of_normalised_squares(
// CHECK-DAG:     %[[FACTOR:.*]] = arith.constant -2.560000e+02 : f32
// CHECK-DAG:     %[[N:.*]] = arith.constant 5.120000e+02 : f32
// CHECK:         vector.reduction
// CHECK:         %[[RSTD:.*]] = math.rsqrt
// CHECK-NOT:     vector.reduction
// CHECK:         %[[SCALED:.*]] = arith.mulf %[[RSTD]], %[[FACTOR]]
// CHECK:         %[[PART:.*]] = arith.mulf %[[SCALED]], %[[RSTD]]
// CHECK:         %[[SUM:.*]] = arith.addf %[[PART]], %[[N]]
// CHECK:         lnbwd.yield %[[SUM]], %[[RSTD]]
func.func @sum_of_normalised_squares(%f_x: memref<?x512xf32>, %f_o0: memref<?xf32>, %f_o1: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>) outs(%f_o0[m] : memref<?xf32>, %f_o1[m] : memref<?xf32>)
      attributes {operand_names = ["x", "o0", "o1"]} {
  ^row(%xr: vector<512xf32>):
    %c = arith.constant 0.001953125 : f32
    %eps = arith.constant 0.5 : f32
    %sq = arith.mulf %xr, %xr : vector<512xf32>
    %ss = vector.reduction <add>, %sq : vector<512xf32> into f32
    %v = arith.mulf %ss, %c : f32
    %ve = arith.addf %v, %eps : f32
    %r = math.rsqrt %ve : f32
    %rv = vector.broadcast %r : f32 to vector<512xf32>
    %h = arith.mulf %xr, %rv : vector<512xf32>
    %hh = arith.mulf %h, %h : vector<512xf32>
    %t = vector.reduction <add>, %hh : vector<512xf32> into f32
    lnbwd.yield %t, %r : f32, f32
  }
  return
}

// -----

// v a + v b is v (a + b).
// CHECK-LABEL: func @common_row(
// CHECK:         %[[S:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:         %[[SV:.*]] = vector.broadcast %[[S]]
// CHECK:         %[[Y:.*]] = arith.mulf %x, %[[SV]]
// CHECK:         lnbwd.yield %[[Y]]
func.func @common_row(%f_x: memref<?x512xf32>, %f_a: memref<?xf32>, %f_b: memref<?xf32>, %f_o0: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_a[m] : memref<?xf32>, %f_b[m] : memref<?xf32>) outs(%f_o0[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "a", "b", "o0"]} {
  ^row(%xr: vector<512xf32>, %as: f32, %bs: f32):
    %av = vector.broadcast %as : f32 to vector<512xf32>
    %bv = vector.broadcast %bs : f32 to vector<512xf32>
    %p = arith.mulf %xr, %av : vector<512xf32>
    %q = arith.mulf %bv, %xr : vector<512xf32>
    %y = arith.addf %p, %q : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// x (a b) is (x a) b where x a is there.
// CHECK-LABEL: func @reuse_scaled_row(
// CHECK:         %[[H:.*]] = arith.mulf %x,
// CHECK:         %[[B:.*]] = vector.broadcast %b
// CHECK:         %[[Y:.*]] = arith.mulf %[[H]], %[[B]]
// CHECK:         lnbwd.yield %[[H]], %[[Y]]
func.func @reuse_scaled_row(%f_x: memref<?x512xf32>, %f_a: memref<?xf32>, %f_b: memref<?xf32>, %f_o0: memref<?x512xf32>, %f_o1: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_a[m] : memref<?xf32>, %f_b[m] : memref<?xf32>) outs(%f_o0[m, n] : memref<?x512xf32>, %f_o1[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "a", "b", "o0", "o1"]} {
  ^row(%xr: vector<512xf32>, %as: f32, %bs: f32):
    %av = vector.broadcast %as : f32 to vector<512xf32>
    %h = arith.mulf %xr, %av : vector<512xf32>
    %ab = arith.mulf %as, %bs : f32
    %abv = vector.broadcast %ab : f32 to vector<512xf32>
    %y = arith.mulf %xr, %abv : vector<512xf32>
    lnbwd.yield %h, %y : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// sum(y x) a^2 is sum(y (x a)) a where x a is there: a smaller power.
// CHECK-LABEL: func @reuse_scaled_row_in_sum(
// CHECK:         %[[H:.*]] = arith.mulf %x,
// CHECK:         %[[T:.*]] = arith.mulf %y, %[[H]]
// CHECK:         %[[S:.*]] = vector.reduction <add>, %[[T]]
// CHECK:         %[[R:.*]] = arith.mulf %a, %[[S]]
// CHECK:         lnbwd.yield %[[H]], %[[R]]
func.func @reuse_scaled_row_in_sum(%f_x: memref<?x512xf32>, %f_y: memref<?x512xf32>, %f_a: memref<?xf32>, %f_o0: memref<?x512xf32>, %f_o1: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_y[m, n] : memref<?x512xf32>, %f_a[m] : memref<?xf32>) outs(%f_o0[m, n] : memref<?x512xf32>, %f_o1[m] : memref<?xf32>)
      attributes {operand_names = ["x", "y", "a", "o0", "o1"]} {
  ^row(%xr: vector<512xf32>, %yr: vector<512xf32>, %as: f32):
    %av = vector.broadcast %as : f32 to vector<512xf32>
    %h = arith.mulf %xr, %av : vector<512xf32>
    %t = arith.mulf %yr, %xr : vector<512xf32>
    %s = vector.reduction <add>, %t : vector<512xf32> into f32
    %u = arith.mulf %s, %as : f32
    %w = arith.mulf %u, %as : f32
    lnbwd.yield %h, %w : vector<512xf32>, f32
  }
  return
}

// -----

// (y / s + t / s) e is (y + t) (e / s) where e / s is there.
// CHECK-LABEL: func @common_scale(
// CHECK:         %[[P:.*]] = arith.mulf %x,
// CHECK:         %[[T:.*]] = vector.broadcast %t
// CHECK:         %[[U:.*]] = arith.addf %y, %[[T]]
// CHECK:         %[[Z:.*]] = arith.mulf %[[U]], %[[P]]
// CHECK:         lnbwd.yield %[[P]], %[[Z]]
func.func @common_scale(%f_x: memref<?x512xf32>, %f_y: memref<?x512xf32>, %f_s: memref<?xf32>, %f_t: memref<?xf32>, %f_o0: memref<?x512xf32>, %f_o1: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_y[m, n] : memref<?x512xf32>, %f_s[m] : memref<?xf32>, %f_t[m] : memref<?xf32>) outs(%f_o0[m, n] : memref<?x512xf32>, %f_o1[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "y", "s", "t", "o0", "o1"]} {
  ^row(%xr: vector<512xf32>, %yr: vector<512xf32>, %ss: f32, %ts: f32):
    %sv = vector.broadcast %ss : f32 to vector<512xf32>
    %p = arith.divf %xr, %sv : vector<512xf32>
    %q = arith.divf %yr, %sv : vector<512xf32>
    %o = arith.divf %ts, %ss : f32
    %ov = vector.broadcast %o : f32 to vector<512xf32>
    %u = arith.addf %q, %ov : vector<512xf32>
    %z = arith.mulf %u, %xr : vector<512xf32>
    lnbwd.yield %p, %z : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// A sum of products is a chain of fused multiply-adds that begins with the even terms.
// CHECK-LABEL: func @fused_additions(
// CHECK:         %[[AB:.*]] = arith.addf %a, %b
// CHECK:         %[[START:.*]] = vector.broadcast %[[AB]]
// CHECK:         %[[INNER:.*]] = vector.fma %x, %y, %[[START]]
// CHECK:         %[[Z:.*]] = vector.fma %x, %x, %[[INNER]]
// CHECK:         lnbwd.yield %[[Z]]
func.func @fused_additions(%f_x: memref<?x512xf32>, %f_y: memref<?x512xf32>, %f_a: memref<?xf32>, %f_b: memref<?xf32>, %f_o0: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_y[m, n] : memref<?x512xf32>, %f_a[m] : memref<?xf32>, %f_b[m] : memref<?xf32>) outs(%f_o0[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "y", "a", "b", "o0"]} {
  ^row(%xr: vector<512xf32>, %yr: vector<512xf32>, %as: f32, %bs: f32):
    %av = vector.broadcast %as : f32 to vector<512xf32>
    %bv = vector.broadcast %bs : f32 to vector<512xf32>
    %p = arith.mulf %xr, %yr : vector<512xf32>
    %q = arith.mulf %xr, %xr : vector<512xf32>
    %u = arith.addf %p, %av : vector<512xf32>
    %w = arith.addf %u, %q : vector<512xf32>
    %z = arith.addf %w, %bv : vector<512xf32>
    lnbwd.yield %z : vector<512xf32>
  }
  return
}

// -----

// Zeros are struck out, and x + x is 2 x.
// CHECK-LABEL: func @zeros(
// CHECK:         %[[TWO:.*]] = arith.constant dense<2.000000e+00>
// CHECK-NEXT:    %[[W:.*]] = arith.mulf %x, %[[TWO]]
// CHECK-NEXT:    lnbwd.yield %[[W]]
func.func @zeros(%f_x: memref<?x512xf32>, %f_o0: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>) outs(%f_o0[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "o0"]} {
  ^row(%xr: vector<512xf32>):
    %zero = arith.constant dense<0.0> : vector<512xf32>
    %p = arith.mulf %xr, %zero : vector<512xf32>
    %u = arith.addf %p, %xr : vector<512xf32>
    %w = arith.addf %u, %u : vector<512xf32>
    lnbwd.yield %w : vector<512xf32>
  }
  return
}

// -----

// An even factor leaves a sum whose other factor is scaled already, and does
// not come back: in a sum the product with it is not "there already".
// CHECK-LABEL: func @even_factor_stays_out(
// CHECK:         vector.reduction <add>, %{{.*}} : vector<512xf32>
// CHECK-NOT:     vector.reduction
// CHECK:         lnbwd.yield
func.func @even_factor_stays_out(%f_x: memref<?x512xf32>, %f_t: memref<?xf32>, %f_y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_t[m] : memref<?xf32>) outs(%f_y[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "t", "y"]} {
  ^row(%x: vector<512xf32>, %t: f32):
    %spread = vector.broadcast %t : f32 to vector<512xf32>
    %scaled = arith.mulf %x, %spread : vector<512xf32>
    %again = arith.mulf %spread, %scaled : vector<512xf32>
    %sum = vector.reduction <add>, %again : vector<512xf32> into f32
    %sums = vector.broadcast %sum : f32 to vector<512xf32>
    %needed = math.tanh %scaled : vector<512xf32>
    %y = arith.mulf %needed, %sums : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// Equal expressions are one, however they are grouped, and a function of what is
// the same in all places is one of a scalar.
// CHECK-LABEL: func @equal_expressions(
// CHECK:         %[[T:.*]] = math.tanh %t : f32
// CHECK:         %[[XY:.*]] = arith.mulf %x, %y
// CHECK:         %[[TV:.*]] = vector.broadcast %[[T]]
// CHECK:         %[[P:.*]] = arith.mulf %[[XY]], %[[TV]]
// CHECK:         lnbwd.yield %[[P]], %[[P]]
func.func @equal_expressions(%f_x: memref<?x512xf32>, %f_y: memref<?x512xf32>, %f_t: memref<?xf32>, %f_p: memref<?x512xf32>, %f_q: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_y[m, n] : memref<?x512xf32>, %f_t[m] : memref<?xf32>)
      outs(%f_p[m, n] : memref<?x512xf32>, %f_q[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "y", "t", "p", "q"]} {
  ^row(%x: vector<512xf32>, %y: vector<512xf32>, %t: f32):
    %tv = vector.broadcast %t : f32 to vector<512xf32>
    %h = math.tanh %tv : vector<512xf32>
    %xy = arith.mulf %x, %y : vector<512xf32>
    %p = arith.mulf %xy, %h : vector<512xf32>
    %yh = arith.mulf %h, %y : vector<512xf32>
    %q = arith.mulf %yh, %x : vector<512xf32>
    lnbwd.yield %p, %q : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// A sum that is a factor is not multiplied out.
// CHECK-LABEL: func @square_of_a_difference(
// CHECK:         %[[D:.*]] = arith.subf %x, %{{.*}}
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK-NEXT:    vector.reduction <add>, %[[P]]
func.func @square_of_a_difference(%f_x: memref<?x512xf32>, %f_m: memref<?xf32>, %f_o: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x512xf32>, %f_m[m] : memref<?xf32>) outs(%f_o[m] : memref<?xf32>)
      attributes {operand_names = ["x", "m", "o"]} {
  ^row(%x: vector<512xf32>, %m: f32):
    %mv = vector.broadcast %m : f32 to vector<512xf32>
    %d = arith.subf %x, %mv : vector<512xf32>
    %p = arith.mulf %d, %d : vector<512xf32>
    %s = vector.reduction <add>, %p : vector<512xf32> into f32
    lnbwd.yield %s : f32
  }
  return
}

// -----

// A row of one element is its sum, so that its deviation from the mean is 0.
// CHECK-LABEL: func @row_of_one_element(
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK:         %[[X:.*]] = vector.extract %x[0]
// CHECK:         lnbwd.yield %[[ZERO]], %[[X]]
func.func @row_of_one_element(%f_x: memref<?x1xf32>, %f_y: memref<?x1xf32>, %f_m: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%f_x[m, n] : memref<?x1xf32>) outs(%f_y[m, n] : memref<?x1xf32>, %f_m[m] : memref<?xf32>)
      attributes {operand_names = ["x", "y", "m"]} {
  ^row(%x: vector<1xf32>):
    %sum = vector.reduction <add>, %x : vector<1xf32> into f32
    %mean = vector.broadcast %sum : f32 to vector<1xf32>
    %y = arith.subf %x, %mean : vector<1xf32>
    lnbwd.yield %y, %sum : vector<1xf32>, f32
  }
  return
}

// -----

// Rows of several lengths: one of one element is a row by itself, and a scalar in longer ones.
// CHECK-LABEL: func @rows_of_two_lengths(
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<1xf32>
// CHECK:         %[[P:.*]] = lnbwd.linear %x, %w
// CHECK:         %[[S:.*]] = vector.extract %[[P]][0]
// CHECK:         %[[SCALE:.*]] = arith.mulf %[[S]], %[[TWO]]
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[SCALE]] : f32 to vector<512xf32>
// CHECK:         %[[Y:.*]] = arith.mulf %x, %[[SPREAD]]
// CHECK:         lnbwd.yield %[[Y]], %[[ZERO]]
func.func @rows_of_two_lengths(%f_x: memref<?x512xf32>, %f_w: memref<1x512xf32>, %f_y: memref<?x512xf32>, %f_z: memref<?x1xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%f_x[m, n0] : memref<?x512xf32>, %f_w[n1, n0] : memref<1x512xf32>) outs(%f_y[m, n0] : memref<?x512xf32>, %f_z[m, n1] : memref<?x1xf32>)
      attributes {operand_names = ["x", "w", "y", "z"]} {
  ^row(%x: vector<512xf32>, %w: vector<1x512xf32>):
    %p = lnbwd.linear %x, %w : vector<512xf32>, vector<1x512xf32>
    %s = vector.reduction <add>, %p : vector<1xf32> into f32
    %sv = vector.broadcast %s : f32 to vector<512xf32>
    %t = arith.mulf %x, %sv : vector<512xf32>
    %y = arith.addf %t, %t : vector<512xf32>
    %mean = vector.broadcast %s : f32 to vector<1xf32>
    %z = arith.subf %p, %mean : vector<1xf32>
    lnbwd.yield %y, %z : vector<512xf32>, vector<1xf32>
  }
  return
}
