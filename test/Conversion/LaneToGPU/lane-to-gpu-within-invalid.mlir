// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=sm_90})))' --verify-diagnostics

gpu.module @m {
  gpu.func @f() {
    // expected-error@+1 {{cannot be converted: the chip cannot drop loads}}
    lane.sched_barrier
    gpu.return
  }
}
