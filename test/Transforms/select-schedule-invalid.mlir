// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file --verify-diagnostics

// Every limit that a schedule can exceed, by its message.

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{expected threads_per_row to be a power of two up to the wave size of gfx942, 64, or a multiple of it, got 48}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 48, row_groups = 4, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{or a multiple of it, got 96}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 4, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{expected at most 1024 threads in a workgroup on gfx942, got threads_per_row * row_groups = 2048; lower one of them}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 32, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Columns stay with a lane: rows that have them are not aligned.
func.func @f(%x: memref<?x511xf32>, %g: memref<511xf32>, %y: memref<?x511xf32>) {
  // expected-error@+1 {{expected vector_width to divide the row length, 511, got 2}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x511xf32>, %g[n] : memref<511xf32>) outs(%y[m, n] : memref<?x511xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 2, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<511xf32>, %gr: vector<511xf32>):
    %p = arith.mulf %xr, %gr : vector<511xf32>
    lnbwd.yield %p : vector<511xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{expected accesses of at most 16 bytes, got vector_width 8 of 32-bit elements: 32 bytes}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xbf16>, %y: memref<?x512xbf16>) {
  // expected-error@+1 {{expected accesses of at most 16 bytes, got vector_width 16 of 16-bit elements: 32 bytes}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>) outs(%y[m, n] : memref<?x512xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 16, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xbf16>):
    lnbwd.yield %xr : vector<512xbf16>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{expected rows_per_workgroup to be 0 or at least row_groups, 4, got 3}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 3, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{expected column_tile 0: a row sum needs the whole row in one workgroup; set row_splits to have row sums computed before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, column_tile = 256>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    lnbwd.yield %spread : vector<512xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %t: memref<?xf32>) {
  // expected-error@+1 {{expected column_tile 0: a row sum needs the whole row in one workgroup; set row_splits to have row sums computed before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%t[m] : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, column_tile = 256>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s0: memref<512xf32>) {
  // expected-error@+1 {{expected reload to be unset: column sums and column tiles need their columns to stay with a lane; split the program into two passes to reload}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>, %s0[n] add : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, reload = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Registers.
func.func @f(%x: memref<?x65536xf32>, %y: memref<?x65536xf32>) {
  // expected-error@+1 {{row length 65536 is too large for this schedule: it needs at least}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x65536xf32>) outs(%y[m, n] : memref<?x65536xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<65536xf32>):
    %sum = vector.reduction <add>, %xr : vector<65536xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<65536xf32>
    lnbwd.yield %spread : vector<65536xf32>
  }
  return
}

// -----

func.func @f(%x: memref<?x65536xf32>, %y: memref<?x65536xf32>, %s0: memref<65536xf32>, %s1: memref<65536xf32>) {
  // expected-error@+1 {{raise threads_per_row, or split the program into two passes}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x65536xf32>) outs(%y[m, n] : memref<?x65536xf32>, %s0[n] add : memref<65536xf32>, %s1[n] add : memref<65536xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<65536xf32>):
    %sum = vector.reduction <add>, %xr : vector<65536xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<65536xf32>
    lnbwd.yield %spread, %xr, %xr : vector<65536xf32>, vector<65536xf32>, vector<65536xf32>
  }
  return
}

// -----

// Shared memory, by which the row groups add up their column sums.
func.func @f(%x: memref<?x32xf32>, %y: memref<?x32xf32>, %s0: memref<32xf32>, %s1: memref<32xf32>, %s2: memref<32xf32>, %s3: memref<32xf32>, %s4: memref<32xf32>, %s5: memref<32xf32>, %s6: memref<32xf32>, %s7: memref<32xf32>, %s8: memref<32xf32>) {
  // expected-error@+1 {{bytes of shared memory, and gfx942 has 65536 for a workgroup; lower row_groups}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x32xf32>) outs(%y[m, n] : memref<?x32xf32>, %s0[n] add : memref<32xf32>, %s1[n] add : memref<32xf32>, %s2[n] add : memref<32xf32>, %s3[n] add : memref<32xf32>, %s4[n] add : memref<32xf32>, %s5[n] add : memref<32xf32>, %s6[n] add : memref<32xf32>, %s7[n] add : memref<32xf32>, %s8[n] add : memref<32xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 128, vector_width = 4, rows_per_workgroup = 128, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<32xf32>):
    lnbwd.yield %xr, %xr, %xr, %xr, %xr, %xr, %xr, %xr, %xr, %xr : vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>
  }
  return
}

