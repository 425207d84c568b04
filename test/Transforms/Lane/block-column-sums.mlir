// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-block-column-sums)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 8>

// A loop over blocks of eight iterations around the one over the iterations of
// a block, whose sums begin with zero; what else is carried goes through both.
// CHECK-LABEL: gpu.func @blocks(
// CHECK-SAME:    %[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[STEP:.*]]: index, %[[START:.*]]: vector<1x8xf32>, %[[N:.*]]: index)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<1x8xf32>
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:         %[[BLOCK_STEP:.*]] = arith.muli %[[STEP]], %[[EIGHT]] : index
// CHECK:         %[[OUTER:.*]]:2 = lane.for_rows %[[FIRST:.*]] = %[[BEGIN]] to %[[END]] step %[[BLOCK_STEP]] at %{{.*}} carrying(%[[TOTAL:.*]] = %[[START]], %[[M:.*]] = %[[N]]) attributes {whole}
// CHECK:           %[[NEXT:.*]] = arith.addi %[[FIRST]], %[[BLOCK_STEP]] : index
// CHECK:           %[[LAST:.*]] = arith.minui %[[NEXT]], %[[END]] : index
// CHECK:           %[[INNER:.*]]:2 = lane.for_rows %{{.*}} = %[[FIRST]] to %[[LAST]] step %[[STEP]] at %{{.*}} sums(%{{.*}} = %[[ZERO]]) carrying(%{{.*}} = %[[M]]) attributes {whole}
// CHECK:           %[[ADDED:.*]] = arith.addf %[[TOTAL]], %[[INNER]]#0 fastmath<contract> : vector<1x8xf32>
// CHECK:           lane.yield %[[ADDED]], %[[INNER]]#1
// CHECK:         }
// CHECK:         "test.use"(%[[OUTER]]#0, %[[OUTER]]#1)
gpu.module @m {
  gpu.func @blocks(%begin: index, %end: index, %step: index, %start: vector<1x8xf32>, %n: index) {
    %layout = lane.layout : !layout
    %sum:2 = lane.for_rows %tile = %begin to %end step %step at %layout sums(%a = %start) carrying(%c = %n)
        attributes {sum_block = 8 : i64, whole} : !layout, vector<1x8xf32>, index {
      %v = arith.constant dense<1.0> : vector<1x8xf32>
      %b = lane.accumulate %a, %v : vector<1x8xf32>
      lane.yield %b, %c : vector<1x8xf32>, index
    }
    "test.use"(%sum#0, %sum#1) : (vector<1x8xf32>, index) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 8>

// CHECK-LABEL: gpu.func @no_blocks
// CHECK-COUNT-1: lane.for_rows
// CHECK-NOT:     lane.for_rows
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @no_blocks(%begin: index, %end: index, %step: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %end step %step at %layout attributes {whole} : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 8>

// Where there surely is a first iteration, there is a first block.
// CHECK-LABEL: gpu.func @entered(
// CHECK-SAME:    %[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[STEP:.*]]: index, %[[START:.*]]: vector<1x8xf32>, %[[N:.*]]: index)
// CHECK:         %[[BLOCK_STEP:.*]] = arith.muli %[[STEP]], %{{.*}} : index
// CHECK:         %[[OUTER:.*]]:2 = lane.for_rows %[[FIRST:.*]] = %[[BEGIN]] to %[[END]] step %[[BLOCK_STEP]] at %{{.*}} carrying(%[[TOTAL:.*]] = %[[START]], %[[M:.*]] = %[[N]]) attributes {entered, whole}
// CHECK:           %[[NEXT:.*]] = arith.addi %[[FIRST]], %[[BLOCK_STEP]] : index
// CHECK:           %[[LAST:.*]] = arith.minui %[[NEXT]], %[[END]] : index
// CHECK:           %[[INNER:.*]]:2 = lane.for_rows %{{.*}} = %[[FIRST]] to %[[LAST]] step %[[STEP]] at %{{.*}} carrying(%{{.*}} = %[[M]]) attributes {entered, whole}
// CHECK:           %[[ADDED:.*]] = arith.addf %[[TOTAL]], %[[INNER]]#0 fastmath<contract> : vector<1x8xf32>
// CHECK:           lane.yield %[[ADDED]], %[[INNER]]#1
// CHECK:         }
// CHECK:         "test.use"(%[[OUTER]]#0, %[[OUTER]]#1)
gpu.module @m {
  gpu.func @entered(%begin: index, %end: index, %step: index, %start: vector<1x8xf32>, %n: index) {
    %layout = lane.layout : !layout
    %sum:2 = lane.for_rows %tile = %begin to %end step %step at %layout sums(%a = %start) carrying(%c = %n)
        attributes {entered, sum_block = 8 : i64, whole} : !layout, vector<1x8xf32>, index {
      lane.yield %a, %c : vector<1x8xf32>, index
    }
    "test.use"(%sum#0, %sum#1) : (vector<1x8xf32>, index) -> ()
    gpu.return
  }
}
