// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-finalize-column-sums --split-input-file | FileCheck %s

// 144 tiles are few for 304 compute units: eight parts of the sum over the rows,
// which are the rows of a program that adds them in their order and rounds.
// CHECK-LABEL: func @few_tiles(
// CHECK-SAME:    %[[DY:[^:]*]]: memref<?x768xbf16>, %[[X:[^:]*]]: memref<?x768xbf16>, %[[DW:[^:]*]]: memref<768x768xbf16>)
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<8x768x768xf32>
// CHECK:         lnbwd.rowwise @k domain(m | n0, n1) ins(%[[DY]][m, n0] : {{[^)]*}}, %[[X]][m, n1] : {{[^)]*}}) outs(%[[PARTS]][*, n0, n1] add : memref<8x768x768xf32>)
// CHECK-SAME:      attributes {operand_names = ["dy", "x", "dw"]}
// CHECK:         lnbwd.rowwise @k_finalize domain(m | n0, n1) ins(%[[PARTS]][m, n0, n1] : memref<8x768x768xf32>)
// CHECK-SAME:      outs(%[[DW]][n0, n1] add : memref<768x768xbf16>)
// CHECK-SAME:      own_rows
// CHECK-SAME:      row_groups = 1
// CHECK:         memref.dealloc %[[PARTS]]
func.func @few_tiles(%dy: memref<?x768xbf16>, %x: memref<?x768xbf16>, %dw: memref<768x768xbf16>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x768xbf16>, %x[m, n1] : memref<?x768xbf16>)
      outs(%dw[n0, n1] add : memref<768x768xbf16>) attributes {operand_names = ["dy", "x", "dw"]} {
  ^row(%dyr: vector<768xbf16>, %xr: vector<768xbf16>):
    %dyrw = arith.extf %dyr : vector<768xbf16> to vector<768xf32>
    %xrw = arith.extf %xr : vector<768xbf16> to vector<768xf32>
    %p = vector.outerproduct %dyrw, %xrw : vector<768xf32>, vector<768xf32>
    lnbwd.yield %p : vector<768x768xf32>
  }
  return
}

// -----

// Tiles for all; and no sum over the rows.
// CHECK-LABEL: func @whole(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     [*
func.func @whole(%dy: memref<?x4096xbf16>, %x: memref<?x4096xbf16>, %dw: memref<4096x4096xbf16>, %w: memref<64x4096xbf16>,
                 %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x4096xbf16>, %x[m, n1] : memref<?x4096xbf16>)
      outs(%dw[n0, n1] add : memref<4096x4096xbf16>) {
  ^row(%dyr: vector<4096xbf16>, %xr: vector<4096xbf16>):
    %dyrw = arith.extf %dyr : vector<4096xbf16> to vector<4096xf32>
    %xrw = arith.extf %xr : vector<4096xbf16> to vector<4096xf32>
    %p = vector.outerproduct %dyrw, %xrw : vector<4096xf32>, vector<4096xf32>
    lnbwd.yield %p : vector<4096x4096xf32>
  }
  lnbwd.rowwise @y domain(m | n0, n1) ins(%x[m, n0] : memref<?x4096xbf16>, %w[n1, n0] : memref<64x4096xbf16>)
      outs(%y[m, n1] : memref<?x64xf32>) {
  ^row(%xr: vector<4096xbf16>, %wm: vector<64x4096xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<4096xbf16>, vector<64x4096xbf16>
    lnbwd.yield %p : vector<64xf32>
  }
  return
}
