// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize --cse --split-input-file | FileCheck %s

// A kernel takes bare pointers, each typed as the first row of its buffer, then
// the row count and the workgroup count; the function launches it.
// CHECK:       module attributes {dlti.target_system_spec = {{.*}}, gpu.container_module}
// CHECK-LABEL:   gpu.module @frame_kernels
// CHECK:           gpu.func @k(
// CHECK-SAME:        %{{[a-z0-9]+}}: memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<512xf32, #gpu.address_space<global>> {llvm.noalias, llvm.readonly},
// CHECK-SAME:        %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>> {llvm.noalias, llvm.readonly}, %{{[a-z0-9]+}}: memref<1x512xf32, #gpu.address_space<global>>,
// CHECK-SAME:        %{{[a-z0-9]+}}: i64, %{{[a-z0-9]+}}: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>,
// CHECK-SAME:        lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 512, schedule = <threads_per_row = 64, {{.*}}>>}
// CHECK:         func.func @frame(
// CHECK-SAME:      %[[X:[a-z0-9]+]]: memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "x", kind = "row_block", access = "read">}
// CHECK-SAME:      memref<512xf32> {lnbwd.argument = #lnbwd.argument<name = "gamma", kind = "column", access = "read">}
// CHECK-SAME:      memref<?xf32> {lnbwd.argument = #lnbwd.argument<name = "rstd", kind = "row_scalar", access = "read">}
// CHECK-SAME:      memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "y", kind = "row_block", access = "write">}
// CHECK-DAG:       %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-DAG:       %[[THREADS:[a-z0-9_]+]] = arith.constant 64 : index
// CHECK-DAG:       %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[X]]
// CHECK-DAG:       %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] schedule
// CHECK-NOT:       lnbwd.rowwise
// CHECK:           gpu.launch_func @frame_kernels::@k blocks in (%[[W]], %[[ONE]], %[[ONE]]) threads in (%[[THREADS]], %[[ONE]], %[[ONE]])
func.func @frame(%x: memref<?x512xf32>, %c: memref<512xf32>, %s: memref<?xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %c[n] : memref<512xf32>, %s[m] : memref<?xf32>)
      outs(%y[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "gamma", "rstd", "y"], schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %cr: vector<512xf32>, %sr: f32):
    %scaled = arith.mulf %xr, %cr : vector<512xf32>
    %spread = vector.broadcast %sr : f32 to vector<512xf32>
    %yr = arith.mulf %scaled, %spread : vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}

// -----

// What an operand is follows from its place, not from its shape: statistics with
// a static last dimension, or of static rows, are no columns.
// CHECK-LABEL: gpu.module @leading_dimensions_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>>
// CHECK:       func.func @leading_dimensions(
// CHECK-SAME:    memref<?x4xf32> {{{.*}}kind = "row_scalar", access = "read"
func.func @leading_dimensions(%x: memref<?x4x512xf32>, %s: memref<?x4xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x4x512xf32>, %s[m0, m1] : memref<?x4xf32>) outs(%x[m0, m1, n] : memref<?x4x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %sr: f32):
    %spread = vector.broadcast %sr : f32 to vector<512xf32>
    lnbwd.yield %spread : vector<512xf32>
  }
  return
}

// -----

// CHECK-LABEL: gpu.module @static_rows_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>>,
// CHECK:       func.func @static_rows(
// CHECK-SAME:    memref<64xf32> {{{.*}}kind = "row_scalar", access = "write"
func.func @static_rows(%x: memref<64x512xf32>, %s: memref<64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<64x512xf32>) outs(%s[m] : memref<64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// A row of rank 1 is one row.
// CHECK-LABEL: gpu.module @one_row_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>>,
// CHECK:       func.func @one_row(
// CHECK-SAME:    memref<512xf32> {{{.*}}kind = "row_block", access = "read"
func.func @one_row(%x: memref<512xf32>, %s: memref<f32>) {
  lnbwd.rowwise @k domain(| n) ins(%x[n] : memref<512xf32>) outs(%s[] : memref<f32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// Rows that lie apart.
// CHECK-LABEL: gpu.module @strided_kernels
// CHECK:         gpu.func @k(%[[X:[a-z0-9]+]]: memref<1x512xf32, #gpu.address_space<global>>
// CHECK:         memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%{{.*}}, 512], strides: [640, 1]
func.func @strided(%x: memref<?x512xf32, strided<[640, 1]>>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32, strided<[640, 1]>>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Kernels of equal names get names of their own.
// CHECK-LABEL: gpu.module @two_programs_kernels
// CHECK:         gpu.func @k(
// CHECK:         gpu.func @[[SECOND:[a-z0-9_]+]](
// CHECK:       func.func @two_programs
// CHECK:         gpu.launch_func @two_programs_kernels::@k
// CHECK:         gpu.launch_func @two_programs_kernels::@[[SECOND]]
func.func @two_programs(%x: memref<?x256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%x[m, n] : memref<?x256xf32>) attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%x[m, n] : memref<?x256xf32>) attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// A function without row programs stays as it is.
// CHECK-LABEL: func.func @nothing_to_do
// CHECK-NEXT:    return
// CHECK-NOT:   gpu.module
func.func @nothing_to_do() {
  return
}

// -----

// A row is shared by workgroups, one for each tile.
// CHECK-LABEL: gpu.module @column_tiles_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[TILE:[a-z0-9_]+]] = gpu.block_id y
// CHECK:         arith.muli %[[TILE]], %{{.*}}
// CHECK:         gpu.return
// CHECK:       func.func @column_tiles
// CHECK-DAG:     %[[FOUR:[a-z0-9_]+]] = arith.constant 4 : index
// CHECK-DAG:     %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK:         gpu.launch_func {{.*}} blocks in (%{{[a-z0-9_]+}}, %[[FOUR]], %[[ONE]])
func.func @column_tiles(%x: memref<?x1024xf32>, %p: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%p[*, n] add : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, column_tile = 256>} {
  ^bb0(%xr: vector<1024xf32>):
    lnbwd.yield %xr : vector<1024xf32>
  }
  return
}
