// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-hoist-copies)))' --verify-diagnostics

!place = !lane.place<row_length = 256, lanes = 32, groups = 2, width = 8>
!stages = !lane.stages<2 of f32>

gpu.module @m {
  gpu.func @no_barrier(%stages: !stages, %place: !place, %i: index, %xs: memref<?x256xf32>) {
    lane.for_rows %set = %i to %i step %i at %place attributes {whole} : !place {
      // expected-error@+1 {{expected a lane.barrier before it in its turn, behind which its stage is free}}
      lane.start_copies %xs from %set below %i to %stages[%i] at %place : !place, !stages, memref<?x256xf32>
    }
    gpu.return
  }
}
