// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-finalize-column-sums --split-input-file | FileCheck %s

// 144 tiles are few for 304 compute units: eight parts of the sum over the rows,
// which are the rows of a program that adds them in their order and rounds.
// CHECK-LABEL: func @few_tiles(
// CHECK-SAME:    %[[DY:[^:]*]]: memref<?x768xbf16>, %[[X:[^:]*]]: memref<?x768xbf16>, %[[DW:[^:]*]]: memref<768x768xbf16>)
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<8x768x768xf32>
// CHECK:         lnbwd.product @k lhs(%[[DY]] : {{[^)]*}}) rhs(%[[X]] : {{[^)]*}}) outs(%[[PARTS]] : memref<8x768x768xf32>)
// CHECK-SAME:      attributes {lhs_transposed, operand_names = ["dy", "x", "dw"], parts = 8 : i64}
// CHECK:         lnbwd.rowwise @k_finalize domain(m | n0, n1) ins(%[[PARTS]][m, n0, n1] : memref<8x768x768xf32>)
// CHECK-SAME:      outs(%[[DW]][n0, n1] add : memref<768x768xbf16>)
// CHECK-SAME:      lnbwd.own_rows
// CHECK-SAME:      row_groups = 1
// CHECK:         memref.dealloc %[[PARTS]]
func.func @few_tiles(%dy: memref<?x768xbf16>, %x: memref<?x768xbf16>, %dw: memref<768x768xbf16>) {
  lnbwd.product @k lhs(%dy : memref<?x768xbf16>) rhs(%x : memref<?x768xbf16>) outs(%dw : memref<768x768xbf16>)
      attributes {lhs_transposed, operand_names = ["dy", "x", "dw"]}
  return
}

// -----

// Tiles for all; and no sum over the rows.
// CHECK-LABEL: func @whole(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     parts
func.func @whole(%dy: memref<?x4096xbf16>, %x: memref<?x4096xbf16>, %dw: memref<4096x4096xbf16>, %w: memref<64x4096xbf16>,
                 %y: memref<?x64xf32>) {
  lnbwd.product @k lhs(%dy : memref<?x4096xbf16>) rhs(%x : memref<?x4096xbf16>) outs(%dw : memref<4096x4096xbf16>)
      attributes {lhs_transposed}
  lnbwd.product @y lhs(%x : memref<?x4096xbf16>) rhs(%w : memref<64x4096xbf16>) outs(%y : memref<?x64xf32>)
      attributes {rhs_transposed}
  return
}
