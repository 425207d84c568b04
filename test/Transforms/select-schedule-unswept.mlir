// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=8192 | FileCheck %s

// Programs of kinds that no sweep has. Column sums beside rows that wait for
// one sum after another have no stages where waves share them.

// CHECK-LABEL: func.func @gradient(
// CHECK: #lnbwd.schedule<
// CHECK-NOT: stages
// CHECK-SAME: dependent_launch = true>
func.func @gradient(%dys: memref<?x2048xbf16>, %xs: memref<?x2048xbf16>,
    %out: memref<?x2048xf8E5M2>, %largest: memref<?xf32>,
    %sum: memref<2048xf32>) {
  lnbwd.rowwise @gradient domain(m | n)
      ins(%dys[m, n] : memref<?x2048xbf16>, %xs[m, n] : memref<?x2048xbf16>)
      outs(%out[m, n] : memref<?x2048xf8E5M2>, %largest[m] : memref<?xf32>,
           %sum[n] add : memref<2048xf32>) {
  ^row(%dy_in: vector<2048xbf16>, %x_in: vector<2048xbf16>):
    %dy = arith.extf %dy_in : vector<2048xbf16> to vector<2048xf32>
    %x = arith.extf %x_in : vector<2048xbf16> to vector<2048xf32>
    %product = arith.mulf %dy, %x : vector<2048xf32>
    %inner = vector.reduction <add>, %product : vector<2048xf32> into f32
    %all = vector.broadcast %inner : f32 to vector<2048xf32>
    %part = arith.mulf %x, %all : vector<2048xf32>
    %dx = arith.subf %dy, %part : vector<2048xf32>
    %size = math.absf %dx : vector<2048xf32>
    %most = vector.reduction <maximumf>, %size : vector<2048xf32> into f32
    %factor = vector.broadcast %most : f32 to vector<2048xf32>
    %scaled = arith.divf %dx, %factor : vector<2048xf32>
    %narrow = arith.truncf %scaled : vector<2048xf32> to vector<2048xf8E5M2>
    lnbwd.yield %narrow, %most, %product
        : vector<2048xf8E5M2>, f32, vector<2048xf32>
  }
  return
}

// Blocks whose elements lie apart are a wave's, and each tile is a workgroup.

// CHECK-LABEL: func.func @tiles(
// CHECK: #lnbwd.schedule<threads_per_row = 32, row_groups = 1,
// CHECK-SAME: workgroups_per_compute_unit = 0
func.func @tiles(%xs: memref<4096x2048xbf16>, %out: memref<4096x2048xf32>) {
  lnbwd.rowwise @tiles domain(m | n)
      ins(%xs[m, n] : memref<4096x2048xbf16>)
      outs(%out[m, n] : memref<4096x2048xf32>) {
  ^row(%x_in: vector<2048xbf16>):
    %x = arith.extf %x_in : vector<2048xbf16> to vector<2048xf32>
    %most = lnbwd.block_max 32 apart 64 %x : vector<2048xf32>
    lnbwd.yield %most : vector<2048xf32>
  }
  return
}
