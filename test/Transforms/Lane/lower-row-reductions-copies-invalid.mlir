// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-lower-row-reductions)))' --verify-diagnostics

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>
!stages = !lane.stages<2 of f32>

gpu.module @m {
  gpu.func @no_barrier(%stages: !stages, %layout: !layout, %i: index, %xs: memref<?x256xf32>) {
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole} : !layout {
      // expected-error@+1 {{expected a lane.barrier before it in its iteration, after which its stage is free}}
      lane.start_copies %xs from %tile below %i to %stages[%i] at %layout : !layout, !stages, memref<?x256xf32>
    }
    gpu.return
  }
}
