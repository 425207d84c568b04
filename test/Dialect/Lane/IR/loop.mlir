// RUN: lnbwd-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM
// RUN: lnbwd-opt %s --int-range-optimizations | FileCheck %s --check-prefix=RANGE

// Upstream's passes know lane.for_rows as a loop.

!layout = !lane.layout<row_length = 1024, lanes = 64, groups = 1, width = 8>

// LICM-LABEL: func.func @invariant
// LICM:         %[[WIDE:.*]] = arith.extf
// LICM:         lane.for_rows
// LICM:           %[[ROW:.*]] = lane.row
// LICM:           lane.store %[[WIDE]], %{{.*}}[%[[ROW]]]
func.func @invariant(%ys: memref<?x1024xf32>, %gamma: vector<2x8xbf16>, %rows: index, %step: index) {
  %layout = lane.layout : !layout
  %begin = arith.constant 0 : index
  lane.for_rows %tile = %begin to %rows step %step at %layout : !layout {
    %row = lane.row %tile at %layout : !layout
    %wide = arith.extf %gamma : vector<2x8xbf16> to vector<2x8xf32>
    lane.store %wide, %ys[%row] at %layout : !layout, vector<2x8xf32>, memref<?x1024xf32>
  }
  return
}

// Of both ways to the body, and out of the loop, the carried number is 7.
// RANGE-LABEL: func.func @carried
// RANGE:         %[[SEVEN:.*]] = arith.constant 7 : index
// RANGE:         return %[[SEVEN]]
func.func @carried(%rows: index, %step: index) -> index {
  %layout = lane.layout : !layout
  %begin = arith.constant 0 : index
  %seven = arith.constant 7 : index
  %result = lane.for_rows %tile = %begin to %rows step %step at %layout carrying(%n = %seven) : !layout, index {
    %next = arith.maxui %n, %seven : index
    lane.yield %next : index
  }
  %same = arith.addi %result, %begin : index
  return %same : index
}
