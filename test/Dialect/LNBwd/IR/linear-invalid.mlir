// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x8xf32>, %w: memref<?x8xf32>, %y: memref<?x4xf32>) {
  // expected-error@+1 {{operand 1: expected column dimension 'n2' to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?x8xf32>'}}
  lnbwd.rowwise @k domain(m | n0, n1, n2) ins(%x[m, n0] : memref<?x8xf32>, %w[n2, n0] : memref<?x8xf32>) outs(%y[m, n1] : memref<?x4xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<4x8xi8>) {
  // expected-error@+1 {{expected the elements of a matrix to be f16, bf16 or f32, got 'i8'}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<4x8xi8>) outs(%x[m, n0] : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xi8>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8xf32>) {
  // expected-error@+1 {{operand 1: expected dimensions of the domain, each once, got the map affine_map<(d0, d1) -> (d1, d1)>}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%w[n, n] add : memref<8xf32>) {
  ^bb0(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8x8xbf16>) {
  // expected-error@+1 {{operand 1: expected sums that accumulate to be f32, got 'memref<8x8xbf16>'}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>) outs(%w[n1, n0] add : memref<8x8xbf16>) attributes {accumulate} {
  ^bb0(%r: vector<8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    lnbwd.yield %o : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x2x4xf32>, %w: memref<8x8xf32>) {
  // expected-error@+1 {{operand 0: expected 2 dimensions, as its map has, got 'memref<?x2x4xf32>'}}
  lnbwd.rowwise @k domain(m | n0, n1, n2) ins(%x[m, n0] : memref<?x2x4xf32>) outs(%w[n2, n1] add : memref<8x8xf32>) {
  ^bb0(%r: vector<8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    lnbwd.yield %o : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<3x8xf32>, %w: memref<4x8xf32>, %y: memref<2x4xf32>) {
  // expected-error@+1 {{operand 2: expected dimension 'm' to be 3, as in operand 0, got 'memref<2x4xf32>'}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<3x8xf32>, %w[n1, n0] : memref<4x8xf32>) outs(%y[m, n1] : memref<2x4xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %b: memref<?xf32>, %w: memref<4x8xf32>, %y: memref<?x4xf32>) {
  // expected-error@+1 {{operand 1: expected column dimension 'n2' to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?xf32>'}}
  lnbwd.rowwise @k domain(m | n0, n1, n2) ins(%x[m, n0] : memref<?x8xf32>, %b[n2] : memref<?xf32>, %w[n1, n0] : memref<4x8xf32>) outs(%y[m, n1] : memref<?x4xf32>) {
  ^bb0(%r: vector<8xf32>, %c: vector<4xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x6xf32>, %w: memref<4x8xf32>, %y: memref<?x4xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1, n2) ins(%x[m, n0] : memref<?x6xf32>, %w[n1, n2] : memref<4x8xf32>) outs(%y[m, n1] : memref<?x4xf32>) {
  ^bb0(%r: vector<6xf32>, %m: vector<4x8xf32>):
    // expected-error@+1 {{expected a row of 8 elements, one for each column of the matrix 'vector<4x8xf32>', got 'vector<6xf32>'}}
    %p = lnbwd.linear %r, %m : vector<6xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<4x8xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<4x8xf32>) outs(%x[m, n0] : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xf32>):
    // expected-error@+1 {{expected a row of 4 elements, one for each row of the matrix 'vector<4x8xf32>' (transposed), got 'vector<8xf32>'}}
    %p = lnbwd.linear %r, %m transposed : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>):
    // expected-error@+1 {{expected a matrix, a vector of two dimensions, got 'vector<8xf32>'}}
    %p = lnbwd.linear %r, %r : vector<8xf32>, vector<8xf32>
    lnbwd.yield %p : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    // expected-error@+1 {{expected the matrix to be one of the row program's matrices, got a result of vector.outerproduct}}
    %p = lnbwd.linear %r, %o : vector<8xf32>, vector<8x8xf32>
    lnbwd.yield %p : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %g: memref<8x8xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>) outs(%g[n1, n0] add : memref<8x8xf32>) {
  ^bb0(%r: vector<8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    // expected-error@+1 {{expected matrices of a row program to be operands of lnbwd.linear, or the results of vector.outerproduct and arith.addf of such}}
    %p = arith.mulf %o, %o : vector<8x8xf32>
    lnbwd.yield %p : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8x8xf32>, %g: memref<8x8xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<8x8xf32>) outs(%g[n1, n0] add : memref<8x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<8x8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    // expected-error@+1 {{expected a matrix operand of the row program to be used by lnbwd.linear alone}}
    %p = arith.addf %o, %m : vector<8x8xf32>
    lnbwd.yield %p : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8x8xf32>, %g: memref<8x8xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<8x8xf32>) outs(%g[n1, n0] add : memref<8x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<8x8xf32>):
    // expected-error@+1 {{expected value 0 to be a sum of vector.outerproduct, got a matrix operand of the row program}}
    lnbwd.yield %m : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %d: memref<?x4xf32>, %g: memref<4x8xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %d[m, n1] : memref<?x4xf32>) outs(%g[n1, n0] add : memref<4x8xf32>) {
  ^bb0(%r: vector<8xf32>, %s: vector<4xf32>):
    %o = vector.outerproduct %r, %s : vector<8xf32>, vector<4xf32>
    // expected-error@+1 {{expected value 0 to be 'vector<4x8xf32>', got 'vector<8x4xf32>'}}
    lnbwd.yield %o : vector<8x4xf32>
  }
  return
}
