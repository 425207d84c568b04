// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize --cse | FileCheck %s

// The kernel of a program with groups sees the rows and the workgroups of one
// group, which the grid's third dimension says: all buffers begin there, group
// columns with the group's row. The launch gives it M / B rows.
// CHECK:       gpu.func @k(%[[X:[a-z0-9_]+]]: memref<1x512xf32, {{[^>]*>}}>, %[[G:[a-z0-9_]+]]: memref<512xf32, {{[^>]*>}}> {llvm.noalias, llvm.readonly},
// CHECK-SAME:    %[[S:[a-z0-9_]+]]: memref<1xf32, {{[^>]*>}}> {{{.*}}}, %[[P:[a-z0-9_]+]]: memref<1x512xf32, {{[^>]*>}}>,
// CHECK-SAME:    %[[T64:[a-z0-9_]+]]: i64, %[[W64:[a-z0-9_]+]]: i64) kernel
// CHECK-DAG:     %[[T:[a-z0-9_]+]] = arith.index_cast %[[T64]]
// CHECK-DAG:     %[[W:[a-z0-9_]+]] = arith.index_cast %[[W64]]
// CHECK-DAG:     %[[B:[a-z0-9_]+]] = gpu.block_id z
// CHECK-DAG:     %[[ROW:[a-z0-9_]+]] = arith.muli %[[B]], %[[T]]
// CHECK-DAG:     %[[XO:[a-z0-9_]+]] = arith.muli %[[ROW]], %c512
// CHECK-DAG:     memref.reinterpret_cast %[[X]] to offset: [%[[XO]]], sizes: [%[[T]], 512], strides: [512, 1]
// CHECK-DAG:     %[[GO:[a-z0-9_]+]] = arith.muli %[[B]], %c512
// CHECK-DAG:     memref.reinterpret_cast %[[G]] to offset: [%[[GO]]], sizes: [512], strides: [1]
// CHECK-DAG:     memref.reinterpret_cast %[[S]] to offset: [%[[ROW]]], sizes: [%[[T]]], strides: [1]
// CHECK-DAG:     %[[PR:[a-z0-9_]+]] = arith.muli %[[B]], %[[W]]
// CHECK-DAG:     %[[PO:[a-z0-9_]+]] = arith.muli %[[PR]], %c512
// CHECK-DAG:     memref.reinterpret_cast %[[P]] to offset: [%[[PO]]], sizes: [%[[W]], 512], strides: [512, 1]
// CHECK:       func.func @groups(%[[HX:[a-z0-9_]+]]: memref<?x?x512xf32> {{{.*}}}, %[[HG:[a-z0-9_]+]]: memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "g", kind = "group_column", access = "read">}
// CHECK-DAG:     %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[HX]]
// CHECK-DAG:     %[[COUNT:[a-z0-9_]+]] = lnbwd.group_count %[[HX]]
// CHECK-DAG:     %[[HW:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] groups %[[COUNT]] schedule
// CHECK-DAG:     %[[HT:[a-z0-9_]+]] = arith.divui %[[M]], %[[COUNT]]
// CHECK-DAG:     %[[ARG:[a-z0-9_]+]] = arith.index_cast %[[HT]]
// CHECK:         gpu.launch_func @groups_kernels::@k blocks in (%[[HW]], %c1, %[[COUNT]]) threads in (%c64, %c1, %c1)
// CHECK-SAME:      %[[ARG]] : i64
func.func @groups(%x: memref<?x?x512xf32>, %g: memref<?x512xf32>, %s: memref<?x?xf32>, %p: memref<?x?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>, %g[m0, n] : memref<?x512xf32>, %s[m0, m1] : memref<?x?xf32>)
      outs(%p[m0, *, n] add : memref<?x?x512xf32>)
      attributes {operand_names = ["x", "g", "s", "p"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %gr: vector<512xf32>, %sr: f32):
    %spread = vector.broadcast %sr : f32 to vector<512xf32>
    %a = arith.mulf %xr, %gr : vector<512xf32>
    %b = arith.mulf %a, %spread : vector<512xf32>
    lnbwd.yield %b : vector<512xf32>
  }
  return
}
