// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-prefetch-first-rows)))' --split-input-file --verify-diagnostics

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

gpu.module @m {
  gpu.func @whole_sets(%x: memref<?x256xf32>, %i: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    // expected-error@+1 {{expected tiles that may be partial; run lnbwd-prefetch-first-rows before lnbwd-pipeline-rows and lnbwd-peel-last-rows}}
    lane.for_rows %tile = %i to %i step %i at %layout attributes {prefetch_before_dependency, whole} : !layout {
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

gpu.module @m {
  gpu.func @another_row(%x: memref<?x256xf32>, %i: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    lane.for_rows %tile = %i to %i step %i at %layout for %i of %i attributes {prefetch_before_dependency} : !layout {
      // expected-error@+1 {{expected to load the row that lane.row gives for the tile of its loop}}
      %v = lane.load %x[%tile] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

gpu.module @m {
  gpu.func @count_in_memory(%x: memref<?x256xf32>, %n: memref<1xindex>, %i: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %rows = memref.load %n[%c0] : memref<1xindex>
    // expected-error@+1 {{expected its bounds, its layout and the rows that it loads to be known before nvvm.griddepcontrol wait}}
    lane.for_rows %tile = %i to %rows step %i at %layout for %i of %i attributes {prefetch_before_dependency} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.yield
    }
    gpu.return
  }
}
