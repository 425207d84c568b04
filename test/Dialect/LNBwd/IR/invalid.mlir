// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  // expected-error@+1 {{expected at least one of the outputs dx, dresidual, dgamma and dbeta}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs 
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<f32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected x to have at least one dimension, got 'memref<f32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<f32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x?xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the last dimension of x to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?x?xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x?xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x0xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the last dimension of x to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?x0xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x0xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf64>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of x to be f16, bf16 or f32, got 'f64'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf64>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xi32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of x to be f16, bf16 or f32, got 'i32'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xi32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x9xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected dy to have the shape [?, 8] (that of x), got 'memref<?x9xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x9xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

// The row length is static everywhere.
func.func @f(%dy: memref<?x?xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected dy to have the shape [?, 8] (that of x), got 'memref<?x?xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x?xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<5x8xf32>, %x: memref<4x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected dy to have the shape [4, 8] (that of x), got 'memref<5x8xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<5x8xf32>) x(%x : memref<4x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf16>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of dy to be those of x, 'f32', got 'f16'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf16>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x?x8xf32>) {
  // expected-error@+1 {{expected dx to have the shape [?, 8] (that of x), got 'memref<?x?x8xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xbf16>) {
  // expected-error@+1 {{expected the elements of dx to be those of x, 'f32', got 'bf16'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xbf16>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %gamma: memref<?xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected gamma to have the shape [8] (the last dimension of x), got 'memref<?xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) gamma(%gamma : memref<?xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf16>, %x: memref<?x8xf16>, %gamma: memref<8xbf16>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf16>) {
  // expected-error@+1 {{expected the elements of gamma to be f32 or those of x, 'f16', got 'bf16'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf16>) x(%x : memref<?x8xf16>) gamma(%gamma : memref<8xbf16>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf16>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>, %dgamma: memref<1x8xf32>) {
  // expected-error@+1 {{expected dgamma to have the shape [8] (the last dimension of x), got 'memref<1x8xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>) dgamma(%dgamma : memref<1x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>, %dgamma: memref<8xf64>) {
  // expected-error@+1 {{expected the elements of dgamma to be f32 or those of x, 'f32', got 'f64'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>) dgamma(%dgamma : memref<8xf64>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>, %dbeta: memref<7xf32>) {
  // expected-error@+1 {{expected dbeta to have the shape [8] (the last dimension of x), got 'memref<7xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>) dbeta(%dbeta : memref<7xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>, %dbeta: memref<8xf16>) {
  // expected-error@+1 {{expected the elements of dbeta to be f32 or those of x, 'f32', got 'f16'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>) dbeta(%dbeta : memref<8xf16>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?x1xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected mean to have the shape [?] (the leading dimensions of x), got 'memref<?x1xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?x1xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x4x8xf32>, %x: memref<?x4x8xf32>, %mean: memref<?x4xf32>, %rstd: memref<?x5xf32>, %dx: memref<?x4x8xf32>) {
  // expected-error@+1 {{expected rstd to have the shape [?, 4] (the leading dimensions of x), got 'memref<?x5xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4x8xf32>) x(%x : memref<?x4x8xf32>) mean(%mean : memref<?x4xf32>) rstd(%rstd : memref<?x5xf32>)
      outs dx(%dx : memref<?x4x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf16>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of mean to be f32 (statistics are never kept in less), got 'f16'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf16>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xbf16>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of rstd to be f32 (statistics are never kept in less), got 'bf16'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xbf16>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: tensor<?x8xf32>) {
  // expected-error@+1 {{expected all operands to be tensors or all to be memrefs}}
  %0 = lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected 0 results, one for each tensor output, got 1}}
  %0 = lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<?x8xf32>, %x: tensor<?x8xf32>, %mean: tensor<?xf32>, %rstd: tensor<?xf32>, %dx: tensor<?x8xf32>, %dgamma: tensor<8xf32>) {
  // expected-error@+1 {{expected 2 results, one for each tensor output, got 1}}
  %0 = lnbwd.layer_norm_bwd dy(%dy : tensor<?x8xf32>) x(%x : tensor<?x8xf32>) mean(%mean : tensor<?xf32>) rstd(%rstd : tensor<?xf32>)
      outs dx(%dx : tensor<?x8xf32>) dgamma(%dgamma : tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32, strided<[?, 1]>>) {
  // expected-error@+1 {{expected dense rows, each a static distance after the one before, as in memref<?x512xf32, strided<[1024, 1]>>, got 'memref<?x8xf32, strided<[?, 1]>>'; compile for the distance (a kernel for each that occurs), or copy the rows into a dense buffer}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32, strided<[?, 1]>>)
  return
}

// -----

// Rows that overlap.
func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32, strided<[4, 1]>>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected dense rows, each a static distance after the one before}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32, strided<[4, 1]>>) outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

// The second leading dimension does not go on where the first one ends.
func.func @f(%dy: memref<?x4x8xf32>, %x: memref<?x4x8xf32, strided<[100, 16, 1]>>, %dx: memref<?x4x8xf32>) {
  // expected-error@+1 {{expected dense rows, each a static distance after the one before}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4x8xf32>) x(%x : memref<?x4x8xf32, strided<[100, 16, 1]>>) outs dx(%dx : memref<?x4x8xf32>)
  return
}

// -----

// A dynamic dimension within another one: nothing says how far its rows go.
func.func @f(%x: memref<2x1x?x8xf32, strided<[640, 7, 16, 1]>>, %y: memref<2x1x?x8xf32>) {
  // expected-error@+1 {{expected dense rows, each a static distance after the one before}}
  lnbwd.rms_norm x(%x : memref<2x1x?x8xf32, strided<[640, 7, 16, 1]>>) outs y(%y : memref<2x1x?x8xf32>)
  return
}

// -----

