// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90' --emit=ptx -o - | FileCheck %s --check-prefix=KERNEL

// 64 workgroups have eight columns each, of four lanes: a sector of every row.
// CHECK: rows_per_workgroup = 0, {{.*}}column_tile = 8,
// KERNEL: "grid":[1,64,1]
// KERNEL: ld.global.{{(nc.)?}}v2.b32
func.func @f(%x: memref<1568x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<1568x512xf32>) outs(%s[n] add : memref<512xf32>) {
  ^row(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
