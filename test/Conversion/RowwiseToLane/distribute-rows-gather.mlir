// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize --cse | FileCheck %s

// A row of the table, whatever the index is; before the row sum's terms.
// CHECK-LABEL: gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, {{[^>]*>}}>, %{{[a-z0-9_]+}}: memref<1xi64, {{[^>]*>}}> {{.*}}, %[[T:[a-z0-9_]+]]: memref<100x512xbf16, {{[^>]*>}}> {llvm.noalias, llvm.readonly},
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 99 : i64
// CHECK:         lane.for_rows
// CHECK:           lane.load %
// CHECK:           %[[I:.*]] = lane.load_scalar
// CHECK:           %[[IN:.*]] = arith.minui %[[I]], %[[LAST]] : i64
// CHECK:           %[[ROW:.*]] = arith.index_castui %[[IN]] : i64 to index
// CHECK:           lane.gather %[[T]][%[[ROW]]] at %{{.*}} -> vector<2x4xbf16>
// CHECK:           lane.fold
// CHECK:       func.func @f(
// CHECK-SAME:    memref<100x512xbf16> {{{.*}}kind = "column", access = "read"
func.func @f(%x: memref<?x512xf32>, %i: memref<?xi64>, %t: memref<100x512xbf16>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %i[m] : memref<?xi64>, %t[*, n] : memref<100x512xbf16>)
      outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<512xf32>, %ir: i64, %tr: vector<100x512xbf16>):
    %s = vector.reduction <add>, %xr : vector<512xf32> into f32
    %ss = vector.broadcast %s : f32 to vector<512xf32>
    %r = lnbwd.gather %tr[%ir] : vector<100x512xbf16>, i64
    %w = arith.extf %r : vector<512xbf16> to vector<512xf32>
    %h = arith.addf %w, %ss : vector<512xf32>
    lnbwd.yield %h : vector<512xf32>
  }
  return
}

// An element for each index of a lane's fragment.
// CHECK-LABEL: gpu.func @elements(
// CHECK:         %[[IN:.*]] = arith.minui %{{.*}}, %{{.*}} : vector<2x4xi32>
// CHECK:         lane.load_elements %{{.*}}[%[[IN]]] : memref<100xbf16, {{.*}}>, vector<2x4xi32> -> vector<2x4xbf16>
func.func @g(%i: memref<?x512xi32>, %t: memref<100xbf16>, %y: memref<?x512xbf16>) {
  lnbwd.rowwise @elements domain(m | n) ins(%i[m, n] : memref<?x512xi32>, %t[*] : memref<100xbf16>)
      outs(%y[m, n] : memref<?x512xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%ir: vector<512xi32>, %tr: vector<100xbf16>):
    %r = lnbwd.gather %tr[%ir] : vector<100xbf16>, vector<512xi32>
    lnbwd.yield %r : vector<512xbf16>
  }
  return
}

// Four rows of a sum at a time, then each of the rest; none beyond the list.
// CHECK-LABEL: gpu.func @sum(
// CHECK-SAME:    %[[T:[a-z0-9_]+]]: memref<100x512xbf16, {{[^>]*>}}> {{.*}}, %[[L:[a-z0-9_]+]]: memref<30xi32
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 99 : index
// CHECK-DAG:     %[[SIZE:.*]] = arith.constant 30 : index
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<2x4xf32>
// CHECK:         %[[END:.*]] = arith.minui %{{.*}}, %[[SIZE]] : index
// CHECK:         %[[BEGIN:.*]] = arith.minui %{{.*}}, %[[END]] : index
// CHECK:         %[[WHOLE:.*]] = scf.for %[[K:.*]] = %[[BEGIN]] to %{{.*}} step %c4 iter_args(%[[S:.*]] = %[[ZERO]]) -> (vector<2x4xf32>) {
// CHECK:           %[[I:.*]] = memref.load %[[L]][%[[K]]]
// CHECK:           %[[ROW:.*]] = arith.minui %{{.*}}, %[[LAST]] : index
// CHECK-COUNT-4:   lane.gather %[[T]][%{{.*}}] at %{{.*}} -> vector<2x4xbf16>
// CHECK:           arith.addf %[[S]], %{{.*}} : vector<2x4xf32>
// CHECK-COUNT-3:   arith.addf
// CHECK:         scf.for %{{.*}} to %[[END]] step %c1 iter_args(%{{.*}} = %[[WHOLE]])
func.func @h(%b: memref<?xi32>, %e: memref<?xi32>, %t: memref<100x512xbf16>, %l: memref<30xi32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @sum domain(m | n) ins(%b[m] : memref<?xi32>, %e[m] : memref<?xi32>, %t[*, n] : memref<100x512xbf16>, %l[*] : memref<30xi32>)
      outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%br: i32, %er: i32, %tr: vector<100x512xbf16>, %lr: vector<30xi32>):
    %r = lnbwd.gather_sum %tr[%br to %er] of %lr : vector<100x512xbf16>, i32, vector<30xi32>
    lnbwd.yield %r : vector<512xf32>
  }
  return
}