// Columns are dense.
func.func @f(%dy: memref<?x8xf32>, %x: memref<?x8xf32>, %gamma: memref<8xf32, strided<[2]>>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{expected memrefs with the identity layout, but for row blocks, got 'memref<8xf32, strided<[2]>>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<?x8xf32>) gamma(%gamma : memref<8xf32, strided<[2]>>) outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%dy: memref<?x8xf32>, %x: memref<*xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  // expected-error@+1 {{operand #1 must be ranked tensor or memref, but got 'memref<*xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%x : memref<*xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%a0: memref<?xf32>, %a1: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%a0[m] : memref<?xf32>) outs(%a1[m] : memref<?xf32>) {
  ^bb0(%r0: f32):
    // expected-error@+1 {{expected numbers in a program without row blocks and columns, got 'vector<8xf32>'; add an operand that has the columns}}
    %row = vector.broadcast %r0 : f32 to vector<8xf32>
    %sum = vector.reduction <add>, %row : vector<8xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

func.func @f(%a0: memref<?xf32>, %a1: memref<f32>) {
  // expected-error@+1 {{expected at least one row block, read or written, or a row scalar where no rows are combined: it gives the number of rows}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m] : memref<?xf32>) outs(%a1[] add : memref<f32>) {
  ^bb0(%r0: f32):
    %y0 = ub.poison : f32
    lnbwd.yield %y0 : f32
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>) {
  // expected-error@+1 {{expected at least one output}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs() {
  ^bb0(%r0: vector<8xf32>):
    lnbwd.yield
  }
  return
}

// -----

func.func @f(%a0: memref<f32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{operand 0: expected 2 dimensions, as its map has, got 'memref<f32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<f32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x?xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{operand 0: expected column dimension 'n' to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?x?xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x?xf32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xi1>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of a row block to be f16, bf16, f32, i8, i32, i64, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f8E8M0FNU or i16, got 'i1'; booleans lie in memory as bytes of 0 and 1: take i8, and arith.cmpi ne with 0, or arith.extui on the way out}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xi1>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xi1>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x9xf32>) {
  // expected-error@+1 {{operand 1: expected dimension 'n' to be 8, as in operand 0, got 'memref<?x9xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x9xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf64>) {
  // expected-error@+1 {{expected the elements of a row block to be f16, bf16, f32, i8, i32, i64, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f8E8M0FNU or i16, got 'f64'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf64>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf64>
    lnbwd.yield %y0 : vector<8xf64>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?xf32>, %a2: memref<?x8xf32>) {
  // expected-error@+1 {{operand 1: expected column dimension 'n' to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>, %a1[n] : memref<?xf32>) outs(%a2[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>, %r1: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<8xi1>, %a2: memref<?x8xf32>) {
  // expected-error@+1 {{expected the elements of a column to be f16, bf16, f32, i8, i32, i64 or i16, got 'i1'; booleans lie in memory}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>, %a1[n] : memref<8xi1>) outs(%a2[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>, %r1: vector<8xi1>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<f32>, %a2: memref<?x8xf32>) {
  // expected-error@+1 {{operand 1: expected 1 dimensions, as its map has, got 'memref<f32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>, %a1[m] : memref<f32>) outs(%a2[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>, %r1: f32):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?xf64>) {
  // expected-error@+1 {{expected the elements of a row scalar to be f16, bf16, f32, i8, i32, i64 or i16, got 'f64'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m] : memref<?xf64>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : f64
    lnbwd.yield %y0 : f64
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<9xf32>) {
  // expected-error@+1 {{operand 1: expected dimension 'n' to be 8, as in operand 0, got 'memref<9xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[n] add : memref<9xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<8xi8>) {
  // expected-error@+1 {{expected the elements of a column sum to be f16, bf16 or f32, got 'i8'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[n] add : memref<8xi8>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x4xf32>) {
  // expected-error@+1 {{operand 1: expected dimension 'n' to be 8, as in operand 0, got 'memref<?x4xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[*, n] add : memref<?x4xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf16>) {
  // expected-error@+1 {{operand 1: expected partial sums to be f32, got 'memref<?x8xf16>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[*, n] add : memref<?x8xf16>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<8xf32>, %a2: memref<?x8xf32>) {
  // expected-error@+1 {{expected all column sums and group sums to be partial or none}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[n] add : memref<8xf32>, %a2[*, n] add : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    %y1 = ub.poison : vector<8xf32>
    lnbwd.yield %y0, %y1 : vector<8xf32>, vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{expected operand_names to name 2 operands, got 1}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) attributes {operand_names = ["x"]} {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{expected operand_names to differ, got 'x' for operands 0 and 1}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) attributes {operand_names = ["x", "x"]} {
  ^bb0(%r0: vector<8xf32>):
    lnbwd.yield %r0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{attribute 'operand_names' failed to satisfy constraint: string array attribute}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) attributes {operand_names = [1, 2]} {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: tensor<?x8xf32>) {
  // expected-error@+1 {{expected all operands to be tensors or all to be memrefs}}
  %0 = lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // expected-error@+1 {{expected 1 results, one for each tensor output, got 0}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : tensor<?x8xf32>) outs(%a1[m, n] : tensor<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32, strided<[8, 1], offset: 8>>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{operand 0: expected static sizes and strides of 1 or more, and no offset, where an operand has not the domain's order or is not dense but for one static distance between its rows, got 'memref<?x8xf32, strided<[8, 1], offset: 8>>' with affine_map<(d0, d1) -> (d0, d1)>; compile for the sizes that occur, or copy it into a dense buffer; pass a pointer to its first element}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32, strided<[8, 1], offset: 8>>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{expected the region to have 1 arguments, one for each input, got 2}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>, %r1: f32):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{expected argument 0 of the region to be 'vector<8xf32>', got 'vector<4xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<4xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?xf32>, %a2: memref<?x8xf32>) {
  // expected-error@+1 {{expected argument 1 of the region to be 'f32', got 'vector<8xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>, %a1[m] : memref<?xf32>) outs(%a2[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>, %r1: vector<8xf32>):
    %y0 = ub.poison : vector<8xf32>
    lnbwd.yield %y0 : vector<8xf32>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    // expected-error@+1 {{expected 1 values, one for each output, got 0}}
    lnbwd.yield
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : f32
    // expected-error@+1 {{expected value 0 to be 'vector<8xf32>', got 'f32'}}
    lnbwd.yield %y0 : f32
  }
  return
}

// -----

// Column sums are yielded as float32 whatever the output's element.
func.func @f(%a0: memref<?x8xf32>, %a1: memref<8xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[n] add : memref<8xf16>) {
  ^bb0(%r0: vector<8xf32>):
    %y0 = ub.poison : vector<8xf16>
    // expected-error@+1 {{expected value 0 to be 'vector<8xf32>', got 'vector<8xf16>'}}
    lnbwd.yield %y0 : vector<8xf16>
  }
  return
}

