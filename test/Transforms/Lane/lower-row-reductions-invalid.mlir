// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-lower-row-reductions{chip=gfx942})))' --verify-diagnostics
// RUN: not lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-lower-row-reductions{chip=gfx000})))' 2>&1 | FileCheck %s

// CHECK: error: loc("option chip"): unknown chip 'gfx000', expected one of: gfx908

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
