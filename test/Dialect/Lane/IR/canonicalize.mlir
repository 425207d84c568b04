// RUN: lnbwd-opt %s --canonicalize --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 1000, lanes = 1, groups = 1, width = 4>

// A group of one, a lane of one.
// CHECK-LABEL: func.func @alone
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         return %[[ZERO]], %[[ZERO]]
func.func @alone() -> (index, index) {
  %layout = lane.layout : !layout
  %group = lane.group %layout : !layout
  %lane = lane.lane %layout : !layout
  return %group, %lane : index, index
}

// CHECK-LABEL: func.func @sum_of_one_group
// CHECK-SAME:    %[[C:[^:]*]]: vector<250x4xf32>
// CHECK:         return %[[C]]
func.func @sum_of_one_group(%c: vector<250x4xf32>) -> vector<250x4xf32> {
  %layout = lane.layout : !layout
  %total = lane.combine_groups [#vector.kind<add>] %c at %layout radix 2 : !layout, vector<250x4xf32> -> vector<250x4xf32>
  return %total : vector<250x4xf32>
}

// -----

!layout = !lane.layout<row_length = 1000, lanes = 64, groups = 4, width = 4>

// CHECK-LABEL: func.func @several
// CHECK:         lane.group
// CHECK:         lane.lane
// CHECK:         lane.combine_groups
func.func @several(%c: vector<4x4xf32>) -> (index, index, vector<4x4xf32>) {
  %layout = lane.layout : !layout
  %group = lane.group %layout : !layout
  %lane = lane.lane %layout : !layout
  %total = lane.combine_groups [#vector.kind<add>] %c at %layout radix 2 : !layout, vector<4x4xf32> -> vector<4x4xf32>
  return %group, %lane, %total : index, index, vector<4x4xf32>
}

// Of 1000 columns the last 24 of the fourth access are out of bounds.
// CHECK-LABEL: func.func @in_bounds
// CHECK-DAG:     %[[TRUE:.*]] = arith.constant true
// CHECK-DAG:     %[[LAST:.*]] = lane.in_bounds %{{.*}} access 3
// CHECK:         return %[[TRUE]], %[[LAST]]
func.func @in_bounds() -> (i1, i1) {
  %layout = lane.layout : !layout
  %third = lane.in_bounds %layout access 2 : !layout
  %fourth = lane.in_bounds %layout access 3 : !layout
  return %third, %fourth : i1, i1
}

// CHECK-LABEL: func.func @no_row
// CHECK-DAG:     %[[X:.*]] = lane.undefined_row : vector<4x4xf32>
// CHECK-DAG:     %[[Y:.*]] = lane.undefined_row : f32
// CHECK-NOT:     predicated
// CHECK:         return %[[X]], %[[Y]]
func.func @no_row(%xs: memref<?x1000xf32>, %ys: memref<?xf32>, %tile: index) -> (vector<4x4xf32>, f32) {
  %layout = lane.layout : !layout
  %none = arith.constant 0 : index
  %x = lane.load_predicated %xs from %tile count %none at %layout : !layout, memref<?x1000xf32> -> vector<4x4xf32>
  %y = lane.load_scalar_predicated %ys from %tile count %none at %layout : !layout, memref<?xf32>
  return %x, %y : vector<4x4xf32>, f32
}

// CHECK-LABEL: func.func @some_rows
// CHECK:         lane.load_predicated
func.func @some_rows(%xs: memref<?x1000xf32>, %tile: index, %count: index) -> vector<4x4xf32> {
  %layout = lane.layout : !layout
  %x = lane.load_predicated %xs from %tile count %count at %layout : !layout, memref<?x1000xf32> -> vector<4x4xf32>
  return %x : vector<4x4xf32>
}

// CHECK-LABEL: func.func @predicates
// CHECK-SAME:    %[[S:[^:]*]]: vector<4x4xf32>, %[[IF:[^:]*]]: i1
// CHECK-NOT:     lane.store {{.*}}if
// CHECK:         lane.store %[[S]], %{{.*}}[%{{.*}}] at %{{[^ ]*}} :
// CHECK-NEXT:    lane.store_scalar %{{.*}}[%{{.*}}] at %{{[^ ]*}} :
// CHECK-NEXT:    lane.store %[[S]], {{.*}} if %[[IF]] :
// CHECK-NEXT:    %[[ADDED:.*]] = lane.accumulate %[[S]], %[[S]] : vector
// CHECK-NEXT:    %[[MASKED:.*]] = lane.accumulate %[[S]], %[[S]] if %[[IF]] : vector
// CHECK-NEXT:    return %[[ADDED]], %[[S]], %[[MASKED]]
func.func @predicates(%s: vector<4x4xf32>, %if: i1, %xs: memref<?x1000xf32>, %ys: memref<?xf32>, %y: f32, %row: index)
    -> (vector<4x4xf32>, vector<4x4xf32>, vector<4x4xf32>) {
  %layout = lane.layout : !layout
  %true = arith.constant true
  %false = arith.constant false
  lane.store %s, %xs[%row] at %layout if %false : !layout, vector<4x4xf32>, memref<?x1000xf32>
  lane.store_scalar %y, %ys[%row] at %layout if %false : !layout, memref<?xf32>
  lane.store %s, %xs[%row] at %layout if %true : !layout, vector<4x4xf32>, memref<?x1000xf32>
  lane.store_scalar %y, %ys[%row] at %layout if %true : !layout, memref<?xf32>
  lane.store %s, %xs[%row] at %layout if %if : !layout, vector<4x4xf32>, memref<?x1000xf32>
  %added = lane.accumulate %s, %s if %true : vector<4x4xf32>
  %kept = lane.accumulate %s, %s if %false : vector<4x4xf32>
  %masked = lane.accumulate %s, %s if %if : vector<4x4xf32>
  return %added, %kept, %masked : vector<4x4xf32>, vector<4x4xf32>, vector<4x4xf32>
}
