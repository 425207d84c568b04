// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-split-fragments)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// Loads go access by access, over all memories of a row. A lane is done with one
// access before it begins with the next.
// CHECK-LABEL: gpu.func @accesses
// CHECK:         %[[X0:.*]]:2 = lane.load %[[A:.*]], %{{.*}}[%{{.*}}] at %{{.*}} access 0
// CHECK:         %[[X1:.*]]:2 = lane.load %[[A]], %{{.*}}[%{{.*}}] at %{{.*}} access 1
// CHECK:         %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK:         %[[M0:.*]] = arith.mulf %[[X0]]#0, %[[TWO]] : vector<4xf32>
// CHECK:         %[[V0:.*]] = vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK:         %[[Y0:.*]] = vector.fma %[[M0]], %[[X0]]#1, %[[V0]] : vector<4xf32>
// CHECK:         lane.store %[[Y0]], %[[A]][%{{.*}}] at %{{.*}} access 0
// CHECK:         %[[M1:.*]] = arith.mulf %[[X1]]#0, %{{.*}} : vector<4xf32>
// CHECK:         lane.store %{{.*}}, %[[A]][%{{.*}}] at %{{.*}} access 1
// CHECK-NOT:     2x4
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @accesses(%a: memref<?x512xf32>, %b: memref<?x512xf32>, %row: index, %s: f32) {
    %layout = lane.layout : !layout
    %two = arith.constant dense<2.0> : vector<2x4xf32>
    %x:2 = lane.load %a, %b[%row] at %layout : !layout, memref<?x512xf32>, memref<?x512xf32> -> vector<2x4xf32>, vector<2x4xf32>
    %m = arith.mulf %x#0, %two : vector<2x4xf32>
    %v = vector.broadcast %s : f32 to vector<2x4xf32>
    %y = vector.fma %m, %x#1, %v : vector<2x4xf32>
    lane.store %y, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 300, lanes = 64, groups = 1, width = 4>

// Of an access that may lie beyond the row's end, a sum takes zero and a maximum
// what is below all numbers.
// CHECK-LABEL: gpu.func @fold
// CHECK:         %[[A:.*]] = lane.load %{{.*}} access 0
// CHECK:         %[[B:.*]] = lane.load %{{.*}} access 1
// CHECK:         %[[EXISTS:.*]] = lane.in_bounds %{{.*}} access 1
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK:         %[[TERM:.*]] = arith.select %[[EXISTS]], %[[B]], %[[ZERO]]
// CHECK:         %[[SUM:.*]] = arith.addf %[[A]], %[[TERM]] fastmath<contract>
// CHECK:         %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<4xf32>
// CHECK:         %[[OTHER:.*]] = arith.select %{{.*}}, %[[B]], %[[LOWEST]]
// CHECK:         %[[LARGEST:.*]] = arith.maximumf %[[A]], %[[OTHER]]
// CHECK:         "test.use"(%[[SUM]], %[[LARGEST]])
gpu.module @m {
  gpu.func @fold(%a: memref<?x300xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = lane.load %a[%row] at %layout : !layout, memref<?x300xf32> -> vector<2x4xf32>
    %s:2 = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %x, %x at %layout
        : !layout, vector<2x4xf32>, vector<2x4xf32> -> vector<4xf32>, vector<4xf32>
    "test.use"(%s#0, %s#1) : (vector<4xf32>, vector<4xf32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1001, lanes = 64, groups = 1, width = 4, span = 1004>

// Of aligned rows the first access and the last ones have elements that are not
// of the row. The columns of those before it are negative.
// CHECK-LABEL: gpu.func @fold_aligned
// CHECK-SAME:    , %[[ROW:[a-z0-9]+]]: index)
// CHECK:         %[[X:.*]] = lane.load %{{.*}} access 0
// CHECK:         %[[COLUMNS:.*]] = lane.column_index %{{.*}} row %[[ROW]] access 0
// CHECK:         %[[LENGTH:.*]] = arith.constant dense<1001> : vector<4xi32>
// CHECK:         %[[IN:.*]] = arith.cmpi ult, %[[COLUMNS]], %[[LENGTH]]
// CHECK:         arith.select %[[IN]], %[[X]], %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK-NOT:     lane.column_index {{.*}} access {{[12]}}
// CHECK:         lane.column_index %{{.*}} row %[[ROW]] access 3
// CHECK:         arith.select
gpu.module @m {
  gpu.func @fold_aligned(%a: memref<?x1001xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = lane.load %a[%row] at %layout : !layout, memref<?x1001xf32> -> vector<4x4xf32>
    %s = lane.fold [#vector.kind<maximumf>] %x at %layout row %row : !layout, vector<4x4xf32> -> vector<4xf32>
    "test.use"(%s) : (vector<4xf32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 4>

// Sums go through loops and branches, and out, access by access; columns come
// before.
// CHECK-LABEL: gpu.func @sums
// CHECK:         %[[C:.*]]:4 = lane.load_columns %{{.*}}, %{{.*}} at %{{.*}} -> vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>
// CHECK:         %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[T0:.*]] = %{{.*}}, %[[T1:.*]] = %{{.*}}, %[[N:.*]] = %{{.*}}) -> (vector<4xf32>, vector<4xf32>, index)
// CHECK:           %[[ROWS:.*]]:2 = lane.for_rows {{.*}} sums(%[[S0:.*]] = %[[T0]], %[[S1:.*]] = %[[T1]]) attributes {whole} : !layout, vector<4xf32>, vector<4xf32> {
// CHECK:             %[[A0:.*]] = lane.accumulate %[[S0]], %[[C]]#2 : vector<4xf32>
// CHECK:             %[[A1:.*]] = lane.accumulate %[[S1]], %[[C]]#3 : vector<4xf32>
// CHECK:             lane.yield %[[A0]], %[[A1]]
// CHECK:           scf.yield %[[ROWS]]#0, %[[ROWS]]#1, %[[N]]
// CHECK:         %[[IF:.*]]:2 = scf.if
// CHECK:           scf.yield %[[LOOP]]#0, %[[LOOP]]#1
// CHECK:           scf.yield %[[C]]#0, %[[C]]#1
// CHECK:         %[[TOTAL:.*]]:2 = lane.combine_groups [#vector.kind<add>] %[[IF]]#0, %[[IF]]#1 at
// CHECK:         lane.store_sum %[[TOTAL]]#0, %{{.*}} at %{{.*}} access 0
// CHECK:         lane.store_sum %[[TOTAL]]#1, %{{.*}} at %{{.*}} access 1
gpu.module @m {
  gpu.func @sums(%g: memref<512xf32>, %h: memref<512xf32>, %c: i1, %i: index) {
    %layout = lane.layout : !layout
    %col:2 = lane.load_columns %g, %h at %layout : !layout, memref<512xf32>, memref<512xf32> -> vector<2x4xf32>, vector<2x4xf32>
    %zero = arith.constant dense<0.0> : vector<2x4xf32>
    %o:2 = scf.for %f = %i to %i step %i iter_args(%t = %zero, %n = %i) -> (vector<2x4xf32>, index) {
      %s = lane.for_rows %tile = %i to %i step %i at %layout sums(%a = %t) attributes {whole} : !layout, vector<2x4xf32> {
        %b = lane.accumulate %a, %col#1 : vector<2x4xf32>
        lane.yield %b : vector<2x4xf32>
      }
      scf.yield %s, %n : vector<2x4xf32>, index
    }
    %r = scf.if %c -> (vector<2x4xf32>) {
      scf.yield %o#0 : vector<2x4xf32>
    } else {
      scf.yield %col#0 : vector<2x4xf32>
    }
    %total = lane.combine_groups [#vector.kind<add>] %r at %layout radix 2 : !layout, vector<2x4xf32> -> vector<2x4xf32>
    lane.store_sum %total, %g at %layout : !layout, vector<2x4xf32>, memref<512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// What a loop carries beside its sums goes in the order of loads: access by
// access over all parts of one load, packed or not.
// CHECK-LABEL: gpu.func @carried
// CHECK:         %[[NONE:.*]] = lane.undefined_row : vector<4xf32>
// CHECK:         lane.for_rows {{.*}} sums(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}) carrying(%[[A0:.*]] = %{{.*}}, %[[B0:.*]] = %{{.*}}, %[[A1:.*]] = %{{.*}}, %[[B1:.*]] = %{{.*}}, %[[N:.*]] = %{{.*}}, %[[C0:.*]] = %[[NONE]], %[[C1:.*]] = %{{.*}})
// CHECK:           %[[W0:.*]] = vector.bitcast %[[B0]] : vector<1xi32> to vector<4xi8>
// CHECK:           lane.store %[[W0]], %{{.*}} access 0
// CHECK:           lane.yield %[[S0]], %[[S1]], %[[A0]], %[[B0]], %[[A1]], %[[B1]], %[[N]], %[[C0]], %[[C1]]
gpu.module @m {
  gpu.func @carried(%x: memref<?x512xf32>, %m: memref<?x512xi8>, %i: index) {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<2x4xf32>
    %none = lane.undefined_row : vector<2x4xf32>
    %f:2 = lane.load %x, %m[%i] at %layout : !layout, memref<?x512xf32>, memref<?x512xi8> -> vector<2x4xf32>, vector<2x4xi8>
    %packed = vector.bitcast %f#1 : vector<2x4xi8> to vector<2x1xi32>
    %r:5 = lane.for_rows %tile = %i to %i step %i at %layout sums(%s = %zero) carrying(%a = %f#0, %b = %packed, %n = %i, %c = %none) attributes {whole}
        : !layout, vector<2x4xf32>, vector<2x4xf32>, vector<2x1xi32>, index, vector<2x4xf32> {
      %w = vector.bitcast %b : vector<2x1xi32> to vector<2x4xi8>
      lane.store %w, %m[%tile] at %layout : !layout, vector<2x4xi8>, memref<?x512xi8>
      lane.yield %s, %a, %b, %n, %c : vector<2x4xf32>, vector<2x4xf32>, vector<2x1xi32>, index, vector<2x4xf32>
    }
    gpu.return
  }
}

// -----

// Upstream's operations with regions are split as their interface says.
// CHECK-LABEL: gpu.func @region
// CHECK:         %[[R:.*]]:2 = scf.execute_region -> (vector<4xf32>, vector<4xf32>)
// CHECK:           scf.yield %{{.*}}, %{{.*}} : vector<4xf32>, vector<4xf32>
// CHECK:         lane.store %[[R]]#0, %{{.*}} access 0
// CHECK:         lane.store %[[R]]#1, %{{.*}} access 1
!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>
gpu.module @m {
  gpu.func @region(%a: memref<?x512xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = scf.execute_region -> vector<2x4xf32> {
      %zero = arith.constant dense<0.0> : vector<2x4xf32>
      scf.yield %zero : vector<2x4xf32>
    }
    lane.store %x, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// CHECK-LABEL: gpu.func @while
// CHECK:         scf.while (%[[N:.*]] = %{{.*}}, %[[A0:.*]] = %{{.*}}, %[[A1:.*]] = %{{.*}}) : (index, vector<4xf32>, vector<4xf32>) -> (index, vector<4xf32>, vector<4xf32>)
// CHECK:           scf.condition(%{{.*}}) %[[N]], %[[A0]], %[[A1]]
// CHECK:         ^bb0(%[[M:.*]]: index, %[[B0:.*]]: vector<4xf32>, %[[B1:.*]]: vector<4xf32>):
// CHECK:           scf.yield %[[M]], %[[B0]], %[[B1]]
gpu.module @m {
  gpu.func @while(%i: index, %more: i1) {
    %zero = arith.constant dense<0.0> : vector<2x4xf32>
    %r:2 = scf.while (%n = %i, %a = %zero) : (index, vector<2x4xf32>) -> (index, vector<2x4xf32>) {
      scf.condition(%more) %n, %a : index, vector<2x4xf32>
    } do {
    ^bb0(%m: index, %b: vector<2x4xf32>):
      scf.yield %m, %b : index, vector<2x4xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>
!stages = !lane.stages<2 of bf16, f32>

// What is received goes access by access, over all operands of the rows.
// CHECK-LABEL: gpu.func @received
// CHECK:         lane.receive %{{.*}} from %{{.*}}[%{{.*}}] at %{{.*}} access 0 : !layout, !stages -> vector<4xbf16>, vector<4xf32>
// CHECK-NEXT:    %[[SECOND:.*]]:2 = lane.receive %{{.*}} from %{{.*}}[%{{.*}}] at %{{.*}} access 1
// CHECK:         lane.store %[[SECOND]]#1, %{{.*}} access 1
gpu.module @m {
  gpu.func @received(%m: memref<?x512xf32>, %i: index, %stages: !stages, %layout: !layout) {
    %x:2 = lane.receive %i from %stages[%i] at %layout : !layout, !stages -> vector<2x4xbf16>, vector<2x4xf32>
    lane.store %x#1, %m[%i] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// Each access has columns of its own.
// CHECK-LABEL: gpu.func @columns
// CHECK:         %[[C0:.*]] = lane.column_index %{{.*}} access 0 : !layout -> vector<4xi32>
// CHECK:         %[[F0:.*]] = arith.uitofp %[[C0]]
// CHECK:         lane.store %[[F0]], {{.*}} access 0
// CHECK:         %[[C1:.*]] = lane.column_index %{{.*}} access 1 : !layout -> vector<4xi32>
// CHECK:         %[[F1:.*]] = arith.uitofp %[[C1]]
// CHECK:         lane.store %[[F1]], {{.*}} access 1
gpu.module @m {
  gpu.func @columns(%a: memref<?x512xf32>, %row: index) {
    %layout = lane.layout : !layout
    %c = lane.column_index %layout : !layout -> vector<2x4xi32>
    %f = arith.uitofp %c : vector<2x4xi32> to vector<2x4xf32>
    lane.store %f, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// A block of 32 is eight lanes' of one access.
// CHECK-LABEL: gpu.func @blocks
// CHECK:         %[[X0:.*]] = lane.load %{{.*}} access 0
// CHECK:         %[[OWN:.*]] = vector.reduction <maximumf>, %[[X0]] : vector<4xf32> into f32
// CHECK:         %[[ALL:.*]] = gpu.subgroup_reduce maximumf %[[OWN]] uniform cluster(size = 8)
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[ALL]] : f32 to vector<4xf32>
// CHECK:         lane.store %[[SPREAD]], %{{.*}} access 0
// CHECK:         gpu.subgroup_reduce
// CHECK:         lane.store %{{.*}} access 1
gpu.module @m {
  gpu.func @blocks(%a: memref<?x512xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = lane.load %a[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
    %m = lnbwd.block_max 32 %x : vector<2x4xf32>
    lane.store %m, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// Blocks within an access are a lane's own.
// CHECK-LABEL: gpu.func @pairs
// CHECK:         %[[X:.*]] = lane.load %{{.*}} access 0
// CHECK:         %[[LOW:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [2], strides = [1]}
// CHECK:         %[[FIRST:.*]] = vector.reduction <maximumf>, %[[LOW]] : vector<2xf32> into f32
// CHECK:         %[[HIGH:.*]] = vector.extract_strided_slice %[[X]] {offsets = [2], sizes = [2], strides = [1]}
// CHECK:         %[[SECOND:.*]] = vector.reduction <maximumf>, %[[HIGH]] : vector<2xf32> into f32
// CHECK:         vector.from_elements %[[FIRST]], %[[FIRST]], %[[SECOND]], %[[SECOND]]
// CHECK-NOT:     gpu.subgroup_reduce
gpu.module @m {
  gpu.func @pairs(%a: memref<?x256xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = lane.load %a[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
    %m = lnbwd.block_max 2 %x : vector<1x4xf32>
    lane.store %m, %a[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 4>

// Blocks whose elements lie apart: those of the accesses first, for all of them.
// CHECK-LABEL: gpu.func @apart
// CHECK-DAG:     %[[A0:.*]] = lane.load %{{.*}} access 0
// CHECK-DAG:     %[[A1:.*]] = lane.load %{{.*}} access 1
// CHECK:         %[[MAX:.*]] = arith.maximumf %[[A0]], %[[A1]] : vector<4xf32>
// CHECK:         %[[EACH:.*]]:4 = vector.to_elements %[[MAX]]
// CHECK:         %[[FIRST:.*]] = gpu.subgroup_reduce maximumf %[[EACH]]#0 uniform cluster(size = 16, stride = 2)
// CHECK-COUNT-3: gpu.subgroup_reduce
// CHECK-NOT:     gpu.subgroup_reduce
// CHECK:         %[[ALL:.*]] = vector.from_elements %[[FIRST]],
// CHECK:         lane.store %[[ALL]], %{{.*}} access 0
// CHECK:         lane.store %[[ALL]], %{{.*}} access 1
gpu.module @m {
  gpu.func @apart(%a: memref<?x256xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = lane.load %a[%row] at %layout : !layout, memref<?x256xf32> -> vector<2x4xf32>
    %m = lnbwd.block_max 32 apart 8 %x : vector<2x4xf32>
    lane.store %m, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 1, width = 4>
#transposed = affine_map<(d0, d1) -> (d0 * 256 + (d1 mod 128) * 2 + d1 floordiv 128)>

// The same elements of two accesses lie side by side, and are converted so.
// CHECK-LABEL: gpu.func @across
// CHECK-DAG:     %[[A0:.*]] = lane.load %{{.*}} access 0
// CHECK-DAG:     %[[A1:.*]] = lane.load %{{.*}} access 1
// CHECK:         %[[E0:.*]] = vector.extract %[[A0]][0]
// CHECK:         %[[E1:.*]] = vector.extract %[[A1]][0]
// CHECK:         %[[PAIR:.*]] = vector.from_elements %[[E0]], %[[E1]] : vector<2xf32>
// CHECK:         %[[NARROW:.*]] = arith.truncf %[[PAIR]] : vector<2xf32> to vector<2xf16>
// CHECK:         lane.store %[[NARROW]], %{{.*}} access 0 element 0
// CHECK:         lane.store %{{.*}}, %{{.*}} access 0 element 3
// CHECK-NOT:     lane.store
gpu.module @m {
  gpu.func @across(%a: memref<?x256xf32>, %y: memref<?xf16>, %row: index) {
    %layout = lane.layout : !layout
    %view = lane.view %y : memref<?xf16> to memref<?x256xf16, #transposed>
    %x = lane.load %a[%row] at %layout : !layout, memref<?x256xf32> -> vector<2x4xf32>
    %h = arith.truncf %x : vector<2x4xf32> to vector<2x4xf16>
    lane.store %h, %view[%row] at %layout : !layout, vector<2x4xf16>, memref<?x256xf16, #transposed>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// Rows of tables as those of row blocks.
// CHECK-LABEL: gpu.func @gather
// CHECK:         %[[A0:.*]] = lane.gather %{{.*}}[%{{.*}}] at %{{.*}} access 0 : {{.*}} -> vector<4xf32>
// CHECK:         %[[A1:.*]] = lane.gather %{{.*}}[%{{.*}}] at %{{.*}} access 1
// CHECK:         lane.store %[[A0]]
// CHECK:         lane.store %[[A1]]
gpu.module @m {
  gpu.func @gather(%a: memref<50x512xf32>, %y: memref<?x512xf32>, %row: index, %index: index) {
    %layout = lane.layout : !layout
    %x = lane.gather %a[%index] at %layout : !layout, memref<50x512xf32> -> vector<2x4xf32>
    lane.store %x, %y[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 8, groups = 1, width = 4>

// Lanes that have the same number write one of its accesses each, or one of its
// elements: two lanes have each block of 8, and four each column of 8.
// CHECK-DAG:     #[[BLOCKS:.*]] = affine_map<(d0, d1) -> (d0 * 8 + d1 floordiv 8 + ((d1 floordiv 4) mod 2) * 4)>
// CHECK-DAG:     #[[COLUMNS:.*]] = affine_map<(d0, d1) -> (d0 * 128 + ((d1 + (d1 floordiv 8) mod 2 + ((d1 floordiv 16) mod 2) * 2) mod 8) * 16)>
// CHECK-LABEL: gpu.func @shared
// CHECK:         %[[X0:.*]] = lane.load %{{.*}} access 0
// CHECK:         %[[X1:.*]] = lane.load %{{.*}} access 1
// CHECK:         %[[LANE:.*]] = vector.extract %{{.*}}[0] : i32 from vector<4xi32>
// CHECK:         %[[BIT:.*]] = arith.andi %[[LANE]], %{{.*}} : i32
// CHECK:         %[[SECOND:.*]] = arith.cmpi ne, %[[BIT]]
// CHECK:         %[[VIEW:.*]] = lane.view %{{.*}} to memref<?x64xf32, #[[BLOCKS]]>
// CHECK:         %[[OWN:.*]] = arith.select %[[SECOND]], %{{.*}}, %{{.*}} : vector<1xf32>
// CHECK:         lane.store %[[OWN]], %[[VIEW]][%{{.*}}] at %{{.*}} access 0 element 0
// CHECK-NOT:     lane.store
// CHECK:         %[[OTHER:.*]] = lane.view %{{.*}} to memref<?x64xf32, #[[COLUMNS]]>
// CHECK-COUNT-3: arith.select
// CHECK-NOT:     arith.select
// CHECK:         lane.store %{{.*}}, %[[OTHER]][%{{.*}}] at %{{.*}} access 0 element 0
// CHECK-NOT:     lane.store
gpu.module @m {
  gpu.func @shared(%a: memref<?x64xf32>, %s: memref<?xf32>, %t: memref<?xf32>, %row: index) {
    %layout = lane.layout : !layout
    %blocks = lane.view %s : memref<?xf32> to memref<?x64xf32, affine_map<(d0, d1) -> (d0 * 8 + d1 floordiv 8)>>
    %columns = lane.view %t : memref<?xf32> to memref<?x64xf32, affine_map<(d0, d1) -> (d0 * 128 + (d1 mod 8) * 16)>>
    %x = lane.load %a[%row] at %layout : !layout, memref<?x64xf32> -> vector<2x4xf32>
    lane.store %x, %blocks[%row] at %layout : !layout, vector<2x4xf32>, memref<?x64xf32, affine_map<(d0, d1) -> (d0 * 8 + d1 floordiv 8)>>
    lane.store %x, %columns[%row] at %layout : !layout, vector<2x4xf32>, memref<?x64xf32, affine_map<(d0, d1) -> (d0 * 128 + (d1 mod 8) * 16)>>
    gpu.return
  }
}
