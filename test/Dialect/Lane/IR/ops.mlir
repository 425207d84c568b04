// RUN: lnbwd-opt %s --split-input-file | lnbwd-opt --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --split-input-file --mlir-print-op-generic | lnbwd-opt --split-input-file | FileCheck %s

// A loop over rows with a column sum, a row sum and a row scalar.
// CHECK-LABEL: func.func @row_loop
// CHECK:         %[[LAYOUT:.*]] = lane.layout : !layout
// CHECK:         lane.prefetch_rows %{{.*}}, %{{.*}} from %{{.*}} below %{{.*}} at %[[LAYOUT]] : !layout, memref<?x1000xbf16>, memref<?x1000xf32>
// CHECK:         %[[GAMMA:.*]] = lane.load_columns %{{.*}} at %[[LAYOUT]] : !layout, memref<1000xbf16> -> vector<2x8xbf16>
// CHECK:         %[[FIRST:.*]] = lane.first_iteration : !lane.iteration
// CHECK:         %[[RESULTS:.*]]:2 = lane.for_rows %[[TILE:.*]] = %{{.*}} to %{{.*}} step %{{.*}} at %[[LAYOUT]] for %{{.*}} of %{{.*}} sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[ITERATION:.*]] = %[[FIRST]]) attributes {sum_block = 8 : i64} : !layout, vector<2x8xf32>, !lane.iteration {
// CHECK:           %[[ROW:.*]] = lane.row %[[TILE]] at %[[LAYOUT]] : !layout
// CHECK:           %[[X:.*]]:2 = lane.load %{{.*}}, %{{.*}}[%[[ROW]]] at %[[LAYOUT]] : !layout, memref<?x1000xbf16>, memref<?x1000xf32> -> vector<2x8xbf16>, vector<2x8xf32>
// CHECK:           %[[RSTD:.*]] = lane.load_scalar %{{.*}}[%[[ROW]]] : memref<?xf32>
// CHECK:           %[[SHARES:.*]]:2 = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %[[X]]#1, %[[X]]#1 at %[[LAYOUT]] : !layout, vector<2x8xf32>, vector<2x8xf32> -> vector<8xf32>, vector<8xf32>
// CHECK:           %[[ADDED:.*]] = lane.accumulate %[[SUM]], %[[X]]#1 : vector<2x8xf32>
// CHECK:           lane.store %[[X]]#0, %{{.*}}[%[[ROW]]] at %[[LAYOUT]] : !layout, vector<2x8xbf16>, memref<?x1000xbf16>
// CHECK:           %[[SUMS:.*]]:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %[[SHARES]]#0, %[[SHARES]]#1 at %[[LAYOUT]] iteration %[[ITERATION]] phase 0 : !layout, vector<8xf32>, vector<8xf32> -> f32, f32
// CHECK:           lane.store_scalar %[[SUMS]]#0, %{{.*}}[%[[ROW]]] at %[[LAYOUT]] : !layout, memref<?xf32>
// CHECK:           %[[NEXT:.*]] = lane.next_iteration %[[ITERATION]] : !lane.iteration
// CHECK:           lane.yield %[[ADDED]], %[[NEXT]] : vector<2x8xf32>, !lane.iteration
// CHECK:         %[[TOTAL:.*]] = lane.combine_groups [#vector.kind<add>] %[[RESULTS]]#0 at %[[LAYOUT]] radix 8 : !layout, vector<2x8xf32> -> vector<2x8xf32>
// CHECK:         lane.store_sum %[[TOTAL]], %{{.*}}[%{{.*}}] at %[[LAYOUT]] : !layout, vector<2x8xf32>, memref<?x1000xf32>
// CHECK:         lane.discard %{{.*}}, %{{.*}} rows %{{.*}} at %[[LAYOUT]] : !layout, memref<?x1000xf32>, memref<?x1000xbf16>
!layout = !lane.layout<row_length = 1000, lanes = 64, groups = 8, width = 8>
func.func @row_loop(%begin: index, %rows: index, %step: index, %w: index, %ws: index, %g: memref<1000xbf16>, %a: memref<?x1000xbf16>,
                    %b: memref<?x1000xf32>, %s: memref<?xf32>, %o: memref<?x1000xbf16>, %p: memref<?x1000xf32>) {
  %layout = lane.layout : !layout
  lane.prefetch_rows %a, %b from %begin below %rows at %layout : !layout, memref<?x1000xbf16>, memref<?x1000xf32>
  %gamma = lane.load_columns %g at %layout : !layout, memref<1000xbf16> -> vector<2x8xbf16>
  %zero = arith.constant dense<0.0> : vector<2x8xf32>
  %first = lane.first_iteration : !lane.iteration
  %sum, %last = lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws
      sums(%partial = %zero) carrying(%iteration = %first) attributes {sum_block = 8 : i64} : !layout, vector<2x8xf32>, !lane.iteration {
    %row = lane.row %tile at %layout : !layout
    %x:2 = lane.load %a, %b[%row] at %layout : !layout, memref<?x1000xbf16>, memref<?x1000xf32> -> vector<2x8xbf16>, vector<2x8xf32>
    %rstd = lane.load_scalar %s[%row] : memref<?xf32>
    %partials:2 = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %x#1, %x#1 at %layout
        : !layout, vector<2x8xf32>, vector<2x8xf32> -> vector<8xf32>, vector<8xf32>
    %added = lane.accumulate %partial, %x#1 : vector<2x8xf32>
    lane.store %x#0, %o[%row] at %layout : !layout, vector<2x8xbf16>, memref<?x1000xbf16>
    %sums:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %partials#0, %partials#1 at %layout iteration %iteration phase 0
        : !layout, vector<8xf32>, vector<8xf32> -> f32, f32
    lane.store_scalar %sums#0, %s[%row] at %layout : !layout, memref<?xf32>
    %next = lane.next_iteration %iteration : !lane.iteration
    lane.yield %added, %next : vector<2x8xf32>, !lane.iteration
  }
  %total = lane.combine_groups [#vector.kind<add>] %sum at %layout radix 8 : !layout, vector<2x8xf32> -> vector<2x8xf32>
  lane.store_sum %total, %p[%w] at %layout : !layout, vector<2x8xf32>, memref<?x1000xf32>
  lane.discard %b, %a rows %rows at %layout : !layout, memref<?x1000xf32>, memref<?x1000xbf16>
  return
}

// -----

// The same when parts are split and rows may not exist.
// CHECK-LABEL: func.func @split
// CHECK:         lane.load_columns %{{.*}}, %{{.*}} at %{{.*}} : !layout, memref<1000xbf16>, memref<1000xf32> -> vector<8xbf16>, vector<8xbf16>, vector<8xf32>, vector<8xf32>
// CHECK:         lane.load %{{.*}}[%{{.*}}] at %{{.*}} access 1 : !layout, memref<?x1000xf32> -> vector<8xf32>
// CHECK:         lane.in_bounds %{{.*}} access 1 : !layout
// CHECK:         lane.accumulate %{{.*}}, %{{.*}} if %{{.*}} : vector<8xf32>
// CHECK:         lane.store %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} access 1 if %{{.*}} : !layout, vector<8xf32>, memref<?x1000xf32>
// CHECK:         lane.store_scalar %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} if %{{.*}} : !layout, memref<?xf32>
// CHECK:         lane.reduce [#vector.kind<add>] %{{.*}} at %{{.*}} iteration %{{.*}} phase 0 : !layout, f32 -> f32
// CHECK:         lane.reduce [#vector.kind<add>] %{{.*}} at %{{.*}} iteration %{{.*}} phase 1 own_columns : !layout, f32 -> f32
// CHECK:         lane.store_scalar %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} if %{{.*}} own_columns : !layout, memref<?xf32>
// CHECK:         lane.accumulate maximum %{{.*}}, %{{.*}} if %{{.*}} : vector<8xf32>
// CHECK:         lane.combine_groups [#vector.kind<maximumf>, #vector.kind<add>] %{{.*}}, %{{.*}} at %{{.*}} radix 2 :
// CHECK:         lane.add_leaves [#vector.kind<add>, #vector.kind<maximumf>] %{{.*}}, %{{.*}} leaf %{{.*}} at %{{.*}} levels 2 :
// CHECK:         lane.share_sums [#vector.kind<add>, #vector.kind<maximumf>] %{{.*}}, %{{.*}} at %{{.*}} to %{{.*}} : !layout, !layout1, vector<8xf32>, vector<8xf32> -> vector<1xf32>, vector<1xf32>
// CHECK:         lane.combine_groups [#vector.kind<add>, #vector.kind<add>] %{{.*}}, %{{.*}} at %{{.*}} radix 2 : !layout, vector<8xf32>, vector<8xf32> -> vector<8xf32>, vector<8xf32>
// CHECK:         lane.store_sum %{{.*}}, %{{.*}} at %{{.*}} access 0 accumulate : !layout, vector<8xf32>, memref<1000xf32>
!layout = !lane.layout<row_length = 1000, lanes = 64, groups = 8, width = 8>
!shared = !lane.layout<row_length = 1000, lanes = 512, groups = 1, width = 1>
func.func @split(%row: index, %in_bounds: i1, %g: memref<1000xbf16>, %h: memref<1000xf32>, %a: memref<?x1000xf32>, %s: memref<?xf32>, %n: f32) {
  %layout = lane.layout : !layout
  %c:4 = lane.load_columns %g, %h at %layout : !layout, memref<1000xbf16>, memref<1000xf32>
      -> vector<8xbf16>, vector<8xbf16>, vector<8xf32>, vector<8xf32>
  %x = lane.load %a[%row] at %layout access 1 : !layout, memref<?x1000xf32> -> vector<8xf32>
  %columns = lane.in_bounds %layout access 1 : !layout
  %sum = lane.accumulate %x, %x if %in_bounds : vector<8xf32>
  lane.store %sum, %a[%row] at %layout access 1 if %in_bounds : !layout, vector<8xf32>, memref<?x1000xf32>
  lane.store_scalar %n, %s[%row] at %layout if %in_bounds : !layout, memref<?xf32>
  %iteration = lane.first_iteration : !lane.iteration
  %r = lane.reduce [#vector.kind<add>] %n at %layout iteration %iteration phase 0 : !layout, f32 -> f32
  %own = lane.reduce [#vector.kind<add>] %n at %layout iteration %iteration phase 1 own_columns : !layout, f32 -> f32
  lane.store_scalar %own, %s[%row] at %layout if %in_bounds own_columns : !layout, memref<?xf32>
  %larger = lane.accumulate maximum %x, %x if %in_bounds : vector<8xf32>
  %largest:2 = lane.combine_groups [#vector.kind<maximumf>, #vector.kind<add>] %larger, %x at %layout radix 2 : !layout, vector<8xf32>, vector<8xf32> -> vector<8xf32>, vector<8xf32>
  %of_leaves:2 = lane.add_leaves [#vector.kind<add>, #vector.kind<maximumf>] %x, %x leaf %row at %layout levels 2 : !layout, vector<8xf32>, vector<8xf32> -> vector<8xf32>, vector<8xf32>
  %all = lane.layout : !shared
  %shared:2 = lane.share_sums [#vector.kind<add>, #vector.kind<maximumf>] %x, %x at %layout to %all : !layout, !shared, vector<8xf32>, vector<8xf32> -> vector<1xf32>, vector<1xf32>
  %total:2 = lane.combine_groups [#vector.kind<add>, #vector.kind<add>] %sum, %sum at %layout radix 2 : !layout, vector<8xf32>, vector<8xf32> -> vector<8xf32>, vector<8xf32>
  lane.store_sum %total#0, %h at %layout access 0 accumulate : !layout, vector<8xf32>, memref<1000xf32>
  return
}

// -----

// A workgroup that has some of a row's columns; lanes in numbers; a loop that
// carries nothing, and whose tiles are whole.
// CHECK-LABEL: func.func @tile
// CHECK:         %[[LAYOUT:.*]] = lane.layout from %{{.*}} : !layout
// CHECK:         lane.group %[[LAYOUT]] : !layout
// CHECK:         lane.lane %[[LAYOUT]] : !layout
// CHECK:         lane.for_rows %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} at %[[LAYOUT]] attributes {whole} : !layout {
// CHECK-NEXT:      lane.barrier
// CHECK-NEXT:    }
!layout = !lane.layout<row_length = 1000, lanes = 8, groups = 40, width = 4, columns = 32>
func.func @tile(%first: index, %begin: index, %end: index, %step: index) {
  %layout = lane.layout from %first : !layout
  %group = lane.group %layout : !layout
  %lane = lane.lane %layout : !layout
  lane.for_rows %tile = %begin to %end step %step at %layout attributes {whole} : !layout {
    lane.barrier
  }
  return
}

// -----

// Rows that may not exist, loaded without a branch.
// CHECK-LABEL: func.func @within
// CHECK:         %[[N:.*]] = lane.load_scalar_predicated %{{.*}} from %{{.*}} count %{{.*}} at %{{.*}} : !layout, memref<?xf32>
// CHECK:         lane.load_predicated %{{.*}}, %{{.*}} from %{{.*}} count %{{.*}} at %{{.*}} : !layout, memref<?x1000xf32>, memref<?x1000xi8> -> vector<2x8xf32>, vector<2x8xi8>
// CHECK:         lane.load_predicated %{{.*}} from %{{.*}} count %{{.*}} at %{{.*}} access 1 : !layout, memref<?x1000xf32> -> vector<8xf32>
// CHECK:         lane.broadcast_scalar %[[N]] at %{{.*}} : !layout, f32
!layout = !lane.layout<row_length = 1000, lanes = 64, groups = 8, width = 8>
func.func @within(%tile: index, %count: index, %a: memref<?x1000xf32>, %m: memref<?x1000xi8>, %s: memref<?xf32>) {
  %layout = lane.layout : !layout
  %n = lane.load_scalar_predicated %s from %tile count %count at %layout : !layout, memref<?xf32>
  %x:2 = lane.load_predicated %a, %m from %tile count %count at %layout : !layout, memref<?x1000xf32>, memref<?x1000xi8> -> vector<2x8xf32>, vector<2x8xi8>
  %y = lane.load_predicated %a from %tile count %count at %layout access 1 : !layout, memref<?x1000xf32> -> vector<8xf32>
  %shared = lane.broadcast_scalar %n at %layout : !layout, f32
  return
}

// -----

// What stands for a row that does not exist: a part, an access or a number.
// CHECK-LABEL: func.func @no_row
// CHECK:         lane.undefined_row : vector<2x8xbf16>
// CHECK:         lane.undefined_row : vector<2xi32>
// CHECK:         lane.undefined_row : f32
func.func @no_row() {
  %part = lane.undefined_row : vector<2x8xbf16>
  %packed = lane.undefined_row : vector<2xi32>
  %number = lane.undefined_row : f32
  return
}

// -----

// A sum may be added to below a condition.
// CHECK-LABEL: func.func @conditional
// CHECK:         lane.for_rows {{.*}} sums(%[[A:.*]] = %{{.*}}) attributes {entered}
// CHECK:           %[[C:.*]] = scf.if
// CHECK:           lane.yield %[[C]]
!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>
func.func @conditional(%i: index, %zero: vector<2x2xf32>, %layout: !layout, %in_bounds: i1) {
  %s = lane.for_rows %tile = %i to %i step %i at %layout sums(%a = %zero) attributes {entered} : !layout, vector<2x2xf32> {
    %c = scf.if %in_bounds -> (vector<2x2xf32>) {
      %b = lane.accumulate %a, %zero : vector<2x2xf32>
      scf.yield %b : vector<2x2xf32>
    } else {
      scf.yield %a : vector<2x2xf32>
    }
    lane.yield %c : vector<2x2xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @each
// CHECK:         lane.load_columns %{{.*}} at %{{.*}} each : !layout, memref<128xf32> -> vector<2x2xf32>
!layout = !lane.layout<row_length = 128, lanes = 32, groups = 4, width = 2>
func.func @each(%g: memref<128xf32>, %layout: !layout) {
  %c = lane.load_columns %g at %layout each : !layout, memref<128xf32> -> vector<2x2xf32>
  return
}

// -----

// A workgroup for each tile.
// CHECK-LABEL: func.func @once
// CHECK:         lane.for_rows {{.*}} attributes {once, whole}
!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>
func.func @once(%i: index, %layout: !layout) {
  lane.for_rows %tile = %i to %i step %i at %layout attributes {once, whole} : !layout {
  }
  return
}

// -----

// CHECK-LABEL: func.func @column_index
// CHECK:         lane.column_index %{{.*}} : !layout -> vector<2x2xi32>
// CHECK:         lane.column_index %{{.*}} access 1 divisor 8 modulus 4 : !layout -> vector<2xi32>
!layout = !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>
func.func @column_index(%layout: !layout) {
  %columns = lane.column_index %layout : !layout -> vector<2x2xi32>
  %some = lane.column_index %layout access 1 divisor 8 modulus 4 : !layout -> vector<2xi32>
  return
}

// -----

// CHECK:       #[[MAP:.*]] = affine_map<(d0) -> (d0 floordiv 49)>
// CHECK-LABEL: func.func @view
// CHECK:         lane.view %{{.*}} : memref<8xf32> to memref<392xf32, #[[MAP]]>
// CHECK:         lane.view %{{.*}} from %{{.*}} : memref<8xf32> to memref<?xf32, #{{.*}}>
func.func @view(%m: memref<8xf32>, %first: index) {
  %v = lane.view %m : memref<8xf32> to memref<392xf32, affine_map<(d0) -> (d0 floordiv 49)>>
  %w = lane.view %m from %first : memref<8xf32> to memref<?xf32, affine_map<(d0) -> (d0 mod 8)>>
  return
}

// -----

// Rows of tables, whole and one access.
// CHECK-LABEL: func.func @gather
// CHECK:         lane.gather %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} : !layout, memref<50x1000xbf16>, memref<50x1000xf32> -> vector<2x8xbf16>, vector<2x8xf32>
// CHECK:         lane.gather %{{.*}}[%{{.*}}] at %{{.*}} access 1 : !layout, memref<50x1000xf32> -> vector<8xf32>
!layout = !lane.layout<row_length = 1000, lanes = 64, groups = 8, width = 8>
func.func @gather(%a: memref<50x1000xbf16>, %b: memref<50x1000xf32>, %row: index) {
  %layout = lane.layout : !layout
  %x:2 = lane.gather %a, %b[%row] at %layout : !layout, memref<50x1000xbf16>, memref<50x1000xf32> -> vector<2x8xbf16>, vector<2x8xf32>
  %y = lane.gather %b[%row] at %layout access 1 : !layout, memref<50x1000xf32> -> vector<8xf32>
  return
}

// CHECK-LABEL: func.func @leaves
// CHECK:         lane.add_leaves [#vector.kind<add>] %{{.*}} leaf %{{.*}} at %{{.*}} levels 2 : !{{.*}}, vector<2x8xf32> -> vector<2x8xf32>
// CHECK:         lane.add_leaves [#vector.kind<add>] %{{.*}} leaf %{{.*}} at %{{.*}} levels 2 last : !{{.*}}, vector<2x8xf32> -> vector<2x8xf32>
func.func @leaves(%s: vector<2x8xf32>, %leaf: index, %l: !layout) -> vector<2x8xf32> {
  %a = lane.add_leaves [#vector.kind<add>] %s leaf %leaf at %l levels 2 : !layout, vector<2x8xf32> -> vector<2x8xf32>
  %b = lane.add_leaves [#vector.kind<add>] %a leaf %leaf at %l levels 2 last : !layout, vector<2x8xf32> -> vector<2x8xf32>
  return %b : vector<2x8xf32>
}

// -----

// Fragments of two layouts of the same lanes.
// CHECK-LABEL: func.func @convert_layout
// CHECK-SAME:    %[[FROM:.*]]: !layout, %[[TO:.*]]: !layout1
// CHECK:         lane.convert_layout %{{.*}}, %{{.*}} from %[[FROM]] to %[[TO]] : !layout, !layout1, vector<2x4xf32>, vector<2x4xi8>
func.func @convert_layout(%from: !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4, across = true>,
                          %to: !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4>, %x: vector<2x4xf32>, %y: vector<2x4xi8>) {
  %z:2 = lane.convert_layout %x, %y from %from to %to
      : !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4, across = true>,
        !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4>, vector<2x4xf32>, vector<2x4xi8>
  return
}

// -----

// CHECK-LABEL: func.func @matrices(
// CHECK:         lane.multiply %{{.*}}, %{{.*}}, %{{.*}} : vector<8xbf16>, vector<4xf32>
func.func @matrices(%a: vector<8xbf16>, %b: vector<8xbf16>, %sum: vector<4xf32>) -> vector<4xf32> {
  %next = lane.multiply %a, %b, %sum : vector<8xbf16>, vector<4xf32>
  return %next : vector<4xf32>
}
