// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x8xf32>, %w: memref<?x8xf32>, %y: memref<?x4xf32>) {
  // expected-error@+1 {{expected a matrix to have two static dimensions of at least 1 (a kernel is compiled for one size of them), got 'memref<?x8xf32>'}}
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) matrices(%w : memref<?x8xf32>) outs rows(%y : memref<?x4xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<4x8xi8>) {
  // expected-error@+1 {{expected the elements of a matrix to be f16, bf16 or f32, got 'i8'}}
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) matrices(%w : memref<4x8xi8>) outs rows(%x : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xi8>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8xf32>) {
  // expected-error@+1 {{expected an outer sum to have two static dimensions of at least 1 (a kernel is compiled for one size of them), got 'memref<8xf32>'}}
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs outer_sums(%w : memref<8xf32>) {
  ^bb0(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8x8xbf16>) {
  // expected-error@+1 {{expected outer sums that accumulate to be f32, got 'memref<8x8xbf16>'}}
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs outer_sums(%w : memref<8x8xbf16>) attributes {accumulate} {
  ^bb0(%r: vector<8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    lnbwd.yield %o : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x2x4xf32>, %w: memref<8x8xf32>) {
  // expected-error@+1 {{expected row_rank 1 in a program with matrices or outer sums, got 2; collapse the dimensions of a row}}
  lnbwd.rowwise @k rows(%x : memref<?x2x4xf32>) outs outer_sums(%w : memref<8x8xf32>) attributes {row_rank = 2 : i64} {
  ^bb0(%r: vector<8xf32>):
    %o = vector.outerproduct %r, %r : vector<8xf32>, vector<8xf32>
    lnbwd.yield %o : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<3x8xf32>, %w: memref<4x8xf32>, %y: memref<2x4xf32>) {
  // expected-error@+1 {{expected a row block to have the shape [3, 4] (the leading dimensions of the first row block, and a length of its own), got 'memref<2x4xf32>'}}
  lnbwd.rowwise @k rows(%x : memref<3x8xf32>) matrices(%w : memref<4x8xf32>) outs rows(%y : memref<2x4xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %b: memref<?xf32>, %w: memref<4x8xf32>, %y: memref<?x4xf32>) {
  // expected-error@+1 {{expected the last dimension of a column operand to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?xf32>'}}
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) columns(%b : memref<?xf32>) matrices(%w : memref<4x8xf32>) outs rows(%y : memref<?x4xf32>) {
  ^bb0(%r: vector<8xf32>, %c: vector<4xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x6xf32>, %w: memref<4x8xf32>, %y: memref<?x4xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x6xf32>) matrices(%w : memref<4x8xf32>) outs rows(%y : memref<?x4xf32>) {
  ^bb0(%r: vector<6xf32>, %m: vector<4x8xf32>):
    // expected-error@+1 {{expected a row of 8 elements, one for each column of the matrix 'vector<4x8xf32>', got 'vector<6xf32>'}}
    %p = lnbwd.linear %r, %m : vector<6xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<4x8xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) matrices(%w : memref<4x8xf32>) outs rows(%x : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<4x8xf32>):
    // expected-error@+1 {{expected a row of 4 elements, one for each row of the matrix 'vector<4x8xf32>' (transposed), got 'vector<8xf32>'}}
    %p = lnbwd.linear %r, %m transposed : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs rows(%y : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>):
    // expected-error@+1 {{expected a matrix, a vector of two dimensions, got 'vector<8xf32>'}}
    %p = lnbwd.linear %r, %r : vector<8xf32>, vector<8xf32>
    lnbwd.yield %p : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs rows(%y : memref<?x8xf32>) {
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
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs outer_sums(%g : memref<8x8xf32>) {
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
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) matrices(%w : memref<8x8xf32>) outs outer_sums(%g : memref<8x8xf32>) {
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
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) matrices(%w : memref<8x8xf32>) outs outer_sums(%g : memref<8x8xf32>) {
  ^bb0(%r: vector<8xf32>, %m: vector<8x8xf32>):
    // expected-error@+1 {{expected value 0 to be a sum of vector.outerproduct, got a matrix operand of the row program}}
    lnbwd.yield %m : vector<8x8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %d: memref<?x4xf32>, %g: memref<4x8xf32>) {
  lnbwd.rowwise @k rows(%x, %d : memref<?x8xf32>, memref<?x4xf32>) outs outer_sums(%g : memref<4x8xf32>) {
  ^bb0(%r: vector<8xf32>, %s: vector<4xf32>):
    %o = vector.outerproduct %r, %s : vector<8xf32>, vector<4xf32>
    // expected-error@+1 {{expected value 0 to be 'vector<4x8xf32>', got 'vector<8x4xf32>'}}
    lnbwd.yield %o : vector<8x4xf32>
  }
  return
}