// -----

func.func @f(%a0: memref<?x8xf32>, %a1: memref<?x8xf32>) {
  // expected-error@+1 {{expects region #0 to have 0 or 1 blocks}}
  lnbwd.rowwise @k domain(m | n) ins(%a0[m, n] : memref<?x8xf32>) outs(%a1[m, n] : memref<?x8xf32>) {
  ^bb0(%r0: vector<8xf32>):
    cf.br ^bb1
  ^bb1:
    lnbwd.yield %r0 : vector<8xf32>
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{expects parent op 'lnbwd.rowwise'}}
  lnbwd.yield
}

// -----

// A row program sees its operands only.
func.func @f(%x: memref<?x8xf32>, %outside: vector<8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  ^bb0(%r: vector<8xf32>):
    // expected-error@+1 {{use of undeclared SSA value name}}
    lnbwd.yield %outside : vector<8xf32>
  }
  return
}

// -----

// expected-error@+1 {{expected threads_per_row to be at least 1, got 0}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 0, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{expected row_groups to be at least 1, got -1}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = -1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{expected vector_width to be a power of two from 1 to 16, got 3}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 3, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{expected vector_width to be a power of two from 1 to 16, got 32}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 32, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{expected vector_width to be a power of two from 1 to 16, got 0}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 0, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{expected rows_per_workgroup to be at least 0, got -1}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = -1, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{expected workgroups_per_compute_unit to be at least 0, got -2}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = -2>} {
  return
}

// -----

// expected-error@+1 {{expected column_tile to be a multiple of threads_per_row * vector_width, got 100}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, column_tile = 100>} {
  return
}

// -----

// expected-error@+1 {{expected column_tile to be at least 0, got -512}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, column_tile = -512>} {
  return
}

// -----

// expected-error@+1 {{expected prefetch to be 0 or 1, got 2}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, prefetch = 2>} {
  return
}

// -----

// expected-error@+1 {{expected threads_per_row and row_groups below 1048576}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 2000000, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  return
}

// -----

// expected-error@+1 {{where reload is set}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, prefetch = 1, reload = true>} {
  return
}

// -----

// expected-error@+1 {{missing schedule field: workgroups_per_compute_unit}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32>} {
  return
}

// -----

// expected-error@+1 {{duplicate or unknown schedule field: wave}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, wave = 4>} {
  return
}

// -----

func.func @f(%m: i64) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%m' expects different type than prior uses: 'index' vs 'i64'}}
  %w = lnbwd.workgroup_count %m schedule <threads_per_row = 64, row_groups = 4, vector_width = 4,
                                          rows_per_workgroup = 32, workgroups_per_compute_unit = 4>
  return
}

// -----

func.func @f(%x: tensor<*xf32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor or memref, but got 'tensor<*xf32>'}}
  %m = lnbwd.row_count %x : tensor<*xf32>
  return
}

// -----

// expected-error@+1 {{expected stages to be 0, or from 2 to 16, got 1}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, stages = 1>} {
  return
}

// -----

// expected-error@+1 {{expected column_tile 0 where stages is set: a bulk copy brings whole rows}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, column_tile = 512, stages = 2>} {
  return
}

// -----

// expected-error@+1 {{expected prefetch and stages 0 where reload is set: a row that is read again does not stay anywhere}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, stages = 2, reload = true>} {
  return
}

// -----

func.func @f(%x: memref<?x2147483648xf32>, %s: memref<?xf32>) {
  // expected-error@+1 {{expected the last dimension of x to be at most 2147483647, got 'memref<?x2147483648xf32>'}}
  lnbwd.layer_norm_bwd dy(%x : memref<?x2147483648xf32>) x(%x : memref<?x2147483648xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>) outs dx(%x : memref<?x2147483648xf32>)
  return
}

// -----

// expected-error@+1 {{expected unroll to be 1, 2, 4 or 8, got 3}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 3>} {
  return
}

// -----

// expected-error@+1 {{expected unroll to be 1 or 2 where prefetch is 1, got 4}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 4>} {
  return
}

// -----

// expected-error@+1 {{expected stages 0 and reload unset where unroll is above 1}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, unroll = 2, stages = 2>} {
  return
}

// -----

// expected-error@+1 {{expected workgroups_per_row to be from 1 to 16, got 17}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, workgroups_per_row = 17>} {
  return
}

// -----

// expected-error@+1 {{expected column_tile 0 and reload unset where workgroups_per_row is above 1}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, workgroups_per_row = 2, column_tile = 512>} {
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected at least one of the outputs y, sum, mean and rstd}}
  lnbwd.layer_norm x(%r : memref<?x8xf32>) outs
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected at least one of the outputs y, sum and rstd}}
  lnbwd.rms_norm x(%r : memref<?x8xf32>) outs
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected at least one of the outputs dx, dresidual and dgamma}}
  lnbwd.rms_norm_bwd dy(%r : memref<?x8xf32>) x(%r : memref<?x8xf32>) outs
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected either x or y, got neither}}
  lnbwd.rms_norm_bwd dy(%r : memref<?x8xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %s: memref<?xf32>) {
  // expected-error@+1 {{expected either x or y, got both}}
  lnbwd.layer_norm_bwd dy(%r : memref<?x8xf32>) x(%r : memref<?x8xf32>) y(%r : memref<?x8xf32>) rstd(%s : memref<?xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %c: memref<8xf32>) {
  // expected-error@+1 {{expected beta only with y, the output that it is in}}
  lnbwd.layer_norm_bwd dy(%r : memref<?x8xf32>) x(%r : memref<?x8xf32>) beta(%c : memref<8xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %s: memref<?xf32>) {
  // expected-error@+1 {{expected mean and rstd together, or neither for statistics that are computed again}}
  lnbwd.layer_norm_bwd dy(%r : memref<?x8xf32>) x(%r : memref<?x8xf32>) rstd(%s : memref<?xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %s: memref<?xf32>) {
  // expected-error@+1 {{expected no mean with y, which is centred already}}
  lnbwd.layer_norm_bwd dy(%r : memref<?x8xf32>) y(%r : memref<?x8xf32>) mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected rstd with y: it cannot be computed from the output}}
  lnbwd.rms_norm_bwd dy(%r : memref<?x8xf32>) y(%r : memref<?x8xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected a gradient of a column to accumulate into}}
  lnbwd.rms_norm_bwd dy(%r : memref<?x8xf32>) x(%r : memref<?x8xf32>) outs dx(%r : memref<?x8xf32>) {accumulate}
  return
}

