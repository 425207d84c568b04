// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=always" --split-input-file | FileCheck %s --implicit-check-not=prologue

// What does not fit stays a program of its own.
// CHECK-LABEL: func @smallest(
// CHECK:         lnbwd.rowwise @rows domain
func.func @smallest(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
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
// CHECK-LABEL: func @column_sum(
// CHECK:         lnbwd.rowwise @rows domain
func.func @column_sum(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %d: memref<64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
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

// CHECK-LABEL: func @two_readers(
// CHECK:         lnbwd.rowwise @rows domain
func.func @two_readers(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %v: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
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

// CHECK-LABEL: func @two_row_blocks(
// CHECK:         lnbwd.rowwise @rows domain
func.func @two_row_blocks(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %d: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %d[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>, %dr: vector<64xf32>):
    %zr = arith.addf %xr, %dr : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}

// -----

// CHECK-LABEL: func @type(
// CHECK:         lnbwd.rowwise @rows domain
func.func @type(%x: memref<?x64xf16>, %w: memref<64x96xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf16>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf16>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf16>):
    %zr = arith.extf %xr : vector<64xf16> to vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @p lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  return
}

// -----

// CHECK-LABEL: func @changes(
// CHECK:         lnbwd.rowwise @rows domain
func.func @changes(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>, %d: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
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
