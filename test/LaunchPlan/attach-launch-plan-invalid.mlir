// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-attach-launch-plan --split-input-file --verify-diagnostics

// What a launcher would not do must not be lost in silence.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  func.func @copy(%x: memref<1xf32>, %y: memref<1xf32>) {
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{cannot be part of a launch plan: expected launches of kernels, their allocations and operations without effects}}
    memref.copy %x, %y : memref<1xf32> to memref<1xf32>
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  func.func @loop(%x: memref<1xf32>) {
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{'scf.for' op cannot be part of a launch plan}}
    scf.for %i = %c1 to %c1 step %c1 {
      gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    }
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  // expected-error@+1 {{expected no branches: a launch plan has one sequence of launches}}
  func.func @branch(%x: memref<1xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    cf.br ^bb1
  ^bb1:
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  // expected-error@+1 {{expected no results: a launch plan has none, and outputs are arguments}}
  func.func @result(%x: memref<1xf32>) -> memref<1xf32> {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return %x : memref<1xf32>
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf64>) kernel { gpu.return }
  }
  // expected-error@+1 {{expected argument 0 to be a memref of f16, bf16, f32, a float of 8 bits, i8, i32 or i64, got 'memref<1xf64>'}}
  func.func @element(%x: memref<1xf64>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf64>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  // expected-error@+1 {{expected argument 1 to be a memref of f16, bf16, f32, a float of 8 bits, i8, i32 or i64, got 'index'}}
  func.func @scalar(%x: memref<1xf32>, %m: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  func.func @count(%x: memref<1xf32>, %y: memref<?x8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %y, %c0 : memref<?x8xf32>
    // expected-error@+1 {{expected a number that a launch plan can express: a constant, a row count or a workgroup count}}
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  func.func @workgroup_count(%x: memref<1xf32>, %y: memref<?x8xf32>) {
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{expected the rows of an lnbwd.row_count}}
    %w = lnbwd.workgroup_count %c1 schedule <threads_per_row = 8, row_groups = 1, vector_width = 1,
                                             rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
    gpu.launch_func @kernels::@k blocks in (%w, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<?xf32>) kernel { gpu.return }
  }
  func.func @workspace(%x: memref<1xf32>) {
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{expected a workspace of one row for each workgroup, or of one number for each row (lnbwd.row_scalar), got 'memref<?xf32>'}}
    %w = memref.alloc(%c1) : memref<?xf32>
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%w : memref<?xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  memref.global @table : memref<1xf32>
  func.func @buffer() {
    %c1 = arith.constant 1 : index
    %g = memref.get_global @table : memref<1xf32>
    // expected-error@+1 {{expected buffers that are arguments of the function or allocations in it}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%g : memref<1xf32>)
    return
  }
}

// -----

// One plan to a code object.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<1xf32>) kernel { gpu.return }
  }
  func.func @first(%x: memref<1xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return
  }
  // expected-error@+1 {{expected the kernels of one function in a GPU module, and @kernels has a launch plan already}}
  func.func @second(%x: memref<1xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xf32>)
    return
  }
}
