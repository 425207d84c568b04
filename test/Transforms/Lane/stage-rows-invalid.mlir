// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-stage-rows)))' --split-input-file --verify-diagnostics

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>

gpu.module @m {
  gpu.func @not_whole(%i: index, %xs: memref<?x256xf32>) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{expected full tiles; run lnbwd-pipeline-rows before}}
    lane.for_rows %tile = %i to %i step %i at %layout for %i of %i attributes {stages = 3} : !layout {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x8xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>

gpu.module @m {
  gpu.func @split(%i: index, %xs: memref<?x256xf32>) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole, stages = 3} : !layout {
      %row = lane.row %tile at %layout : !layout
      // expected-error@+1 {{cannot be staged: expected one load in the body of its loop, of whole fragments of the row that lane.row gives for the tile}}
      %x = lane.load %xs[%row] at %layout access 0 : !layout, memref<?x256xf32> -> vector<8xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1001, lanes = 1024, groups = 1, width = 1>

gpu.module @m {
  gpu.func @no_row_behind(%i: index, %xs: memref<?x1001xf32>) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{expected last_row_apart: copies of its tiles reach into the row after, since not all begin at a multiple of 16 bytes}}
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole, stages = 3} : !layout {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x1001xf32> -> vector<1x1xf32>
    }
    gpu.return
  }
}
