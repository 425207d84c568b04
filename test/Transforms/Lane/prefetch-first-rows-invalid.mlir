// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-prefetch-first-rows)))' --split-input-file --verify-diagnostics

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

gpu.module @m {
  gpu.func @whole_sets(%x: memref<?x256xf32>, %i: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    // expected-error@+1 {{expected sets that may not be whole; run lnbwd-prefetch-first-rows before lnbwd-pipeline-rows and lnbwd-peel-last-rows}}
    lane.for_rows %set = %i to %i step %i at %place attributes {whole} : !place {
      lane.yield
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

gpu.module @m {
  gpu.func @another_row(%x: memref<?x256xf32>, %i: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    lane.for_rows %set = %i to %i step %i at %place for %i of %i : !place {
      // expected-error@+1 {{expected to load the row that lane.row gives for the set of its loop}}
      %v = lane.load %x[%set] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

gpu.module @m {
  gpu.func @count_in_memory(%x: memref<?x256xf32>, %n: memref<1xindex>, %i: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    %c0 = arith.constant 0 : index
    %rows = memref.load %n[%c0] : memref<1xindex>
    // expected-error@+1 {{expected its bounds, its place and the rows that it loads to be known before lane.await_previous_kernel}}
    lane.for_rows %set = %i to %rows step %i at %place for %i of %i : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.yield
    }
    gpu.return
  }
}