// -----

func.func @f(%r: memref<?x8xbf16>, %c: memref<8xbf16>) {
  // expected-error@+1 {{expected the elements of dgamma to be f32 where it accumulates, got 'bf16'}}
  lnbwd.rms_norm_bwd dy(%r : memref<?x8xbf16>) x(%r : memref<?x8xbf16>) outs dgamma(%c : memref<8xbf16>) {accumulate}
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected epsilon to be a number of 0 or more, got -1}}
  lnbwd.rms_norm x(%r : memref<?x8xf32>) outs y(%r : memref<?x8xf32>) {epsilon = -1.0 : f64}
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %n: memref<?x8xf64>) {
  // expected-error@+1 {{expected the elements of residual to be f16, bf16 or f32, got 'f64'}}
  lnbwd.rms_norm x(%r : memref<?x8xf32>) residual(%n : memref<?x8xf64>) outs y(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %n: memref<?x4xf32>) {
  // expected-error@+1 {{expected dsum to have the shape [?, 8] (that of x), got 'memref<?x4xf32>'}}
  lnbwd.rms_norm_bwd dy(%r : memref<?x8xf32>) x(%r : memref<?x8xf32>) dsum(%n : memref<?x4xf32>) outs dx(%r : memref<?x8xf32>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %n: memref<?x8xbf16>) {
  // expected-error@+1 {{expected the elements of y to be those of x, 'f32', got 'bf16'}}
  lnbwd.layer_norm x(%r : memref<?x8xf32>) outs y(%n : memref<?x8xbf16>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %n: memref<?xbf16>) {
  // expected-error@+1 {{expected the elements of mean to be f32 (statistics are never kept in less), got 'bf16'}}
  lnbwd.layer_norm x(%r : memref<?x8xf32>) outs mean(%n : memref<?xbf16>)
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected a row to have at least one dimension, got row_rank 0}}
  lnbwd.rms_norm x(%r : memref<?x8xf32>) outs y(%r : memref<?x8xf32>) {row_rank = 0 : i64}
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected x to have at least 3 dimensions, those of a row, got 'memref<?x8xf32>'}}
  lnbwd.rms_norm x(%r : memref<?x8xf32>) outs y(%r : memref<?x8xf32>) {row_rank = 3 : i64}
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected the dimensions of a row of x to be static and at least 1 (a kernel is compiled for one row length), got 'memref<?x8xf32>'}}
  lnbwd.rms_norm x(%r : memref<?x8xf32>) outs y(%r : memref<?x8xf32>) {row_rank = 2 : i64}
  return
}

// -----

func.func @f(%r: memref<?x65536x65536xf32>) {
  // expected-error@+1 {{expected the dimensions of a row of x to be at most 2147483647 together, got 'memref<?x65536x65536xf32>'}}
  lnbwd.rms_norm x(%r : memref<?x65536x65536xf32>) outs y(%r : memref<?x65536x65536xf32>) {row_rank = 2 : i64}
  return
}

// -----

func.func @f(%r: memref<?x4x8xf32>, %c: memref<8xf32>) {
  // expected-error@+1 {{expected gamma to have the shape [4, 8] (the dimensions of a row of x), got 'memref<8xf32>'}}
  lnbwd.rms_norm x(%r : memref<?x4x8xf32>) gamma(%c : memref<8xf32>) outs y(%r : memref<?x4x8xf32>) {row_rank = 2 : i64}
  return
}

// -----

func.func @f(%r: memref<?x8xf32>, %c: memref<8xbf16>) {
  // expected-error@+1 {{operand 1: expected sums that accumulate to be f32, got 'memref<8xbf16>'}}
  lnbwd.rowwise @k domain(m | n) ins(%r[m, n] : memref<?x8xf32>) outs(%c[n] add : memref<8xbf16>) attributes {accumulate} {
  ^bb0(%x: vector<8xf32>):
    lnbwd.yield %x : vector<8xf32>
  }
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected column sums or group sums, and none partial, to accumulate into}}
  lnbwd.rowwise @k domain(m | n) ins(%r[m, n] : memref<?x8xf32>) outs(%r[m, n] : memref<?x8xf32>) attributes {accumulate} {
  ^bb0(%x: vector<8xf32>):
    lnbwd.yield %x : vector<8xf32>
  }
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{expected fixed_workgroups from 0 to 2147483647, got -1}}
  lnbwd.rowwise @k domain(m | n) ins(%r[m, n] : memref<?x8xf32>) outs(%r[m, n] : memref<?x8xf32>) attributes {fixed_workgroups = -1 : i64} {
  ^bb0(%x: vector<8xf32>):
    lnbwd.yield %x : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32, strided<[16, 1], offset: 4>>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected a buffer that begins with its first row, got 'memref<?x8xf32, strided<[16, 1], offset: 4>>'; leave the offset out, and pass a pointer to where the first row is}}
  lnbwd.rms_norm x(%x : memref<?x8xf32, strided<[16, 1], offset: 4>>) outs y(%y : memref<?x8xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %gamma: memref<8xf32>) {
  // expected-error@+1 {{has no option 'zero_centered_gamma'; expected one of epsilon, row_rank, zero_centred_gamma, or a name with a dialect's prefix}}
  lnbwd.rms_norm x(%x : memref<?x8xf32>) gamma(%gamma : memref<8xf32>) outs y(%x : memref<?x8xf32>) {zero_centered_gamma}
  return
}

// -----

