// RUN: sed 's/LENGTH/32768/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=3000 | FileCheck %s --check-prefix=HELD
// RUN: sed 's/LENGTH/32768/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=20 | FileCheck %s --check-prefix=FEW
// RUN: sed 's/LENGTH/200000/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=3000 | FileCheck %s --check-prefix=LONG
// RUN: sed 's/LENGTH/8192/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=3000 | FileCheck %s --check-prefix=SHORT
// RUN: sed 's/LENGTH/32769/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=3000 | FileCheck %s --check-prefix=SHORT

// Clusters of small workgroups hold long rows with three sums, 128 columns a
// lane, and share each among more where rows are few.
// HELD:      threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 2,
// HELD-SAME: workgroups_per_row = 2, prefetch = 1, dependent_launch = true
// FEW:       threads_per_row = 128, {{.*}}workgroups_per_row = 8, prefetch = 1,
// LONG:      threads_per_row = 256, {{.*}}workgroups_per_row = 8, prefetch = 1,
// Short rows, and those that begin anywhere, are the model's.
// SHORT-NOT: threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 8,
func.func @loss(%x: memref<?xLENGTHxbf16>, %y: memref<?xf32>) {
  lnbwd.rowwise @loss domain(m | n) ins(%x[m, n] : memref<?xLENGTHxbf16>) outs(%y[m] : memref<?xf32>) {
  ^row(%xr: vector<LENGTHxbf16>):
    %a = arith.extf %xr : vector<LENGTHxbf16> to vector<LENGTHxf32>
    %largest = vector.reduction <maximumf>, %a : vector<LENGTHxf32> into f32
    %all = vector.broadcast %largest : f32 to vector<LENGTHxf32>
    %shifted = arith.subf %a, %all : vector<LENGTHxf32>
    %exp = math.exp %shifted : vector<LENGTHxf32>
    %sum = vector.reduction <add>, %exp : vector<LENGTHxf32> into f32
    %weighted = arith.mulf %exp, %shifted : vector<LENGTHxf32>
    %other = vector.reduction <add>, %weighted : vector<LENGTHxf32> into f32
    %r = arith.divf %other, %sum : f32
    lnbwd.yield %r : f32
  }
  return
}
