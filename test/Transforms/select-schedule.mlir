// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx90a --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx950 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1100 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1201 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_80 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s

// What holds on all chips, however the model is tuned. bf16 rows of a length
// that 8 divides move in 16-byte accesses.
// CHECK-LABEL: func @bf16_4096(
// CHECK:         schedule = #lnbwd.schedule<threads_per_row = {{[0-9]+}}, row_groups = {{[0-9]+}}, vector_width = 8,
func.func @bf16_4096(%x: memref<?x4096xbf16>, %y: memref<?x4096xbf16>, %s: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xbf16>) outs(%y[m, n] : memref<?x4096xbf16>, %s[n] add : memref<4096xf32>) {
  ^bb0(%xr: vector<4096xbf16>):
    %wide = arith.extf %xr : vector<4096xbf16> to vector<4096xf32>
    %sum = vector.reduction <add>, %wide : vector<4096xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<4096xf32>
    %narrow = arith.truncf %spread : vector<4096xf32> to vector<4096xbf16>
    lnbwd.yield %narrow, %wide : vector<4096xbf16>, vector<4096xf32>
  }
  return
}

// -----

// f32 elements are twice as wide.
// CHECK-LABEL: func @f32_4096(
// CHECK:         schedule = #lnbwd.schedule<{{.*}}vector_width = 4,
func.func @f32_4096(%x: memref<?x4096xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%s[m] : memref<?xf32>) {
  ^bb0(%xr: vector<4096xf32>):
    %sum = vector.reduction <add>, %xr : vector<4096xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// A row that fits no registers is read again where there are no column sums.
// CHECK-LABEL: func @reload(
// CHECK:         schedule = #lnbwd.schedule<{{.*}}reload = true>
func.func @reload(%x: memref<?x1048576xf32>, %y: memref<?x1048576xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xf32>) outs(%y[m, n] : memref<?x1048576xf32>) {
  ^bb0(%xr: vector<1048576xf32>):
    %sum = vector.reduction <add>, %xr : vector<1048576xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1048576xf32>
    lnbwd.yield %spread : vector<1048576xf32>
  }
  return
}

// -----

// Without row sums workgroups can share long rows.
// CHECK-LABEL: func @column_sums_only(
// CHECK:         schedule = #lnbwd.schedule<{{.*}}column_tile =
func.func @column_sums_only(%x: memref<?x1048576xf32>, %s: memref<1048576xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xf32>) outs(%s[n] add : memref<1048576xf32>) {
  ^bb0(%xr: vector<1048576xf32>):
    lnbwd.yield %xr : vector<1048576xf32>
  }
  return
}

// -----

// Where there are row outputs as well, a row that a workgroup can take with few
// accesses goes whole: tiles would have few rows each.
// CHECK-LABEL: func @whole_rows(
// CHECK:         schedule = #lnbwd.schedule<threads_per_row = {{[0-9]+}}, row_groups = {{[1-8]}}, vector_width = 8,
// CHECK-NOT:     column_tile
// CHECK-SAME:    prefetch = 1
func.func @whole_rows(%x: memref<?x3072xbf16>, %y: memref<?x3072xbf16>, %s: memref<3072xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x3072xbf16>) outs(%y[m, n] : memref<?x3072xbf16>, %s[n] add : memref<3072xf32>) {
  ^bb0(%xr: vector<3072xbf16>):
    %wide = arith.extf %xr : vector<3072xbf16> to vector<3072xf32>
    lnbwd.yield %xr, %wide : vector<3072xbf16>, vector<3072xf32>
  }
  return
}

// -----

// Longer ones go tile by tile, each with 16 columns of one row for each lane.
// CHECK-LABEL: func @long_rows(
// CHECK:         schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8,
// CHECK-SAME:    rows_per_workgroup = 1, workgroups_per_compute_unit = 0, column_tile = 2048
func.func @long_rows(%x: memref<?x1048576xbf16>, %y: memref<?x1048576xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xbf16>) outs(%y[m, n] : memref<?x1048576xbf16>) {
  ^bb0(%xr: vector<1048576xbf16>):
    lnbwd.yield %xr : vector<1048576xbf16>
  }
  return
}

// -----

// A schedule that is there stays.
// CHECK-LABEL: func @kept(
// CHECK:         schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 2, rows_per_workgroup = 6, workgroups_per_compute_unit = 3>
func.func @kept(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 2,
                                             rows_per_workgroup = 6, workgroups_per_compute_unit = 3>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// An access stays within what lies together, here 196 columns of a channel.
// CHECK-LABEL: func @channels(
// CHECK:         vector_width = 4
func.func @channels(%x: memref<16x64x196xbf16, strided<[12544, 196, 1]>>, %s: memref<64xf32>) {
  lnbwd.rowwise @k domain(c | b, s) ins(%x[b, c, s] : memref<16x64x196xbf16, strided<[12544, 196, 1]>>)
      outs(%s[c] : memref<64xf32>) {
  ^bb0(%xr: vector<3136xbf16>):
    %wide = arith.extf %xr : vector<3136xbf16> to vector<3136xf32>
    %sum = vector.reduction <add>, %wide : vector<3136xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
