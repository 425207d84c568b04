// RUN: lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx942 --split-input-file --verify-diagnostics
// RUN: not lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx000 --split-input-file 2>&1 | FileCheck %s

// What is wrong with a program that neither this pass nor the one behind it can
// distribute is in test/Transforms/distribute-to-gpu-invalid.mlir.
// CHECK: error: unknown chip 'gfx000', expected one of: gfx908

func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%o : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    // expected-error@+1 {{cannot be distributed over lanes: expected an elementwise operation}}
    %e = vector.extract %xr[3] : f32 from vector<256xf32>
    %y = vector.broadcast %e : f32 to vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// A program without a schedule is this pass's to refuse: whose it is depends on
// that.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  // expected-error@+1 {{expected a schedule; run lnbwd-select-schedule before}}
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%o : memref<?x256xf32>) {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}
