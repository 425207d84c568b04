// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=100 | FileCheck %s --check-prefix=FEW
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=100000 | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=rows=100 | FileCheck %s --check-prefix=FEW
// RUN: sed 's/?x4096/100x4096/' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s --check-prefix=FEW
// RUN: sed 's/?x4096/100000x4096/' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=100 | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90 rows=100' --emit=ptx -o - | FileCheck %s --check-prefix=KERNEL

// Sums of few rows: a workgroup takes all rows of its columns, and nothing is
// added up afterwards.
// FEW:      rows_per_workgroup = 0, {{.*}}column_tile = {{32|64}},
// MANY:     rows_per_workgroup = {{[1-9]}}
// KERNEL:   .entry f(
// KERNEL-NOT: .entry
func.func @f(%x: memref<?x4096xbf16>, %s: memref<4096xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x4096xbf16>) outs(%s[n] add : memref<4096xf32>) {
  ^row(%xr: vector<4096xbf16>):
    %a = arith.extf %xr : vector<4096xbf16> to vector<4096xf32>
    lnbwd.yield %a : vector<4096xf32>
  }
  return
}
