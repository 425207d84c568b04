// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-block-column-sums)))' --verify-diagnostics

!place = !lane.place<row_length = 512, lanes = 64, groups = 1, width = 8>

gpu.module @m {
  gpu.func @f(%begin: index, %end: index, %step: index) {
    %place = lane.place : !place
    // expected-error@+1 {{expected whole sets; run lnbwd-peel-last-rows before}}
    lane.for_rows %set = %begin to %end step %step at %place attributes {sum_block = 8 : i64} : !place {
    }
    gpu.return
  }
}
