// RUN: lnbwd-opt %s -split-input-file -verify-diagnostics --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule

// What the order of sums of a program does not allow.

func.func @reload(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  // expected-error@+1 {{order=canonical: expected reload to be unset: the elements of a row are added by halves, which takes all of them at once; rows of this length have no such schedule if they do not fit the registers}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[m, n] : memref<?x1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1, reload = true>} {
  ^row(%r: vector<1024xf32>):
    %s = vector.reduction <add>, %r : vector<1024xf32> into f32
    %b = vector.broadcast %s : f32 to vector<1024xf32>
    lnbwd.yield %b : vector<1024xf32>
  }
  return
}

// -----

func.func @narrow(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  // expected-error@+1 {{order=canonical: expected vector_width 4, got 2}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[m, n] : memref<?x1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 2, rows_per_workgroup = 1, workgroups_per_compute_unit = 1>} {
  ^row(%r: vector<1024xf32>):
    %s = vector.reduction <add>, %r : vector<1024xf32> into f32
    %b = vector.broadcast %s : f32 to vector<1024xf32>
    lnbwd.yield %b : vector<1024xf32>
  }
  return
}

// -----

func.func @lanes(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  // expected-error@+1 {{order=canonical: expected threads_per_row to be a power of two where a lane has several accesses of a slice, got 96}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[m, n] : memref<?x1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1>} {
  ^row(%r: vector<1024xf32>):
    %s = vector.reduction <add>, %r : vector<1024xf32> into f32
    %b = vector.broadcast %s : f32 to vector<1024xf32>
    lnbwd.yield %b : vector<1024xf32>
  }
  return
}

// -----

func.func @slices(%x: memref<?x8192xbf16>, %y: memref<?xf32>) {
  // expected-error@+1 {{order=canonical: expected threads_per_row to divide the 512 accesses of a slice, got 1024}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8192xbf16>) outs(%y[m] : memref<?xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 1>} {
  ^row(%r: vector<8192xbf16>):
    %wide = arith.extf %r : vector<8192xbf16> to vector<8192xf32>
    %s = vector.reduction <add>, %wide : vector<8192xf32> into f32
    lnbwd.yield %s : f32
  }
  return
}

// -----

func.func @leaf(%x: memref<?x1024xf32>, %y: memref<1024xf32>) {
  // expected-error@+1 {{order=canonical: expected rows_per_workgroup 64 times a power of two for rows of 1024 columns, got 96}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[n] add : memref<1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 4, rows_per_workgroup = 96, workgroups_per_compute_unit = 0>} {
  ^row(%r: vector<1024xf32>):
    lnbwd.yield %r : vector<1024xf32>
  }
  return
}

// -----

func.func @chains(%x: memref<?x1024xf32>, %y: memref<1024xf32>) {
  // expected-error@+1 {{order=canonical: expected row_groups to be a power of two, at most 8 for rows of 1024 columns, got 16}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[n] add : memref<1024xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 4, rows_per_workgroup = 16, workgroups_per_compute_unit = 0>} {
  ^row(%r: vector<1024xf32>):
    lnbwd.yield %r : vector<1024xf32>
  }
  return
}

// -----

func.func @leaves_side_by_side(%x: memref<?x4096xf32>, %y: memref<4096xf32>) {
  // expected-error@+1 {{order=canonical: expected row_groups to be 2 times a power of two where a workgroup has all rows of 4096 columns, got 12}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%y[n] add : memref<4096xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 12, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128>} {
  ^row(%r: vector<4096xf32>):
    lnbwd.yield %r : vector<4096xf32>
  }
  return
}

// -----

func.func @splits(%x: memref<?x8192xf32>, %y: memref<?xf32>) {
  // expected-error@+1 {{expected splits of a row length of 8192 that a workgroup can hold and that all have some of its columns, got row_splits 8; try another number of them}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8192xf32>) outs(%y[m] : memref<?xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1, column_tile = 128, row_splits = 8>} {
  ^row(%r: vector<8192xf32>):
    %s = vector.reduction <add>, %r : vector<8192xf32> into f32
    lnbwd.yield %s : f32
  }
  return
}

// -----

func.func @long(%x: memref<?x1048576xf32>, %y: memref<?x1048576xf32>) {
  // expected-error@+1 {{row length 1048576 does not fit the registers of sm_90 in the canonical order; compile it with order=default}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xf32>) outs(%y[m, n] : memref<?x1048576xf32>)
      attributes {canonical} {
  ^row(%r: vector<1048576xf32>):
    %s = vector.reduction <add>, %r : vector<1048576xf32> into f32
    %b = vector.broadcast %s : f32 to vector<1048576xf32>
    lnbwd.yield %b : vector<1048576xf32>
  }
  return
}

// -----

// The order of sums over all rows would depend on the number of groups.
func.func @f(%x: memref<?x?x64xf32>, %c: memref<64xf32>, %g: memref<?x64xf32>) {
  // expected-error@+1 {{expected no sums over all rows beside groups of rows in the canonical order, got operand1; compute them in a program of their own}}
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x64xf32>)
      outs(%c[n] add : memref<64xf32>, %g[b, n] add : memref<?x64xf32>)
      attributes {canonical} {
  ^row(%r: vector<64xf32>):
    lnbwd.yield %r, %r : vector<64xf32>, vector<64xf32>
  }
  return
}
