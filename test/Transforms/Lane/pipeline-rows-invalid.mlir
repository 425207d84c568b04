// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file --verify-diagnostics

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @row_sum(%i: index, %x: f32, %iteration: !lane.iteration) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {unroll = 2} : !layout {
      // expected-error@+1 {{cannot be in a loop that loads several tiles before it works on the first: expected no row sums}}
      %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @peeled(%i: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{expected tiles that may be partial, since lnbwd-pipeline-rows makes them full}}
    lane.for_rows %tile = %i to %i step %i at %layout attributes {unroll = 2, whole} : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @other_row(%x: memref<?x256xf32>, %i: index) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {prefetch} : !layout {
      // expected-error@+1 {{expected to load the row that lane.row gives for the tile of its loop}}
      %v = lane.load %x[%tile] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @conditional(%x: memref<?xf32>, %i: index, %c: i1) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {unroll = 2} : !layout {
      %row = lane.row %tile at %layout : !layout
      scf.if %c {
        // expected-error@+1 {{cannot be loaded ahead: expected it in the body of its loop itself}}
        %v = lane.load_scalar %x[%row] : memref<?xf32>
      }
    }
    gpu.return
  }
}
