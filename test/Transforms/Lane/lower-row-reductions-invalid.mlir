// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-lower-row-reductions)))' --verify-diagnostics

!layout = !lane.layout<row_length = 1024, lanes = 256, groups = 1, width = 4>

gpu.module @m {
  gpu.func @f(%x: f32) {
    %layout = lane.layout : !layout
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    // expected-error@+1 {{expected the layout, and the number of sums, of the kernel's other reductions of phase 0}}
    %t:2 = lane.reduce [#vector.kind<add>, #vector.kind<add>] %x, %s at %layout iteration %iteration phase 0 : !layout, f32, f32 -> f32, f32
    gpu.return
  }
}
