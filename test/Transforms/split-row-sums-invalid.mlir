// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-row-sums --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<?x2048xf32>, %y: tensor<?x2048xf32>) -> tensor<?x2048xf32> {
  // expected-error@+1 {{expected memrefs; run bufferization before}}
  %0 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x2048xf32>) outs(%y[m, n] : tensor<?x2048xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 2>}
      -> tensor<?x2048xf32> {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    lnbwd.yield %spread : vector<2048xf32>
  }
  return %0 : tensor<?x2048xf32>
}

// -----

func.func @no_sums(%x: memref<?x2048xf32>) {
  // expected-error@+1 {{expected row_splits 0: the program has no row sums that could be computed before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%x[m, n] : memref<?x2048xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 2>} {
  ^bb0(%xr: vector<2048xf32>):
    lnbwd.yield %xr : vector<2048xf32>
  }
  return
}

// -----

func.func @maximum(%x: memref<?x2048xf32>) {
  // expected-error@+1 {{expected row_splits 0: the program takes a row's largest element, and only sums can be split}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%x[m, n] : memref<?x2048xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 2>} {
  ^bb0(%xr: vector<2048xf32>):
    %most = vector.reduction <maximumf>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %most : f32 to vector<2048xf32>
    lnbwd.yield %spread : vector<2048xf32>
  }
  return
}

// -----

func.func @own_rows(%x: memref<16x2048xf32>) {
  // expected-error@+1 {{expected row_splits 0 for a program whose rows no launch chooses}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<16x2048xf32>) outs(%x[m, n] : memref<16x2048xf32>)
      attributes {own_rows,
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 1, column_tile = 256, row_splits = 2>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    lnbwd.yield %spread : vector<2048xf32>
  }
  return
}

// -----

func.func @many(%x: memref<?x2048xf32>) {
  // expected-error@+1 {{expected row_splits of at most 64, got 65}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%x[m, n] : memref<?x2048xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 65>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    lnbwd.yield %spread : vector<2048xf32>
  }
  return
}

// -----

// Slices are whole waves of accesses: 9 splits of 256 columns are more than the
// row has.
func.func @narrow(%x: memref<?x2048xf32>) {
  // expected-error@+1 {{expected splits of a row length of 2048 that a workgroup can hold and that all have some of its columns, got row_splits 9; try another number of them}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%x[m, n] : memref<?x2048xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, row_splits = 9>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    lnbwd.yield %spread : vector<2048xf32>
  }
  return
}

// -----

// A program of split sums has as many tiles.
func.func @tiles(%x: memref<?x2048xf32>, %s: memref<?x4xf32>) {
  // expected-error@+1 {{expected row_splits 0: the program has no row sums that could be computed before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%s[m, *] : memref<?x4xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 512, row_splits = 4>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
