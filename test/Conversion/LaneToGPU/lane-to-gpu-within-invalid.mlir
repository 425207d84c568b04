// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)))' --split-input-file --verify-diagnostics

gpu.module @m {
  gpu.func @f(%scalar: f32) {
    %layout = lane.layout : !lane.layout<row_length = 64, lanes = 16, groups = 16, width = 4>
    // expected-error@+1 {{cannot be converted: the chip cannot drop loads}}
    %shared = lane.broadcast_scalar %scalar at %layout : !lane.layout<row_length = 64, lanes = 16, groups = 16, width = 4>, f32
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @f(%x: memref<?x256xf32>, %tile: index, %count: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{cannot be converted: the chip cannot drop loads}}
    %v = lane.load_predicated %x from %tile count %count at %layout access 0 : !layout, memref<?x256xf32> -> vector<4xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// A layout that nothing gives: the conversion is complete, and says what is left.
gpu.module @m {
  gpu.func @f(%layout: !layout, %tile: index) -> index {
    // expected-error@+2 {{failed to legalize unresolved materialization from ('!lane.layout<}}
    // expected-note@+1 {{see existing live user here}}
    %row = lane.row %tile at %layout : !layout
    gpu.return %row : index
  }
}
