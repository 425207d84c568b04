// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1030 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// A tile for each 64 rows, which a launch chooses, and 64 columns, which are known.
// CHECK:       gpu.module @linear_kernels
// CHECK:         gpu.func @k(%{{.*}}: memref<1x64xbf16, #gpu.address_space<global>>
// CHECK-SAME:      memref<1x100xf32, #gpu.address_space<global>>
// CHECK-SAME:      workgroup(%{{.*}} : memref<2048xf32, #gpu.address_space<workgroup>>
// CHECK-SAME:      known_block_size = array<i32: 256, 1, 1>
// Narrow elements are widened on their way to memory.
// CHECK:           scf.for
// CHECK:             vector.load %{{.*}} : memref<?x64xbf16, #gpu.address_space<global>>, vector<4xbf16>
// CHECK:             lane.barrier
// CHECK:             arith.extf %{{.*}} : vector<4xbf16> to vector<4xf32>
// CHECK:             lane.barrier
// A fragment for each 16 rows of a tile, and each pair of them.
// CHECK:             %[[A0:.*]] = vector.load %{{.*}} {alignment = 16 : i64} : memref<2048xf32, {{.*}}>, vector<4xf32>
// CHECK:             %[[A1:.*]] = vector.load
// CHECK-COUNT-2:     vector.load
// CHECK:             %[[B0:.*]] = vector.load
// CHECK:             %[[B1:.*]] = vector.load
// CHECK:             lane.multiply %[[A0]], %[[B0]], %{{.*}} : vector<4xf32>, vector<1xf32>
// CHECK:             lane.multiply %[[A0]], %[[B1]], %{{.*}} : vector<4xf32>, vector<1xf32>
// CHECK-COUNT-2:     lane.multiply %[[A0]],
// CHECK:             lane.multiply %[[A1]], %[[B0]], %{{.*}} : vector<4xf32>, vector<1xf32>
// CHECK-COUNT-123:   lane.multiply
// CHECK-NOT:         lane.multiply
// CHECK:             scf.yield
// CHECK:           scf.if
// CHECK-NEXT:        vector.store %{{.*}} : memref<?x100xf32, {{.*}}>, vector<1xf32>
// CHECK-LABEL: func @linear(
// CHECK-SAME:    name = "x", kind = "row_block", access = "read"
// CHECK-SAME:    name = "w", kind = "column", access = "read"
// CHECK-SAME:    name = "y", kind = "row_block", access = "write"
// CHECK:         %[[M:.*]] = lnbwd.row_count
// CHECK:         %[[W:.*]] = lnbwd.workgroup_count %[[M]]
// CHECK:         %[[C2:.*]] = arith.constant 2 : index
// CHECK:         gpu.launch_func @linear_kernels::@k blocks in (%[[W]], %[[C2]],
func.func @linear(%x: memref<?x64xbf16>, %w: memref<100x64xbf16>, %y: memref<?x100xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %w[n1, n0] : memref<100x64xbf16>)
      outs(%y[m, n1] : memref<?x100xf32>) attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<64xbf16>, %wm: vector<100x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<100x64xbf16>
    lnbwd.yield %p : vector<100xf32>
  }
  return
}

// -----

// Of a sum over the rows all tiles are known.
// CHECK-LABEL: func @outer(
// CHECK-SAME:    name = "dw", kind = "column"
// CHECK-NOT:     lnbwd.workgroup_count
// CHECK:         gpu.launch_func
func.func @outer(%dy: memref<?x100xf32>, %x: memref<?x64xf32>, %dw: memref<100x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x100xf32>, %x[m, n1] : memref<?x64xf32>)
      outs(%dw[n0, n1] add : memref<100x64xf32>) attributes {operand_names = ["dy", "x", "dw"]} {
  ^row(%dyr: vector<100xf32>, %xr: vector<64xf32>):
    %p = vector.outerproduct %dyr, %xr : vector<100xf32>, vector<64xf32>
    lnbwd.yield %p : vector<100x64xf32>
  }
  return
}

// -----

// A workgroup of the grid's third dimension has the rows of a part, and its own
// rows of the output.
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x64xf32, #gpu.address_space<global>>, %{{[^:]*}}: i64)
// CHECK:         %[[PART:.*]] = gpu.block_id z
// CHECK:         arith.muli %[[PART]]
// CHECK:         memref.reinterpret_cast {{.*}} to memref<100x64xf32, strided<[64, 1], offset: ?>
// CHECK:         vector.store %{{.*}} : memref<100x64xf32,
// CHECK-LABEL: func @parts(
// CHECK:         %[[C3:.*]] = arith.constant 3 : index
// CHECK:         gpu.launch_func @parts_kernels::@k blocks in (%{{.*}}, %{{.*}}, %[[C3]])
func.func @parts(%dy: memref<?x100xf32>, %x: memref<?x64xf32>, %dw: memref<3x100x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x100xf32>, %x[m, n1] : memref<?x64xf32>)
      outs(%dw[*, n0, n1] add : memref<3x100x64xf32>) attributes {operand_names = ["dy", "x", "dw"]} {
  ^row(%dyr: vector<100xf32>, %xr: vector<64xf32>):
    %p = vector.outerproduct %dyr, %xr : vector<100xf32>, vector<64xf32>
    lnbwd.yield %p : vector<100x64xf32>
  }
  return
}
