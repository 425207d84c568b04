// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-pipeline-rows{chip=gfx942})))' --split-input-file --verify-diagnostics
// RUN: not lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-pipeline-rows{chip=gfx000})))' --split-input-file 2>&1 | FileCheck %s

// CHECK: error: loc("option chip"): unknown chip 'gfx000', expected one of: gfx908

!place = !lane.place<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @row_sum(%i: index, %x: f32, %turn: !lane.turn)
      attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, unroll = 2>>} {
    %place = lane.place : !place
    lane.for_rows %set = %i to %i step %i at %place : !place {
      // expected-error@+1 {{cannot be in a loop that loads several sets before it works on the first: expected no row sums}}
      %s = lane.reduce [#vector.kind<add>] %x at %place turn %turn phase 0 : !place, f32 -> f32
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @peeled(%i: index)
      attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, unroll = 2>>} {
    %place = lane.place : !place
    // expected-error@+1 {{expected sets that may not be whole; run lnbwd-pipeline-rows before lnbwd-peel-last-rows}}
    lane.for_rows %set = %i to %i step %i at %place attributes {whole} : !place {
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @other_row(%x: memref<?x256xf32>, %i: index)
      attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1>>} {
    %place = lane.place : !place
    lane.for_rows %set = %i to %i step %i at %place : !place {
      // expected-error@+1 {{expected to load the row that lane.row gives for the set of its loop}}
      %v = lane.load %x[%set] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @conditional(%x: memref<?xf32>, %i: index, %c: i1)
      attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, unroll = 2>>} {
    %place = lane.place : !place
    lane.for_rows %set = %i to %i step %i at %place : !place {
      %row = lane.row %set at %place : !place
      scf.if %c {
        // expected-error@+1 {{cannot be loaded ahead: expected it in the body of its loop itself}}
        %v = lane.load_scalar %x[%row] : memref<?xf32>
      }
    }
    gpu.return
  }
}
