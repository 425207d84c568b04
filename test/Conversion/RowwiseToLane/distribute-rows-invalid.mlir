// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file --verify-diagnostics

// One lane's element is not at hand in the others.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    // expected-error@+1 {{cannot be distributed over lanes: expected an elementwise operation, a splat constant, vector.broadcast of a scalar, vector.reduction <add> or <maximumf> into f32 without an accumulator, lnbwd.block_max, lnbwd.gather, lnbwd.gather_sum, or a pure operation on scalars}}
    %e = vector.extract %xr[3] : f32 from vector<256xf32>
    %y = vector.broadcast %e : f32 to vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Sums and the largest element are the only reductions.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    // expected-error@+1 {{'vector.reduction' op cannot be distributed over lanes}}
    %e = vector.reduction <minimumf>, %xr : vector<256xf32> into f32
    %y = vector.broadcast %e : f32 to vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %zero = arith.constant 0.0 : f32
    // expected-error@+1 {{'vector.reduction' op cannot be distributed over lanes}}
    %e = vector.reduction <add>, %xr, %zero : vector<256xf32> into f32
    %y = vector.broadcast %e : f32 to vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// A constant that differs from column to column.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    // expected-error@+1 {{'arith.constant' op cannot be distributed over lanes}}
    %c = arith.constant dense<[0.0, 1.0]> : vector<2xf32>
    %y = arith.addf %xr, %xr : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Control flow.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %true = arith.constant true
    // expected-error@+1 {{cannot be distributed over lanes}}
    %y = scf.if %true -> vector<256xf32> {
    scf.yield %xr : vector<256xf32>
    } else {
    scf.yield %xr : vector<256xf32>
    }
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Effects.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    // expected-error@+1 {{'vector.print' op cannot be distributed over lanes}}
    vector.print %xr : vector<256xf32>
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// A schedule that the chip cannot run.
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  // expected-error@+1 {{expected at most 1024 threads in a workgroup on gfx942}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 2048, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

func.func @no_schedule(%x: memref<?x256xf32>) {
  // expected-error@+1 {{expected a schedule; run lnbwd-select-schedule before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%x[m, n] : memref<?x256xf32>) {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

func.func @tensors(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // expected-error@+1 {{expected memrefs; run bufferization before}}
  %0 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x256xf32>) outs(%x[m, n] : tensor<?x256xf32>) -> tensor<?x256xf32> {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return %0 : tensor<?x256xf32>
}

// -----

// Two workgroups cannot write one sum.
func.func @no_partial_sums(%x: memref<?x256xf32>, %s: memref<256xf32>) {
  // expected-error@+1 {{expected partial column sums, or one workgroup for all rows; run lnbwd-finalize-column-sums before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%s[n] add : memref<256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

func.func @in_a_branch(%x: memref<?x256xf32>, %c: i1) {
  scf.if %c {
    // expected-error@+1 {{expected to be at the top level of its function: a launch plan has no loops or branches}}
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%x[m, n] : memref<?x256xf32>)
        attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
    ^bb0(%xr: vector<256xf32>):
      lnbwd.yield %xr : vector<256xf32>
    }
  }
  return
}

// -----

memref.global @table : memref<4x256xf32>
func.func @neither_argument_nor_allocation(%x: memref<4x256xf32>) {
  %g = memref.get_global @table : memref<4x256xf32>
  // expected-error@+1 {{expected operand 1 (y) to be an argument of the function or a memref.alloc in it: a launch plan has no other buffers}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<4x256xf32>) outs(%g[m, n] : memref<4x256xf32>)
      attributes {operand_names = ["x", "y"], schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// A kernel that waits for no other one would read what is yet to be written.
func.func @independent(%x: memref<?x256xf32>, %y: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @first domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%y[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  // expected-error@+1 {{expected an independent program to read nothing that 'first' before it writes, got operand 1 (y); leave 'independent' out}}
  lnbwd.rowwise @second domain(m | n) ins(%x[m, n] : memref<?x256xf32>, %y[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {independent, operand_names = ["x", "y", "o"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>, %yr: vector<256xf32>):
    %s = arith.addf %xr, %yr : vector<256xf32>
    lnbwd.yield %s : vector<256xf32>
  }
  return
}
