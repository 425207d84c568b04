// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-reload-phases)))' --split-input-file --verify-diagnostics

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @column_sums(%x: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<2x4xf32>
    // expected-error@+1 {{expected no column sums where rows are read again in each phase: their columns stay with a lane}}
    %sum = lane.for_rows %tile = %i to %i step %i at %layout sums(%a = %zero) attributes {reload} : !layout, vector<2x4xf32> {
      lane.yield %a : vector<2x4xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @carried(%x: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<2x4xf32>
    // expected-error@+1 {{fragment cannot be made again for each phase of a row}}
    %r = lane.for_rows %tile = %i to %i step %i at %layout carrying(%a = %zero) attributes {reload} : !layout, vector<2x4xf32> {
      lane.store %a, %x[%tile] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.yield %a : vector<2x4xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @made_otherwise(%x: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {reload} : !layout {
      // expected-error@+1 {{fragment cannot be made again for each phase of a row: expected a load, or a pure operation on fragments}}
      %v = "test.part"() : () -> vector<2x4xf32>
      lane.store %v, %x[%tile] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    }
    gpu.return
  }
}
