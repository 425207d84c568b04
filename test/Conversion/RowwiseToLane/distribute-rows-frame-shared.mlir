// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize --cse | FileCheck %s

// What all groups share begins with its first row in each group; a number is
// loaded once, ahead of the loop.
// CHECK:       gpu.func @k(%[[X:[a-z0-9_]+]]: memref<1x512xf32, {{[^>]*>}}>, %[[T:[a-z0-9_]+]]: memref<1x512xf32, {{[^>]*>}}> {llvm.noalias, llvm.readonly},
// CHECK-SAME:    %[[S:[a-z0-9_]+]]: memref<1xf32, {{[^>]*>}}> {llvm.noalias, llvm.readonly}, %[[C:[a-z0-9_]+]]: memref<1xf32, {{[^>]*>}}> {llvm.noalias, llvm.readonly},
// CHECK-SAME:    %{{[a-z0-9_]+}}: memref<1x512xf32, {{[^>]*>}}>, %[[ROWS64:[a-z0-9_]+]]: i64, %{{[a-z0-9_]+}}: i64) kernel
// CHECK-DAG:     %[[ROWS:[a-z0-9_]+]] = arith.index_cast %[[ROWS64]]
// CHECK-DAG:     memref.reinterpret_cast %[[T]] to offset: [0], sizes: [%[[ROWS]], 512], strides: [512, 1]
// CHECK-DAG:     memref.reinterpret_cast %[[S]] to offset: [0], sizes: [%[[ROWS]]], strides: [1]
// CHECK:         memref.load %[[C]][%c0]
// CHECK:         lane.for_rows
// CHECK-NOT:     %[[C]]
// CHECK:       func.func @shared({{.*}}kind = "repeated_row_block"{{.*}}kind = "repeated_row_scalar"{{.*}}kind = "number"
// CHECK:         lnbwd.group_count %{{[^ ]+}} {dims = 2 : i64}
func.func @shared(%x: memref<?x4x?x512xf32>, %t: memref<?x512xf32>, %s: memref<?xf32>, %c: memref<f32>) {
  lnbwd.rowwise @k domain(b, h, t | n)
      ins(%x[b, h, t, n] : memref<?x4x?x512xf32>, %t[t, n] : memref<?x512xf32>, %s[t] : memref<?xf32>, %c[] : memref<f32>)
      outs(%x[b, h, t, n] : memref<?x4x?x512xf32>)
      attributes {operand_names = ["x", "t", "s", "c", "x"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<512xf32>, %tr: vector<512xf32>, %sr: f32, %cr: f32):
    %f = arith.mulf %sr, %cr : f32
    %spread = vector.broadcast %f : f32 to vector<512xf32>
    %a = arith.mulf %xr, %tr : vector<512xf32>
    %b = arith.mulf %a, %spread : vector<512xf32>
    lnbwd.yield %b : vector<512xf32>
  }
  return
}
