// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s

// Blocks whose elements lie apart are a wave's. The model counts what repeats
// along such a row as if each element were another, and would leave only narrow
// accesses. A workgroup has four such rows, or where there is more than one
// layout of values and scales one, and no others after them.

// CHECK-LABEL: func.func @tiles(
// CHECK: #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 0,
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

// CHECK-LABEL: func.func @several(
// CHECK: #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0,
func.func @several(%xs: memref<4096x2048xbf16>, %a: memref<4096x2048xf32>,
                   %b: memref<4096x2048xf32>, %c: memref<4096x2048xf32>) {
  lnbwd.rowwise @several domain(m | n)
      ins(%xs[m, n] : memref<4096x2048xbf16>)
      outs(%a[m, n] : memref<4096x2048xf32>, %b[m, n] : memref<4096x2048xf32>,
           %c[m, n] : memref<4096x2048xf32>) {
  ^row(%x_in: vector<2048xbf16>):
    %x = arith.extf %x_in : vector<2048xbf16> to vector<2048xf32>
    %most = lnbwd.block_max 32 apart 64 %x : vector<2048xf32>
    lnbwd.yield %most, %x, %most
        : vector<2048xf32>, vector<2048xf32>, vector<2048xf32>
  }
  return
}
