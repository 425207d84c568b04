// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-block-column-sums)))' --verify-diagnostics

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 8>

gpu.module @m {
  gpu.func @f(%begin: index, %end: index, %step: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{expected full tiles; run lnbwd-pipeline-rows before}}
    lane.for_rows %tile = %begin to %end step %step at %layout attributes {sum_block = 8 : i64} : !layout {
    }
    gpu.return
  }
}
