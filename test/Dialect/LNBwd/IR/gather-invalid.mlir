// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%i: memref<?xi32>, %t: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{operand 1: expected a table to be an input '[*, n]' or '[*]' of a static number of rows, of at most 2147483647 elements together, in a program without matrices, got 'memref<?x8xf32>' with affine_map<(d0, d1)[s0] -> (s0, d1)>}}
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi32>, %t[*, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%ir: i32, %tr: vector<1x8xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<1x8xf32>, i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?xi32>, %t: memref<1000000x8192xf32>, %y: memref<?x8192xf32>) {
  // expected-error@+1 {{expected a table to be an input '[*, n]' or '[*]' of a static number of rows, of at most 2147483647 elements together}}
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi32>, %t[*, n] : memref<1000000x8192xf32>) outs(%y[m, n] : memref<?x8192xf32>) {
  ^row(%ir: i32, %tr: vector<1000000x8192xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<1000000x8192xf32>, i32
    lnbwd.yield %r : vector<8192xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?xi32>, %t: memref<8x5xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected a table to be an input '[*, n]' or '[*]' of a static number of rows}}
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi32>, %t[n, *] : memref<8x5xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%ir: i32, %tr: vector<8x5xf32>):
    lnbwd.yield %tr : vector<8x5xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?xi32>, %t: memref<5x4xf32>, %y: memref<?x4x2xf32>) {
  // expected-error@+1 {{operand 1: expected a table to have all column dimensions, got 'memref<5x4xf32>' with affine_map<(d0, d1, d2)[s0] -> (s0, d1)>}}
  lnbwd.rowwise @k domain(m | c, d) ins(%i[m] : memref<?xi32>, %t[*, c] : memref<5x4xf32>) outs(%y[m, c, d] : memref<?x4x2xf32>) {
  ^row(%ir: i32, %tr: vector<5x4xf32>):
    lnbwd.yield %tr : vector<5x4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %i: memref<?xi32>, %w: memref<4x8xf32>, %t: memref<5x8xf32>, %y: memref<?x4xf32>) {
  // expected-error@+1 {{operand 3: expected a table to be an input '[*, n]' or '[*]' of a static number of rows, of at most 2147483647 elements together, in a program without matrices}}
  lnbwd.rowwise @k domain(m | o, k) ins(%x[m, k] : memref<?x8xf32>, %i[m] : memref<?xi32>, %w[o, k] : memref<4x8xf32>, %t[*, k] : memref<5x8xf32>) outs(%y[m, o] : memref<?x4xf32>) {
  ^row(%xr: vector<8xf32>, %ir: i32, %wr: vector<4x8xf32>, %tr: vector<5x8xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<5x8xf32>, i32
    %z = lnbwd.linear %r, %wr : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %z : vector<4xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?xi32>, %t: memref<5x8xi8>, %y: memref<?x8xi8>) {
  // expected-error@+1 {{expected the elements of a table to be f16, bf16 or f32, got 'i8'}}
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi32>, %t[*, n] : memref<5x8xi8>) outs(%y[m, n] : memref<?x8xi8>) {
  ^row(%ir: i32, %tr: vector<5x8xi8>):
    lnbwd.yield %tr : vector<5x8xi8>
  }
  return
}

// -----

func.func @f(%t: memref<5x8xf32>, %i: memref<?xi32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected operands in the order row blocks, columns, group columns, row scalars, matrices, tables; row blocks, row scalars, column sums, group sums, outer sums; got a row scalar after a table}}
  lnbwd.rowwise @k domain(m | n) ins(%t[*, n] : memref<5x8xf32>, %i[m] : memref<?xi32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%tr: vector<5x8xf32>, %ir: i32):
    %r = lnbwd.gather %tr[%ir] : vector<5x8xf32>, i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?xi32>, %t: memref<5x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi32>, %t[*, n] : memref<5x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%ir: i32, %tr: vector<5x8xf32>):
    // expected-error@+1 {{expected a table of the row program to be used by lnbwd.gather and lnbwd.gather_sum alone}}
    %n = arith.negf %tr : vector<5x8xf32>
    %r = lnbwd.gather %tr[%ir] : vector<5x8xf32>, i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?xi32>, %t: memref<5x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi32>, %t[*, n] : memref<5x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%ir: i32, %tr: vector<5x8xf32>):
    %zero = arith.constant dense<0.0> : vector<5x8xf32>
    // expected-error@+1 {{expected a table to be an input of the row program with the map '[*, n]' or '[*]'}}
    %r = lnbwd.gather %zero[%ir] : vector<5x8xf32>, i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%i: memref<?x8xi32>, %t: memref<5x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%i[m, n] : memref<?x8xi32>, %t[*, n] : memref<5x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%ir: vector<8xi32>, %tr: vector<5x8xf32>):
    // expected-error@+1 {{expected one index for a row of a table '[*, n]', got 'vector<8xi32>'; take elements of a table '[*]'}}
    %r = lnbwd.gather %tr[%ir] : vector<5x8xf32>, vector<8xi32>
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %b: memref<?xi32>, %t: memref<5x8xf32>, %l: memref<9xi32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>, %b[m] : memref<?xi32>, %t[*, n] : memref<5x8xf32>, %l[*] : memref<9xi32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%xr: vector<8xf32>, %br: i32, %tr: vector<5x8xf32>, %lr: vector<9xi32>):
    %i = arith.fptosi %xr : vector<8xf32> to vector<8xi32>
    // expected-error@+1 {{expected a table to be an input of the row program with the map '[*, n]' or '[*]'}}
    %r = lnbwd.gather_sum %tr[%br to %br] of %i : vector<5x8xf32>, i32, vector<8xi32>
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%b: memref<?xi32>, %t: memref<5xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%b[m] : memref<?xi32>, %t[*] : memref<5xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%br: i32, %tr: vector<5xf32>):
    // expected-error@+1 {{custom op 'lnbwd.gather_sum' 'table' must be vector of 16-bit float or bfloat16 type or 32-bit float values of ranks 2, but got 'vector<5xf32>'}}
    %r = lnbwd.gather_sum %tr[%br to %br] : vector<5xf32>, i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}
