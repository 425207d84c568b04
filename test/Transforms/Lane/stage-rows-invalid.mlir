// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-stage-rows)))' --split-input-file --verify-diagnostics

#info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 32, row_groups = 2, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, stages = 3>>
!place = !lane.place<row_length = 256, lanes = 32, groups = 2, width = 8>

gpu.module @m {
  gpu.func @not_whole(%i: index, %xs: memref<?x256xf32>) attributes {lnbwd.kernel_info = #info} {
    %place = lane.place : !place
    // expected-error@+1 {{expected whole sets; run lnbwd-peel-last-rows before}}
    lane.for_rows %set = %i to %i step %i at %place for %i of %i : !place {
      %row = lane.row %set at %place : !place
      %x = lane.load %xs[%row] at %place : !place, memref<?x256xf32> -> vector<1x8xf32>
    }
    gpu.return
  }
}

// -----

#info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 32, row_groups = 2, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, stages = 3>>
!place = !lane.place<row_length = 256, lanes = 32, groups = 2, width = 8>

gpu.module @m {
  gpu.func @split(%i: index, %xs: memref<?x256xf32>) attributes {lnbwd.kernel_info = #info} {
    %place = lane.place : !place
    lane.for_rows %set = %i to %i step %i at %place attributes {whole} : !place {
      %row = lane.row %set at %place : !place
      // expected-error@+1 {{cannot be staged: expected one load in the body of its loop, of whole parts of the row that lane.row gives for the set}}
      %x = lane.load %xs[%row] at %place access 0 : !place, memref<?x256xf32> -> vector<8xf32>
    }
    gpu.return
  }
}

// -----

#info = #lnbwd.kernel_info<entry = "k", row_length = 1001, schedule = <threads_per_row = 32, row_groups = 2, vector_width = 1, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, stages = 3>>
!place = !lane.place<row_length = 1001, lanes = 1024, groups = 1, width = 1>

gpu.module @m {
  gpu.func @no_row_behind(%i: index, %xs: memref<?x1001xf32>) attributes {lnbwd.kernel_info = #info} {
    %place = lane.place : !place
    // expected-error@+1 {{expected last_row_apart: copies of its sets reach into the row behind, since not all begin at a multiple of 16 bytes}}
    lane.for_rows %set = %i to %i step %i at %place attributes {whole} : !place {
      %row = lane.row %set at %place : !place
      %x = lane.load %xs[%row] at %place : !place, memref<?x1001xf32> -> vector<1x1xf32>
    }
    gpu.return
  }
}
