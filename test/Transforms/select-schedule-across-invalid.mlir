// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=lanes_across=1,threads_per_row=4,row_groups=16,vector_width=1,workgroups_per_row=8,stages=0 --verify-diagnostics --split-input-file

func.func @few_lanes(%x: memref<1568x768xf32>, %s: memref<768xf32>) {
  // expected-error@+1 {{expected at least as many lanes of a row as workgroups where lanes_across is set: a lane sends to each of 8, got 4; raise threads_per_row}}
  lnbwd.rowwise @k domain(c | m) ins(%x[m, c] : memref<1568x768xf32>) outs(%s[c] : memref<768xf32>) {
  ^bb0(%xr: vector<1568xf32>):
    %sum = vector.reduction <add>, %xr : vector<1568xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

func.func @together(%x: memref<?x1568xf32>, %s: memref<?xf32>) {
  // expected-error@+1 {{expected lanes_across to be unset: most rows of the program do not have their neighbours' elements beside theirs in memory, or block maxima or sums in the canonical order take lanes along the row}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1568xf32>) outs(%s[m] : memref<?xf32>) {
  ^bb0(%xr: vector<1568xf32>):
    %sum = vector.reduction <add>, %xr : vector<1568xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