func.func @f(%r: memref<?x8xf32>) {
  // expected-error@+1 {{has no option 'operand_name'}}
  lnbwd.rowwise @k domain(m | n) ins(%r[m, n] : memref<?x8xf32>) outs(%r[m, n] : memref<?x8xf32>) attributes {operand_name = ["x", "y"]} {
  ^bb0(%x: vector<8xf32>):
    lnbwd.yield %x : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %s: memref<?xf32>) {
  // expected-error@+1 {{expected a buffer of its own for each output, got two in operand 3 of type 'memref<?xf32>'; pass another buffer}}
  lnbwd.layer_norm x(%x : memref<?x8xf32>) outs y(%x : memref<?x8xf32>) mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %g: memref<8xf32>) {
  // expected-error@+1 {{operand 1: expected 2 dimensions, as its map has, got 'memref<8xf32>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>, %g[m0, n] : memref<8xf32>) outs(%x[m0, m1, n] : memref<?x?x8xf32>) {
  ^bb0(%xr: vector<8xf32>, %gr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %g: memref<?x4xf32>) {
  // expected-error@+1 {{operand 1: expected dimension 'n' to be 8, as in operand 0, got 'memref<?x4xf32>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>, %g[m0, n] : memref<?x4xf32>) outs(%x[m0, m1, n] : memref<?x?x8xf32>) {
  ^bb0(%xr: vector<8xf32>, %gr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %g: memref<?x8xf8E5M2>) {
  // expected-error@+1 {{expected the elements of a group column to be f16, bf16, f32, i8, i32, i64 or i16, got 'f8E5M2'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>, %g[m0, n] : memref<?x8xf8E5M2>) outs(%x[m0, m1, n] : memref<?x?x8xf32>) {
  ^bb0(%xr: vector<8xf32>, %gr: vector<8xf8E5M2>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %g: memref<3x8xf32>, %s: memref<4x8xf32>) {
  // expected-error@+1 {{operand 2: expected dimension 'm0' to be 3, as in operand 1, got 'memref<4x8xf32>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>, %g[m0, n] : memref<3x8xf32>) outs(%s[m0, n] add : memref<4x8xf32>) {
  ^bb0(%xr: vector<8xf32>, %gr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<2x5x8xf32>, %s: memref<4x8xf32>) {
  // expected-error@+1 {{operand 1: expected dimension 'm0' to be 2, as in operand 0, got 'memref<4x8xf32>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<2x5x8xf32>) outs(%s[m0, n] add : memref<4x8xf32>) {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %s: memref<8xf32>) {
  // expected-error@+1 {{operand 1: expected 2 dimensions, as its map has, got 'memref<8xf32>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>) outs(%s[m0, n] add : memref<8xf32>) {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %s: memref<?x?x4xf32>) {
  // expected-error@+1 {{operand 1: expected dimension 'n' to be 8, as in operand 0, got 'memref<?x?x4xf32>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>) outs(%s[m0, *, n] add : memref<?x?x4xf32>) {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %s: memref<?x?x8xbf16>) {
  // expected-error@+1 {{operand 1: expected partial sums to be f32, got 'memref<?x?x8xbf16>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>) outs(%s[m0, *, n] add : memref<?x?x8xbf16>) {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %c: memref<8xf32>, %s: memref<?x?x8xf32>) {
  // expected-error@+1 {{expected all column sums and group sums to be partial or none}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>) outs(%c[n] add : memref<8xf32>, %s[m0, *, n] add : memref<?x?x8xf32>) {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr, %xr : vector<8xf32>, vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>, %s: memref<?x8xbf16>) {
  // expected-error@+1 {{operand 1: expected sums that accumulate to be f32, got 'memref<?x8xbf16>'}}
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xf32>) outs(%s[m0, n] add : memref<?x8xbf16>) attributes {accumulate} {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%c: memref<8xf32>) -> index {
  // expected-error@+1 {{expected rows behind the 1 or more dimensions of the groups, got 1 of 'memref<8xf32>'}}
  %b = lnbwd.group_count %c : memref<8xf32>
  return %b : index
}

// -----

// expected-error@+1 {{expected vector_width 1, row_groups a power of two above 1 and row_splits 0 where lanes_across is set, got 1, 12 and 0}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 12, vector_width = 1, rows_per_workgroup = 12, workgroups_per_compute_unit = 4, lanes_across = true>} {
  return
}

// -----

// expected-error@+1 {{expected workgroups_per_row 1 and reload unset where row_splits is set: no row sums are left to share or to wait for}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, workgroups_per_row = 2, row_splits = 2>} {
  return
}

// -----

// expected-error@+1 {{expected dependent_launch set and reload unset where prefetch_before_dependency is set: rows are brought near while the kernel waits, and rows that are read again are too long}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, prefetch_before_dependency = true>} {
  return
}

// -----

// expected-error@+1 {{expected dependent_launch set and reload unset where prefetch_before_dependency is set}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, dependent_launch = true, reload = true, prefetch_before_dependency = true>} {
  return
}

// -----

// expected-error@+1 {{expected row_splits to be at least 0, got -1}}
func.func @f() attributes {s = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, row_splits = -1>} {
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %s: memref<?x2xf16>) {
  // expected-error@+1 {{operand 1: expected partial sums to be f32, got 'memref<?x2xf16>'}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>, %s[m, *] : memref<?x2xf16>) outs(%x[m, n] : memref<?x8xf32>) {
  ^bb0(%xr: vector<8xf32>, %sr: f16):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %s: memref<?x?xf32>) {
  // expected-error@+1 {{operand 1: expected a split row scalar to be a memref with a static number of partial sums, got 'memref<?x?xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>, %s[m, *] : memref<?x?xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  ^bb0(%xr: vector<8xf32>, %sr: f32):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

// What is written in parts is no number that a workgroup has.
func.func @f(%x: memref<?x8xf32>, %s: memref<?x2xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%s[m, *] : memref<?x2xf32>) {
  ^bb0(%xr: vector<8xf32>):
    %sum = vector.reduction <add>, %xr : vector<8xf32> into f32
    %twice = arith.addf %sum, %sum : f32
    // expected-error@+1 {{expected value 0, a split row scalar, to be a vector.reduction <add> that has no other use}}
    lnbwd.yield %twice : f32
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %s: memref<?x2xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%s[m, *] : memref<?x2xf32>) {
  ^bb0(%xr: vector<8xf32>):
    %most = vector.reduction <maximumf>, %xr : vector<8xf32> into f32
    // expected-error@+1 {{expected value 0, a split row scalar, to be a vector.reduction <add> that has no other use}}
    lnbwd.yield %most : f32
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// Domain and maps
//===----------------------------------------------------------------------===//

func.func @f(%x: memref<?x8xf32>) {
  // expected-error@+1 {{expected dimensions of different names, got two called 'm'}}
  lnbwd.rowwise @k domain(m | m) ins(%x[m, m] : memref<?x8xf32>) outs(%x[m, m] : memref<?x8xf32>) {
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  // expected-error@+1 {{expected a dimension of the domain, m, n, or '*', got 'k'}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, k] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %p: memref<?x?x8xf32>) {
  // expected-error@+1 {{expected one '*', for a dimension that is not part of the domain, got two}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%p[*, *, n] add : memref<?x?x8xf32>) {
  }
  return
}

// -----

func.func @f(%x: memref<?xf32>) {
  // expected-error@+1 {{expected row dimensions and at least one column dimension, got 1 row dimensions of 1 in all}}
  lnbwd.rowwise @k domain(m |) ins(%x[m] : memref<?xf32>) outs(%x[m] : memref<?xf32>) {
  ^row(%r: f32):
    lnbwd.yield %r : f32
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<8xf32>) {
  // expected-error@+1 {{operand 1: expected 'add' or 'max', which says how rows are combined that its map does not tell apart}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%c[n] : memref<8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{operand 1: expected no 'add' or 'max', since it has all row dimensions and combines nothing}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] add : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %c: memref<8xf32>) {
  // expected-error@+1 {{operand 1: expected 'max' of a column or a group column, in a program without matrices that does not accumulate, got 'memref<8xf32>'}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%c[n] max : memref<8xf32>) attributes {accumulate} {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<8x4xf32>, %z: memref<?x4xf32>) {
  // expected-error@+1 {{operand 2: expected 'max' of a column or a group column, in a program without matrices}}
  lnbwd.rowwise @k domain(m | n, k) ins(%x[m, n] : memref<?x8xf32>, %z[m, k] : memref<?x4xf32>) outs(%w[n, k] max : memref<8x4xf32>) {
  ^row(%r: vector<8xf32>, %s: vector<4xf32>):
    %o = vector.outerproduct %r, %s : vector<8xf32>, vector<4xf32>
    lnbwd.yield %o : vector<8x4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<8x?xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{operand 0: expected static sizes and strides of 1 or more, and no offset, where an operand has not the domain's order or is not dense but for one static distance between its rows, got 'memref<8x?xf32>' with affine_map<(d0, d1) -> (d1, d0)>; compile for the sizes that occur}}
  lnbwd.rowwise @k domain(m | n) ins(%x[n, m] : memref<8x?xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<8x4xf32>, %y: memref<8x4xf32>) {
  // expected-error@+1 {{operand 1: expected indices of an input that are moved by 1 or more, got the map affine_map<(d0, d1) -> (d0, d1 + 2)>}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<8x4xf32>) outs(%y[m, n + 2] : memref<8x4xf32>) {
  ^row(%r: vector<4xf32>):
    lnbwd.yield %r : vector<4xf32>
  }
  return
}

// -----

func.func @f(%x: memref<8x4x4xf32>, %y: memref<8x4x4xf32>) {
  // expected-error@+1 {{operand 0: expected dimensions of the domain, each once, got the map affine_map<(d0, d1, d2) -> (d0, d1, d1)>}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, t] : memref<8x4x4xf32>) outs(%y[b, t, n] : memref<8x4x4xf32>) {
  ^row(%r: vector<4xf32>):
    lnbwd.yield %r : vector<4xf32>
  }
  return
}

// -----

// The last column dimensions without the first.
func.func @f(%x: memref<6x4x2x3xf32>, %y: memref<6x2x3xf32>) {
  // expected-error@+1 {{operand 1: expected a row block to have all column dimensions but the last ones, got 'memref<6x2x3xf32>' with affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>}}
  lnbwd.rowwise @k domain(m | n, k, l) ins(%x[m, n, k, l] : memref<6x4x2x3xf32>) outs(%y[m, k, l] : memref<6x2x3xf32>) {
  ^row(%r: vector<24xf32>):
    lnbwd.yield %r : vector<24xf32>
  }
  return
}

// -----

func.func @f(%x: memref<6x4x2xf32>, %y: memref<2x4xf32>) {
  // expected-error@+1 {{operand 1: expected the dimensions of the domain in its order, and dense rows, of what is written and lacks dimensions, got 'memref<2x4xf32>' with affine_map<(d0, d1, d2) -> (d2, d1)>; transpose or copy it}}
  lnbwd.rowwise @k domain(m | n, k) ins(%x[m, n, k] : memref<6x4x2xf32>) outs(%y[k, n] add : memref<2x4xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<6x8xf32>, %y: memref<6x8xf32, strided<[4, 1]>>) {
  // expected-error@+1 {{operand 1: expected a place of its own for each element that is written, got 'memref<6x8xf32, strided<[4, 1]>>'}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<6x8xf32>) outs(%y[m, n] : memref<6x8xf32, strided<[4, 1]>>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<8x8x8xf32>) {
  // expected-error@+1 {{operand 0: expected the map of operand 1, which is the same buffer, got affine_map<(d0, d1, d2) -> (d1, d0, d2)>: a row may be written before another is read}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[t, b, n] : memref<8x8x8xf32>) outs(%x[b, t, n] : memref<8x8x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<6x8xf32>, %w: memref<8x8xf32, strided<[9, 1]>>, %y: memref<6x8xf32>) {
  // expected-error@+1 {{operand 1: expected the dimensions of the domain in its order, and dense rows, of what is in a program with matrices, got}}
  lnbwd.rowwise @k domain(m | n, k) ins(%x[m, k] : memref<6x8xf32>, %w[n, k] : memref<8x8xf32, strided<[9, 1]>>) outs(%y[m, n] : memref<6x8xf32>) {
  ^row(%r: vector<8xf32>, %wm: vector<8x8xf32>):
    %z = lnbwd.linear %r, %wm : vector<8xf32>, vector<8x8xf32>
    lnbwd.yield %z : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<6x8xf32, strided<[?, 2]>>, %y: memref<6x8xf32>) {
  // expected-error@+1 {{operand 0: expected static sizes and strides of 1 or more, and no offset}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<6x8xf32, strided<[?, 2]>>) outs(%y[m, n] : memref<6x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<8x65536x8192xf32>, %y: memref<65536x8x8192xf32>) {
  // expected-error@+1 {{operand 0: expected at most 2147483647 bytes from the first element to the last, got 'memref<8x65536x8192xf32>'; split it, or copy it into a dense buffer}}
  lnbwd.rowwise @k domain(t, b | n) ins(%x[b, t, n] : memref<8x65536x8192xf32>) outs(%y[t, b, n] : memref<65536x8x8192xf32>) {
  ^row(%r: vector<8192xf32>):
    lnbwd.yield %r : vector<8192xf32>
  }
  return
}

// -----

// The gradient of a table for each place in a sequence of any length.
func.func @f(%x: memref<?x?x8xf32>, %t: memref<?x8xf32>) {
  // expected-error@+1 {{operand 1: expected row dimensions but the first to be static where an operand has only some of them, got 'memref<?x8xf32>' with affine_map<(d0, d1, d2) -> (d1, d2)>}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x8xf32>) outs(%t[t, n] add : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x4x2x8xf32>, %t: memref<4x8xf32>) {
  // expected-error@+1 {{operand 1: expected a sum to have all column dimensions and the leading row dimensions or none, or neighbouring dimensions without the first, all static from these on; got 'memref<4x8xf32>' with affine_map<(d0, d1, d2, d3) -> (d1, d3)>; write rows, and combine them afterwards}}
  lnbwd.rowwise @k domain(b, t, h | n) ins(%x[b, t, h, n] : memref<?x4x2x8xf32>) outs(%t[t, n] add : memref<4x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x4x?x8xf32>, %t: memref<?x8xf32>, %g: memref<4x?x8xf32>) {
  // expected-error@+1 {{operand 2: expected row dimensions but the first to be static where an operand has only some of them, got 'memref<4x?x8xf32>' with affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>}}
  lnbwd.rowwise @k domain(b, h, t | n) ins(%x[b, h, t, n] : memref<?x4x?x8xf32>, %t[t, n] : memref<?x8xf32>, %g[h, t, n] : memref<4x?x8xf32>)
      outs(%x[b, h, t, n] : memref<?x4x?x8xf32>) {
  ^row(%r: vector<8xf32>, %s: vector<8xf32>, %u: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

// Which head a row is of would take a division by a dynamic size.
func.func @f(%x: memref<?x4x?x8xf32>, %g: memref<4x8xf32>) {
  // expected-error@+1 {{operand 1: expected row dimensions but the first to be static where an operand has only some of them, got 'memref<4x8xf32>' with affine_map<(d0, d1, d2, d3) -> (d1, d3)>}}
  lnbwd.rowwise @k domain(b, h, t | n) ins(%x[b, h, t, n] : memref<?x4x?x8xf32>, %g[h, n] : memref<4x8xf32>)
      outs(%x[b, h, t, n] : memref<?x4x?x8xf32>) {
  ^row(%r: vector<8xf32>, %s: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<3x4x2x8xf32>, %c: memref<3x2xf32>) {
  // expected-error@+1 {{operand 1: expected a scalar sum to have all column dimensions and the leading row dimensions or none, or neighbouring dimensions without the first, all static from these on; got 'memref<3x2xf32>' with affine_map<(d0, d1, d2, d3) -> (d0, d2)>; write rows, and combine them afterwards}}
  lnbwd.rowwise @k domain(b, t, h | n) ins(%x[b, t, h, n] : memref<3x4x2x8xf32>)
      outs(%c[b, h] max : memref<3x2xf32>) {
  ^row(%r: vector<8xf32>):
    %m = vector.reduction <maximumf>, %r : vector<8xf32> into f32
    lnbwd.yield %m : f32
  }
  return
}

// -----

func.func @f(%x: memref<?x3x4x8xf32>, %c: memref<?x4xf32>) {
  // expected-error@+1 {{operand 1: expected a group sum to have all column dimensions and the leading row dimensions or none, or neighbouring dimensions without the first, all static from these on; got 'memref<?x4xf32>' with affine_map<(d0, d1, d2, d3) -> (d0, d2)>; write rows, and combine them afterwards}}
  lnbwd.rowwise @k domain(b, g | c, s) ins(%x[b, g, c, s] : memref<?x3x4x8xf32>)
      outs(%c[b, c] add : memref<?x4xf32>) {
  ^row(%r: vector<32xf32>):
    lnbwd.yield %r : vector<32xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x4x16x8xf32>, %s: memref<?x16xf32>) {
  // expected-error@+1 {{operand 1: expected row dimensions to be static where an operand has only some of them, got 'memref<?x16xf32>' with affine_map<(d0, d1, d2, d3) -> (d0, d2)>}}
  lnbwd.rowwise @k domain(b, h, t | n)
      ins(%x[b, h, t, n] : memref<?x4x16x8xf32>, %s[b, t] : memref<?x16xf32>)
      outs(%x[b, h, t, n] : memref<?x4x16x8xf32>) {
  ^row(%r: vector<8xf32>, %n: f32):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %s: memref<?xf32>, %c: memref<8xf32>) {
  // expected-error@+1 {{operand 2: expected operands in the order row blocks, columns, group columns, row scalars, matrices, tables; row blocks, row scalars, column sums, group sums, outer sums; got a column after a row scalar}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>, %s[m] : memref<?xf32>, %c[n] : memref<8xf32>)
      outs(%x[m, n] : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>, %a: f32, %b: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

// Partial sums of a row block are nobody's.
func.func @f(%x: memref<?x8xf32>, %y: memref<?x?x8xf32>) {
  // expected-error@+1 {{operand 1: expected partial sums to be '[..., *]' of a row scalar, '[*, n]' of a column sum or '[b, *, n]' of a group sum, got affine_map<(d0, d1)[s0] -> (d0, s0, d1)>}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, *, n] : memref<?x?x8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  // expected-error@+1 {{expected 2 indexing_maps, one for each operand, got 1}}
  "lnbwd.rowwise"(%x, %x) <{entry = "k", indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], num_row_dims = 1 : i64, operand_forms = [], operandSegmentSizes = array<i32: 1, 1>, reductions = [#lnbwd.reduction<none>]}> ({
  ^row(%r: vector<8xf32>):
    "lnbwd.yield"(%r) : (vector<8xf32>) -> ()
  }) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  // expected-error@+1 {{expected 1 reductions, one for each output, got 0}}
  "lnbwd.rowwise"(%x, %x) <{entry = "k", indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], num_row_dims = 1 : i64, operand_forms = [], operandSegmentSizes = array<i32: 1, 1>, reductions = []}> ({
  ^row(%r: vector<8xf32>):
    "lnbwd.yield"(%r) : (vector<8xf32>) -> ()
  }) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  // expected-error@+1 {{operand 0: expected dimensions of the domain, each once, got the map affine_map<(d0, d1) -> (d0 floordiv 2, d1)>}}
  "lnbwd.rowwise"(%x, %x) <{entry = "k", indexing_maps = [affine_map<(d0, d1) -> (d0 floordiv 2, d1)>, affine_map<(d0, d1) -> (d0, d1)>], num_row_dims = 1 : i64, operand_forms = [], operandSegmentSizes = array<i32: 1, 1>, reductions = [#lnbwd.reduction<none>]}> ({
  ^row(%r: vector<8xf32>):
    "lnbwd.yield"(%r) : (vector<8xf32>) -> ()
  }) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  // expected-error@+1 {{operand 0: expected a map of the domain's 2 dimensions and at most one symbol, got affine_map<(d0, d1)[s0, s1] -> (d0, d1)>}}
  "lnbwd.rowwise"(%x, %x) <{entry = "k", indexing_maps = [affine_map<(d0, d1)[s0, s1] -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], num_row_dims = 1 : i64, operand_forms = [], operandSegmentSizes = array<i32: 1, 1>, reductions = [#lnbwd.reduction<none>]}> ({
  ^row(%r: vector<8xf32>):
    "lnbwd.yield"(%r) : (vector<8xf32>) -> ()
  }) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %y: memref<?x4xf32>, %w: memref<4x8xf32>) {
  // expected-error@+1 {{expected an operand with dimension 'n2' of the domain}}
  lnbwd.rowwise @k domain(m | o, k, unused) ins(%x[m, k] : memref<?x8xf32>, %w[o, k] : memref<4x8xf32>)
      outs(%y[m, o] : memref<?x4xf32>) {
  ^row(%r: vector<8xf32>, %m: vector<4x8xf32>):
    %p = lnbwd.linear %r, %m : vector<8xf32>, vector<4x8xf32>
    lnbwd.yield %p : vector<4xf32>
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// lnbwd.index
//===----------------------------------------------------------------------===//

func.func @f(%x: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    // expected-error@+1 {{expected one of the domain's 2 dimensions, got 2}}
    %i = lnbwd.index 2 : i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    // expected-error@+1 {{expected i32 or i64 for a row dimension, got 'vector<8xi32>'}}
    %i = lnbwd.index 0 : vector<8xi32>
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    // expected-error@+1 {{expected a vector over the row for a column dimension, got 'i32'}}
    %i = lnbwd.index 1 : i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) {
  ^row(%r: vector<8xf32>):
    // expected-error@+1 {{expected a vector of 8 elements, those of a row, got 'vector<4xi32>'}}
    %i = lnbwd.index 1 : vector<4xi32>
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x?x8xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x8xf32>) outs(%x[b, t, n] : memref<?x?x8xf32>) {
  ^row(%r: vector<8xf32>):
    // expected-error@+1 {{expected static row dimensions after 0, got 'memref<?x?x8xf32>'; collapse them into one}}
    %i = lnbwd.index 0 : i32
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x4x8xf32>, %w: memref<6x8xf32>, %c: memref<?xf32>, %y: memref<?x4x6xf32>) {
  // expected-error@+1 {{operand 1: expected a row scalar to have all row dimensions in a program with matrices, got affine_map<(d0, d1, d2, d3) -> (d0)>}}
  lnbwd.rowwise @k domain(b, m | o, n) ins(%x[b, m, n] : memref<?x4x8xf32>, %c[b] : memref<?xf32>, %w[o, n] : memref<6x8xf32>)
      outs(%y[b, m, o] : memref<?x4x6xf32>) {
  ^row(%xr: vector<8xf32>, %cr: f32, %wr: vector<6x8xf32>):
    %yr = lnbwd.linear %xr, %wr : vector<8xf32>, vector<6x8xf32>
    lnbwd.yield %yr : vector<6xf32>
  }
  return
}

// -----

func.func @block_of_no_power_of_two(%x: memref<?x96xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xf32>) {
  ^row(%xr: vector<96xf32>):
    // expected-error@+1 {{expected blocks of a power of two, got 24}}
    %m = lnbwd.block_max 24 %xr : vector<96xf32>
    lnbwd.yield %m : vector<96xf32>
  }
  return
}

// -----

func.func @blocks_of_no_power_of_two_apart(%x: memref<?x96xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xf32>) {
  ^row(%xr: vector<96xf32>):
    // expected-error@+1 {{expected blocks of a power of two, got 3}}
    %m = lnbwd.block_max 32 apart 3 %xr : vector<96xf32>
    lnbwd.yield %m : vector<96xf32>
  }
  return
}

// -----

func.func @part_of_a_block_apart(%x: memref<?x96xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xf32>) {
  ^row(%xr: vector<96xf32>):
    // expected-error@+1 {{expected rows of a multiple of 64 elements, in a program without matrices, got 'vector<96xf32>'}}
    %m = lnbwd.block_max 32 apart 2 %xr : vector<96xf32>
    lnbwd.yield %m : vector<96xf32>
  }
  return
}

// -----

func.func @part_of_a_block(%x: memref<?x80xf32>, %y: memref<?x80xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x80xf32>) outs(%y[m, n] : memref<?x80xf32>) {
  ^row(%xr: vector<80xf32>):
    // expected-error@+1 {{expected rows of a multiple of 32 elements, in a program without matrices, got 'vector<80xf32>'}}
    %m = lnbwd.block_max 32 %xr : vector<80xf32>
    lnbwd.yield %m : vector<80xf32>
  }
  return
}

// -----

func.func @group_sum_of_dynamic_dims(%x: memref<?x?x?x64xf32>, %g: memref<?x?x64xf32>) {
  // expected-error@+1 {{operand 1: expected dimensions of groups but the first to be static, got 'memref<?x?x64xf32>' with affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>; collapse them into one}}
  lnbwd.rowwise @k domain(m0, m1, m2 | n) ins(%x[m0, m1, m2, n] : memref<?x?x?x64xf32>) outs(%g[m0, m1, n] add : memref<?x?x64xf32>) {
  ^bb0(%xr: vector<64xf32>):
    lnbwd.yield %xr : vector<64xf32>
  }
  return
}
