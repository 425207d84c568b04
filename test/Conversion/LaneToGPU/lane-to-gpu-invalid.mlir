// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)))' --split-input-file --verify-diagnostics

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @not_whole(%i: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{expected full tiles and no blocks of sums; run lnbwd-pipeline-rows and lnbwd-block-column-sums before}}
    lane.for_rows %tile = %i to %i step %i at %layout : !layout {
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @not_split(%x: memref<?x256xf32>, %row: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{cannot be converted; run lnbwd-split-fragments before}}
    %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
    lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @not_reduced(%x: f32, %m: memref<?xf32>, %row: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{cannot be converted; run lnbwd-lower-row-reductions before}}
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    lane.store_scalar %s, %m[%row] at %layout : !layout, memref<?xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @no_prefetch(%m: memref<?x256xf32>, %i: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{cannot be converted: the chip cannot bring rows to its cache ahead}}
    lane.prefetch_rows %m from %i below %i at %layout : !layout, memref<?x256xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_byte_barriers() workgroup(%b : memref<2xi64, #gpu.address_space<workgroup>>) {
    // expected-error@+1 {{cannot be converted: the chip cannot count the bytes that arrive}}
    lane.init_byte_barriers %b : memref<2xi64, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @no_copies(%x: memref<?x256xf32>, %i: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{cannot be converted: the chip cannot count the bytes that arrive}}
    %stages = lane.stages at %layout : !layout, !lane.stages<2 of f32>
    lane.start_copies %x from %i below %i to %stages[%i] at %layout : !layout, !lane.stages<2 of f32>, memref<?x256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @whole_part_of_no_row(%x: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{cannot be converted; run lnbwd-split-fragments before}}
    %part = lane.undefined_row : vector<2x4xf32>
    lane.store %part, %x[%i] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @other_fragments(%a: vector<8xbf16>, %sum: vector<8xf32>, %out: memref<vector<8xf32>>) {
    // expected-error@+1 {{cannot be converted: the chip's fragments of such matrices have other elements in a lane}}
    %next = lane.multiply %a, %a, %sum : vector<8xbf16>, vector<8xf32>
    memref.store %next, %out[] : memref<vector<8xf32>>
    gpu.return
  }
}
