// RUN: lnbwd-opt %s --split-input-file | lnbwd-opt --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --split-input-file --mlir-print-op-generic | lnbwd-opt --split-input-file | FileCheck %s

// A loop over rows with a column sum, a row sum and a row scalar.
// CHECK-LABEL: func.func @row_loop
// CHECK:         %[[PLACE:.*]] = lane.place : !place
// CHECK:         lane.prefetch_rows %{{.*}}, %{{.*}} from %{{.*}} below %{{.*}} at %[[PLACE]] : !place, memref<?x1000xbf16>, memref<?x1000xf32>
// CHECK:         lane.await_previous_kernel
// CHECK:         %[[GAMMA:.*]] = lane.load_columns %{{.*}} at %[[PLACE]] : !place, memref<1000xbf16> -> vector<2x8xbf16>
// CHECK:         %[[FIRST:.*]] = lane.first_turn : !lane.turn
// CHECK:         %[[RESULTS:.*]]:2 = lane.for_rows %[[SET:.*]] = %{{.*}} to %{{.*}} step %{{.*}} at %[[PLACE]] for %{{.*}} of %{{.*}} sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[TURN:.*]] = %[[FIRST]]) attributes {sum_block = 8 : i64} : !place, vector<2x8xf32>, !lane.turn {
// CHECK:           %[[ROW:.*]] = lane.row %[[SET]] at %[[PLACE]] : !place
// CHECK:           %[[X:.*]]:2 = lane.load %{{.*}}, %{{.*}}[%[[ROW]]] at %[[PLACE]] : !place, memref<?x1000xbf16>, memref<?x1000xf32> -> vector<2x8xbf16>, vector<2x8xf32>
// CHECK:           %[[RSTD:.*]] = lane.load_scalar %{{.*}}[%[[ROW]]] : memref<?xf32>
// CHECK:           %[[SHARES:.*]]:2 = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %[[X]]#1, %[[X]]#1 at %[[PLACE]] : !place, vector<2x8xf32>, vector<2x8xf32> -> vector<8xf32>, vector<8xf32>
// CHECK:           %[[ADDED:.*]] = lane.accumulate %[[SUM]], %[[X]]#1 : vector<2x8xf32>
// CHECK:           lane.store %[[X]]#0, %{{.*}}[%[[ROW]]] at %[[PLACE]] : !place, vector<2x8xbf16>, memref<?x1000xbf16>
// CHECK:           %[[SUMS:.*]]:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %[[SHARES]]#0, %[[SHARES]]#1 at %[[PLACE]] turn %[[TURN]] phase 0 : !place, vector<8xf32>, vector<8xf32> -> f32, f32
// CHECK:           lane.store_scalar %[[SUMS]]#0, %{{.*}}[%[[ROW]]] at %[[PLACE]] : !place, memref<?xf32>
// CHECK:           %[[NEXT:.*]] = lane.next_turn %[[TURN]] : !lane.turn
// CHECK:           lane.yield %[[ADDED]], %[[NEXT]] : vector<2x8xf32>, !lane.turn
// CHECK:         lane.allow_next_kernel
// CHECK:         %[[TOTAL:.*]] = lane.combine_groups %[[RESULTS]]#0 at %[[PLACE]] radix 8 : !place, vector<2x8xf32> -> vector<2x8xf32>
// CHECK:         lane.store_sum %[[TOTAL]], %{{.*}}[%{{.*}}] at %[[PLACE]] : !place, vector<2x8xf32>, memref<?x1000xf32>
// CHECK:         lane.discard %{{.*}}, %{{.*}} rows %{{.*}} at %[[PLACE]] : !place, memref<?x1000xf32>, memref<?x1000xbf16>
!place = !lane.place<row_length = 1000, lanes = 64, groups = 8, width = 8>
func.func @row_loop(%begin: index, %rows: index, %step: index, %w: index, %ws: index, %g: memref<1000xbf16>, %a: memref<?x1000xbf16>,
                    %b: memref<?x1000xf32>, %s: memref<?xf32>, %o: memref<?x1000xbf16>, %p: memref<?x1000xf32>) {
  %place = lane.place : !place
  lane.prefetch_rows %a, %b from %begin below %rows at %place : !place, memref<?x1000xbf16>, memref<?x1000xf32>
  lane.await_previous_kernel
  %gamma = lane.load_columns %g at %place : !place, memref<1000xbf16> -> vector<2x8xbf16>
  %zero = arith.constant dense<0.0> : vector<2x8xf32>
  %first = lane.first_turn : !lane.turn
  %sum, %last = lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws
      sums(%partial = %zero) carrying(%turn = %first) attributes {sum_block = 8 : i64} : !place, vector<2x8xf32>, !lane.turn {
    %row = lane.row %set at %place : !place
    %x:2 = lane.load %a, %b[%row] at %place : !place, memref<?x1000xbf16>, memref<?x1000xf32> -> vector<2x8xbf16>, vector<2x8xf32>
    %rstd = lane.load_scalar %s[%row] : memref<?xf32>
    %shares:2 = lane.fold [#vector.kind<add>, #vector.kind<maximumf>] %x#1, %x#1 at %place
        : !place, vector<2x8xf32>, vector<2x8xf32> -> vector<8xf32>, vector<8xf32>
    %added = lane.accumulate %partial, %x#1 : vector<2x8xf32>
    lane.store %x#0, %o[%row] at %place : !place, vector<2x8xbf16>, memref<?x1000xbf16>
    %sums:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %shares#0, %shares#1 at %place turn %turn phase 0
        : !place, vector<8xf32>, vector<8xf32> -> f32, f32
    lane.store_scalar %sums#0, %s[%row] at %place : !place, memref<?xf32>
    %next = lane.next_turn %turn : !lane.turn
    lane.yield %added, %next : vector<2x8xf32>, !lane.turn
  }
  lane.allow_next_kernel
  %total = lane.combine_groups %sum at %place radix 8 : !place, vector<2x8xf32> -> vector<2x8xf32>
  lane.store_sum %total, %p[%w] at %place : !place, vector<2x8xf32>, memref<?x1000xf32>
  lane.discard %b, %a rows %rows at %place : !place, memref<?x1000xf32>, memref<?x1000xbf16>
  return
}

// -----

// The same when parts are split and rows may not exist.
// CHECK-LABEL: func.func @split
// CHECK:         lane.load_columns %{{.*}}, %{{.*}} at %{{.*}} : !place, memref<1000xbf16>, memref<1000xf32> -> vector<8xbf16>, vector<8xbf16>, vector<8xf32>, vector<8xf32>
// CHECK:         lane.load %{{.*}}[%{{.*}}] at %{{.*}} access 1 : !place, memref<?x1000xf32> -> vector<8xf32>
// CHECK:         lane.exists %{{.*}} access 1 : !place
// CHECK:         lane.accumulate %{{.*}}, %{{.*}} if %{{.*}} : vector<8xf32>
// CHECK:         lane.store %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} access 1 if %{{.*}} : !place, vector<8xf32>, memref<?x1000xf32>
// CHECK:         lane.store_scalar %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} if %{{.*}} : !place, memref<?xf32>
// CHECK:         lane.reduce [#vector.kind<add>] %{{.*}} at %{{.*}} turn %{{.*}} phase 0 : !place, f32 -> f32
// CHECK:         lane.reduce [#vector.kind<add>] %{{.*}} at %{{.*}} turn %{{.*}} phase 1 own_columns : !place, f32 -> f32
// CHECK:         lane.store_scalar %{{.*}}, %{{.*}}[%{{.*}}] at %{{.*}} if %{{.*}} own_columns : !place, memref<?xf32>
// CHECK:         lane.combine_groups %{{.*}}, %{{.*}} at %{{.*}} radix 2 : !place, vector<8xf32>, vector<8xf32> -> vector<8xf32>, vector<8xf32>
// CHECK:         lane.store_sum %{{.*}}, %{{.*}} at %{{.*}} access 0 accumulate : !place, vector<8xf32>, memref<1000xf32>
!place = !lane.place<row_length = 1000, lanes = 64, groups = 8, width = 8>
func.func @split(%row: index, %exists: i1, %g: memref<1000xbf16>, %h: memref<1000xf32>, %a: memref<?x1000xf32>, %s: memref<?xf32>, %n: f32) {
  %place = lane.place : !place
  %c:4 = lane.load_columns %g, %h at %place : !place, memref<1000xbf16>, memref<1000xf32>
      -> vector<8xbf16>, vector<8xbf16>, vector<8xf32>, vector<8xf32>
  %x = lane.load %a[%row] at %place access 1 : !place, memref<?x1000xf32> -> vector<8xf32>
  %columns = lane.exists %place access 1 : !place
  %sum = lane.accumulate %x, %x if %exists : vector<8xf32>
  lane.store %sum, %a[%row] at %place access 1 if %exists : !place, vector<8xf32>, memref<?x1000xf32>
  lane.store_scalar %n, %s[%row] at %place if %exists : !place, memref<?xf32>
  %turn = lane.first_turn : !lane.turn
  %r = lane.reduce [#vector.kind<add>] %n at %place turn %turn phase 0 : !place, f32 -> f32
  %own = lane.reduce [#vector.kind<add>] %n at %place turn %turn phase 1 own_columns : !place, f32 -> f32
  lane.store_scalar %own, %s[%row] at %place if %exists own_columns : !place, memref<?xf32>
  %total:2 = lane.combine_groups %sum, %sum at %place radix 2 : !place, vector<8xf32>, vector<8xf32> -> vector<8xf32>, vector<8xf32>
  lane.store_sum %total#0, %h at %place access 0 accumulate : !place, vector<8xf32>, memref<1000xf32>
  return
}

// -----

// A workgroup that has some of a row's columns; lanes in numbers; a loop that
// carries nothing, and whose sets are whole.
// CHECK-LABEL: func.func @tile
// CHECK:         %[[PLACE:.*]] = lane.place from %{{.*}} : !place
// CHECK:         lane.group %[[PLACE]] : !place
// CHECK:         lane.lane %[[PLACE]] : !place
// CHECK:         lane.for_rows %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} at %[[PLACE]] attributes {lane.part = #lane.part<row>, whole} : !place {
// CHECK-NEXT:      lane.barrier
// CHECK-NEXT:    }
!place = !lane.place<row_length = 1000, lanes = 8, groups = 40, width = 4, columns = 32>
func.func @tile(%first: index, %begin: index, %end: index, %step: index) {
  %place = lane.place from %first : !place
  %group = lane.group %place : !place
  %lane = lane.lane %place : !place
  lane.for_rows %set = %begin to %end step %step at %place attributes {lane.part = #lane.part<row>, whole} : !place {
    lane.barrier
  }
  return
}

// -----

// Rows that may not exist, loaded without a branch.
// CHECK-LABEL: func.func @within
// CHECK:         %[[N:.*]] = lane.load_scalar_within %{{.*}} from %{{.*}} count %{{.*}} at %{{.*}} : !place, memref<?xf32>
// CHECK:         lane.keep_order
// CHECK:         lane.load_within %{{.*}}, %{{.*}} from %{{.*}} count %{{.*}} at %{{.*}} : !place, memref<?x1000xf32>, memref<?x1000xi8> -> vector<2x8xf32>, vector<2x8xi8>
// CHECK:         lane.load_within %{{.*}} from %{{.*}} count %{{.*}} at %{{.*}} access 1 : !place, memref<?x1000xf32> -> vector<8xf32>
// CHECK:         lane.share_scalar %[[N]] at %{{.*}} : !place, f32
!place = !lane.place<row_length = 1000, lanes = 64, groups = 8, width = 8>
func.func @within(%set: index, %count: index, %a: memref<?x1000xf32>, %m: memref<?x1000xi8>, %s: memref<?xf32>) {
  %place = lane.place : !place
  %n = lane.load_scalar_within %s from %set count %count at %place : !place, memref<?xf32>
  lane.keep_order
  %x:2 = lane.load_within %a, %m from %set count %count at %place : !place, memref<?x1000xf32>, memref<?x1000xi8> -> vector<2x8xf32>, vector<2x8xi8>
  %y = lane.load_within %a from %set count %count at %place access 1 : !place, memref<?x1000xf32> -> vector<8xf32>
  %shared = lane.share_scalar %n at %place : !place, f32
  return
}

// -----

// What stands for a row that does not exist: a part, an access or a number.
// CHECK-LABEL: func.func @no_row
// CHECK:         lane.no_row : vector<2x8xbf16>
// CHECK:         lane.no_row : vector<2xi32>
// CHECK:         lane.no_row : f32
func.func @no_row() {
  %part = lane.no_row : vector<2x8xbf16>
  %packed = lane.no_row : vector<2xi32>
  %number = lane.no_row : f32
  return
}

// -----

// A sum may be added to below a condition.
// CHECK-LABEL: func.func @conditional
// CHECK:         lane.for_rows {{.*}} sums(%[[A:.*]] = %{{.*}}) attributes {entered}
// CHECK:           %[[C:.*]] = scf.if
// CHECK:           lane.yield %[[C]]
!place = !lane.place<row_length = 128, lanes = 32, groups = 1, width = 2>
func.func @conditional(%i: index, %zero: vector<2x2xf32>, %place: !place, %exists: i1) {
  %s = lane.for_rows %set = %i to %i step %i at %place sums(%a = %zero) attributes {entered} : !place, vector<2x2xf32> {
    %c = scf.if %exists -> (vector<2x2xf32>) {
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
// CHECK:         lane.load_columns %{{.*}} at %{{.*}} each : !place, memref<128xf32> -> vector<2x2xf32>
!place = !lane.place<row_length = 128, lanes = 32, groups = 4, width = 2>
func.func @each(%g: memref<128xf32>, %place: !place) {
  %c = lane.load_columns %g at %place each : !place, memref<128xf32> -> vector<2x2xf32>
  return
}

// -----

// Parts of a kernel: a kind, and what else is different from what is around.
// CHECK-LABEL: func.func @parts
// CHECK:         arith.constant {lane.part = #lane.part<tail>}
// CHECK:         arith.constant {lane.part = #lane.part<scalars>}
// CHECK:         arith.constant {lane.part = #lane.part<next_load, reload, scalars, groups = 4>}
func.func @parts() {
  %a = arith.constant {lane.part = #lane.part<tail>} 0 : index
  %b = arith.constant {lane.part = #lane.part<scalars>} 1 : index
  %c = arith.constant {lane.part = #lane.part<groups = 4, scalars, reload, next_load>} 2 : index
  return
}

// -----

// A workgroup for each set.
// CHECK-LABEL: func.func @once
// CHECK:         lane.for_rows {{.*}} attributes {once, whole}
!place = !lane.place<row_length = 128, lanes = 32, groups = 1, width = 2>
func.func @once(%i: index, %place: !place) {
  lane.for_rows %set = %i to %i step %i at %place attributes {once, whole} : !place {
  }
  return
}
