// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=sm_90})))' --verify-diagnostics

gpu.module @m {
  gpu.func @f(%scalar: f32) {
    %layout = lane.layout : !lane.layout<row_length = 64, lanes = 16, groups = 16, width = 4>
    // expected-error@+1 {{cannot be converted: the chip cannot drop loads}}
    %shared = lane.broadcast_scalar %scalar at %layout : !lane.layout<row_length = 64, lanes = 16, groups = 16, width = 4>, f32
    gpu.return
  }
}
