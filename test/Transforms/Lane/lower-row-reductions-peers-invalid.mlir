// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-lower-row-reductions)))' --verify-diagnostics --split-input-file

!layout = !lane.layout<row_length = 256, lanes = 16, groups = 1, width = 8, columns = 128>

gpu.module @m {
  gpu.func @part_of_a_wave(%x: f32, %i: index) {
    %layout = lane.layout from %i : !layout
    %iteration = lane.first_iteration : !lane.iteration
    // expected-error@+1 {{expected whole waves where workgroups share a row, got 16 lanes and waves of 32}}
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    gpu.return
  }
}

// -----

!two = !lane.layout<row_length = 1024, lanes = 128, groups = 1, width = 4, columns = 512>
!four = !lane.layout<row_length = 1024, lanes = 64, groups = 1, width = 4, columns = 256>

gpu.module @m {
  gpu.func @other_peers(%x: f32, %i: index) {
    %two = lane.layout from %i : !two
    %four = lane.layout from %i : !four
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %two iteration %iteration phase 0 : !two, f32 -> f32
    // expected-error@+1 {{expected the layout, and the number of sums, of the kernel's other reductions of phase 0}}
    %t = lane.reduce [#vector.kind<add>] %s at %four iteration %iteration phase 0 : !four, f32 -> f32
    gpu.return
  }
}
