// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-split-fragments)))' --split-input-file --verify-diagnostics

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @transposed(%a: memref<?x512xf32>, %row: index) {
    %layout = lane.layout : !layout
    %x = lane.load %a[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
    // expected-error@+1 {{'vector.transpose' op needs a fragment whole, which cannot be split}}
    %t = vector.transpose %x, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @made_otherwise(%a: memref<?x512xf32>, %row: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{fragment cannot be split into its accesses: expected a splat constant, or what an elementwise operation makes}}
    %x = "test.part"() : () -> vector<2x4xf32>
    lane.store %x, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @loop(%c: i1, %x: vector<4xf32>) {
    // expected-error@+1 {{cannot be split: expected an operation with RegionBranchOpInterface where fragments go into or out of regions}}
    %r = "test.loop"() ({
    }) : () -> vector<2x4xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

gpu.module @m {
  gpu.func @no_splat(%a: memref<?x512xf32>, %row: index) {
    %layout = lane.layout : !layout
    // expected-error@+1 {{fragment cannot be split into its accesses}}
    %x = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : vector<2x4xf32>
    lane.store %x, %a[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
    gpu.return
  }
}
