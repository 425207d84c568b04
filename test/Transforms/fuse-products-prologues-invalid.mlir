// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=always" --split-input-file --verify-diagnostics
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942" --split-input-file | FileCheck %s

// By itself none of these is fused, and there is no error.
// CHECK-NOT: prologue
// CHECK:     lnbwd.product @p
// CHECK-NOT: prologue

func.func @smallest(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected an elementwise operation, a splat constant, vector.broadcast of a scalar, or a pure operation on scalars}}
    %least = vector.reduction <minimumf>, %xr : vector<64xf32> into f32
    %spread = vector.broadcast %least : f32 to vector<64xf32>
    %zr = arith.subf %xr, %spread : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}

// -----

// Beside row sums there may be row scalars, and nothing else.
func.func @column_sum(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %d: memref<64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected one output, a row block, got 2 outputs, of which 1 are row blocks}}
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>, %d[n] add : memref<64xf32>) {
  ^row(%xr: vector<64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<64xf32>
    %zr = arith.subf %xr, %spread : vector<64xf32>
    lnbwd.yield %zr, %zr : vector<64xf32>, vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}

// -----

func.func @two_readers(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %v: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected its rows to be read by one product, once}}
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    %zr = arith.negf %xr : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  lnbwd.product @q lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%v : memref<?x96xf32>)
  return
}

// -----

func.func @two_row_blocks(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %d: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected one row block to make the operand of, got 2}}
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %d[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>, %dr: vector<64xf32>):
    %zr = arith.addf %xr, %dr : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}

// -----

func.func @type(%x: memref<?x64xf16>, %w: memref<64x96xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf16>
  %z = memref.alloc(%m) : memref<?x64xf32>
  // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected it to make rows of the type that it reads}}
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf16>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf16>):
    %zr = arith.extf %xr : vector<64xf16> to vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}

// -----

func.func @changes(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %d: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected operand0 to stay as it is up to the product, which would read it only then}}
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    %zr = arith.negf %xr : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.rowwise @other domain(m | n) ins(%d[m, n] : memref<?x64xf32>) outs(%x[m, n] : memref<?x64xf32>) {
  ^row(%zr: vector<64xf32>):
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}
