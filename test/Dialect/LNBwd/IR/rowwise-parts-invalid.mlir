// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

// The number of rows of a matrix is known.
func.func @own_rows(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected own_rows of a program with a static number of rows and no groups; leave it out here}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>) attributes {own_rows} {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @own_rows_of_groups(%x: memref<2x4x8xf32>, %s: memref<2x8xf32>) {
  // expected-error@+1 {{expected own_rows of a program with a static number of rows and no groups; leave it out here}}
  lnbwd.rowwise @k domain(b, m | n) ins(%x[b, m, n] : memref<2x4x8xf32>) outs(%s[b, n] add : memref<2x8xf32>)
      attributes {own_rows} {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @row_ratio(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected row_ratio to be two numbers of at least 1, as in array<i64: 8, 1>, got array<i64: 8, 0>}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>)
      attributes {row_ratio = array<i64: 8, 0>} {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @row_ratio_of_groups(%x: memref<?x4x8xf32>, %s: memref<?x8xf32>) {
  // expected-error@+1 {{expected row_ratio of a program without groups; leave it out here}}
  lnbwd.rowwise @k domain(b, m | n) ins(%x[b, m, n] : memref<?x4x8xf32>) outs(%s[b, n] add : memref<?x8xf32>)
      attributes {row_ratio = array<i64: 8, 1>} {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @row_count(%x: memref<?x8xf32>) -> index {
  // expected-error@+1 {{expected row_ratio to be two numbers of at least 1, as in array<i64: 8, 1>, got array<i64: 8>}}
  %m = lnbwd.row_count %x {row_ratio = array<i64: 8>} : memref<?x8xf32>
  return %m : index
}

// -----

func.func @leaves(%x: memref<?x8xf32>, %s: memref<8xf32>) {
  // expected-error@+1 {{expected leaves of at least 1 row, of a program with column sums or group sums, got 0}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%s[n] add : memref<8xf32>)
      attributes {leaves = 0 : i64} {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @leaves_without_sums(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected leaves of at least 1 row, of a program with column sums or group sums, got 2}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>)
      attributes {leaves = 2 : i64} {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}
