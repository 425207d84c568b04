// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-row-sums --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-row-sums --split-input-file | lnbwd-opt --lnbwd-set-chip=chip=gfx942 --lnbwd-split-row-sums --split-input-file | FileCheck %s

// The sums come first, in parts, with the inputs that they need; what is left
// reads the parts and keeps the other fields, column sums and fixed workgroups.
// CHECK-LABEL: func @sums(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x8192xbf16>, %[[G:[a-z0-9_]+]]: memref<8192xbf16>,
// CHECK:         %[[M:.*]] = memref.dim %[[X]], %{{.*}}
// CHECK:         %[[P:.*]] = memref.alloc(%[[M]]) {lnbwd.row_scalar = 4 : i64} : memref<?x4xf32>
// CHECK:         lnbwd.rowwise @k_row_sums domain(m | n) ins(%[[X]][m, n] : memref<?x8192xbf16>) outs(%[[P]][m, *] : memref<?x4xf32>)
// CHECK-SAME:      operand_names = ["x", "row_sum_0"]
// CHECK-SAME:      #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, column_tile = 2048, late_columns = true>
// CHECK:           %[[S:.*]] = vector.reduction <add>
// CHECK:           lnbwd.yield %[[S]] : f32
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[X]][m, n] : memref<?x8192xbf16>, %[[G]][n] : memref<8192xbf16>, %[[P]][m, *] : memref<?x4xf32>) outs(
// CHECK-SAME:      fixed_workgroups = 7 : i64, operand_names = ["x", "g", "row_sum_0", "y", "s"]
// CHECK-SAME:      #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 1, column_tile = 512>
// CHECK-NEXT:    ^bb0(%{{.*}}: vector<8192xbf16>, %{{.*}}: vector<8192xbf16>, %[[SUM:.*]]: f32):
// CHECK-NOT:       vector.reduction
// CHECK:           vector.broadcast %[[SUM]]
// CHECK:         memref.dealloc %[[P]]
func.func @sums(%x: memref<?x8192xbf16>, %g: memref<8192xbf16>, %y: memref<?x8192xbf16>, %s: memref<8192xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8192xbf16>, %g[n] : memref<8192xbf16>)
      outs(%y[m, n] : memref<?x8192xbf16>, %s[n] add : memref<8192xf32>)
      attributes {fixed_workgroups = 7 : i64, operand_names = ["x", "g", "y", "s"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 0,
                                             workgroups_per_compute_unit = 1, column_tile = 512, row_splits = 4>} {
  ^bb0(%xr: vector<8192xbf16>, %gr: vector<8192xbf16>):
    %wide = arith.extf %xr : vector<8192xbf16> to vector<8192xf32>
    %sum = vector.reduction <add>, %wide : vector<8192xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<8192xf32>
    %rest = arith.subf %wide, %spread : vector<8192xf32>
    %narrow = arith.truncf %rest : vector<8192xf32> to vector<8192xbf16>
    %scaled = arith.mulf %narrow, %gr : vector<8192xbf16>
    lnbwd.yield %scaled, %rest : vector<8192xbf16>, vector<8192xf32>
  }
  return
}

// -----

// A sum that needs another has a program after that one's, which reads its
// parts; rows may have several leading dimensions.
// CHECK-LABEL: func @two_phases(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x3x2048xf32>
// CHECK:         %[[A:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 2 : i64} : memref<?x3x2xf32>
// CHECK:         lnbwd.rowwise @k_row_sums {{.*}} ins(%[[X]][{{.*}}) outs(%[[A]][m0, m1, *]
// CHECK:         %[[B:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 2 : i64} : memref<?x3x2xf32>
// CHECK:         lnbwd.rowwise @k_row_sums_1 {{.*}} ins(%[[X]][{{.*}}, %[[A]][m0, m1, *]{{.*}}) outs(%[[B]][m0, m1, *]
// CHECK:           vector.reduction <add>
// CHECK-NOT:       vector.reduction
// CHECK:         lnbwd.rowwise @k {{.*}} ins(%[[X]][{{.*}}, %[[A]][m0, m1, *]{{.*}}, %[[B]][m0, m1, *]{{.*}} outs(
// CHECK-NOT:       vector.reduction
// CHECK:         memref.dealloc %[[A]]
// CHECK:         memref.dealloc %[[B]]
func.func @two_phases(%x: memref<?x3x2048xf32>, %y: memref<?x3x2048xf32>, %t: memref<?x3xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x3x2048xf32>) outs(%y[m0, m1, n] : memref<?x3x2048xf32>, %t[m0, m1] : memref<?x3xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 2>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    %apart = arith.subf %xr, %spread : vector<2048xf32>
    %squares = arith.mulf %apart, %apart : vector<2048xf32>
    %both = vector.reduction <add>, %squares : vector<2048xf32> into f32
    %again = vector.broadcast %both : f32 to vector<2048xf32>
    %result = arith.mulf %apart, %again : vector<2048xf32>
    lnbwd.yield %result, %both : vector<2048xf32>, f32
  }
  return
}

// -----

// The program that reads the sums is not independent of the one before it,
// which writes them; the sums are, of the program before them.
// CHECK-LABEL: func @independent(
// CHECK:         lnbwd.rowwise @k_row_sums {{.*}} attributes {{{.*}}independent
// CHECK:         lnbwd.rowwise @k domain
// CHECK-NOT:       independent
// CHECK:         memref.dealloc
func.func @independent(%x: memref<?x2048xf32>, %y: memref<?x2048xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%y[m, n] : memref<?x2048xf32>)
      attributes {independent,
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 2>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    %rest = arith.subf %xr, %spread : vector<2048xf32>
    lnbwd.yield %rest : vector<2048xf32>
  }
  return
}