// -----

// A program that no schedule can run.
func.func @f(%x: memref<?x1048576xf32>, %y: memref<?x1048576xf32>, %s: memref<1048576xf32>) {
  // expected-error@+1 {{row length 1048576 does not fit the registers of gfx942 in one pass; run lnbwd-split-two-pass before}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xf32>) outs(%y[m, n] : memref<?x1048576xf32>, %s[n] add : memref<1048576xf32>) {
  ^bb0(%xr: vector<1048576xf32>):
    %sum = vector.reduction <add>, %xr : vector<1048576xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1048576xf32>
    lnbwd.yield %spread, %xr : vector<1048576xf32>, vector<1048576xf32>
  }
  return
}

// -----

// A half of two passes: the tiles of its columns are more than a grid has.
func.func @f(%x: memref<?x33554432xf32>, %s: memref<33554432xf32>) {
  // expected-error@+1 {{row length 33554432 does not fit the registers of gfx942, nor its grid as tiles of columns; split the rows into shorter ones}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x33554432xf32>) outs(%s[n] add : memref<33554432xf32>) {
  ^bb0(%xr: vector<33554432xf32>):
    lnbwd.yield %xr : vector<33554432xf32>
  }
  return
}

// -----

!block = memref<?x262144xf32>
!row = vector<262144xf32>

// Nor one that reads its rows again: a lane has an access to each row block.
func.func @f(%x: !block, %y: !block) {
  // expected-error@+1 {{row length 262144 does not fit the registers of gfx942, not even where rows are read again for each row sum; split the program into ones with fewer row blocks}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block, %x[m, n] : !block) outs(%y[m, n] : !block) {
  ^bb0(%r0: !row, %r1: !row, %r2: !row, %r3: !row, %r4: !row, %r5: !row, %r6: !row, %r7: !row, %r8: !row, %r9: !row, %r10: !row, %r11: !row, %r12: !row, %r13: !row, %r14: !row, %r15: !row, %r16: !row, %r17: !row, %r18: !row, %r19: !row, %r20: !row, %r21: !row, %r22: !row, %r23: !row, %r24: !row, %r25: !row, %r26: !row, %r27: !row, %r28: !row, %r29: !row, %r30: !row, %r31: !row, %r32: !row, %r33: !row, %r34: !row, %r35: !row, %r36: !row, %r37: !row, %r38: !row, %r39: !row, %r40: !row, %r41: !row, %r42: !row, %r43: !row, %r44: !row, %r45: !row, %r46: !row, %r47: !row, %r48: !row, %r49: !row, %r50: !row, %r51: !row, %r52: !row, %r53: !row, %r54: !row, %r55: !row, %r56: !row, %r57: !row, %r58: !row, %r59: !row, %r60: !row, %r61: !row, %r62: !row, %r63: !row):
    %sum = vector.reduction <add>, %r63 : !row into f32
    %spread = vector.broadcast %sum : f32 to !row
    lnbwd.yield %spread : !row
  }
  return
}

// -----

// A part of a program that reads no row block would have none.
func.func @f(%i: memref<?xi64>, %t: memref<9x2048xf32>, %y: memref<?x2048xf32>) {
  // expected-error@+1 {{expected row_splits 0 for a program that reads no row block}}
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi64>, %t[*, n] : memref<9x2048xf32>) outs(%y[m, n] : memref<?x2048xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, row_splits = 4>} {
  ^row(%ir: i64, %tr: vector<9x2048xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<9x2048xf32>, i64
    %s = vector.reduction <add>, %r : vector<2048xf32> into f32
    %ss = vector.broadcast %s : f32 to vector<2048xf32>
    %yr = arith.subf %r, %ss : vector<2048xf32>
    lnbwd.yield %yr : vector<2048xf32>
  }
  return
}

// -----

// A block is not cut: neither by the lanes of a row, nor by more than a wave.
func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  // expected-error@+1 {{expected threads_per_row times vector_width to be a multiple of a block of 128, and a block to be that of at most 64 work-items, got 32 times 2}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 2, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %m = lnbwd.block_max 128 %xr : vector<512xf32>
    lnbwd.yield %m : vector<512xf32>
  }
  return
}
