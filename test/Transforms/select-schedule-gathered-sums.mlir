// RUN: sed 's/LENGTH/4096/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=100000 | FileCheck %s --check-prefix=LONG
// RUN: sed 's/LENGTH/4096/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=500 | FileCheck %s --check-prefix=MODEL
// RUN: sed 's/LENGTH/1024/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=100000 | FileCheck %s --check-prefix=MODEL
// RUN: sed 's/LENGTH/4096/g' %s | lnbwd-opt --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=rows=100000 | FileCheck %s --check-prefix=MODEL
// RUN: sed 's/LENGTH/4096/g; s/500x/50000x/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=100000 | FileCheck %s --check-prefix=MODEL

// Many long sums of few gathered rows have several small workgroups on a compute
// unit, which stay.
// LONG: threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = {{[0-9]+}}, workgroups_per_compute_unit = 8,
// Few sums, short ones, those of many rows, and AMD's chips are the model's.
// MODEL: workgroups_per_compute_unit = 0,
func.func @sums(%rows: memref<500xLENGTHxbf16>, %places: memref<100001xi64>, %y: memref<?xLENGTHxbf16>) {
  lnbwd.rowwise @sums domain(m | n)
      ins(%rows[*, n] : memref<500xLENGTHxbf16>, %places[*] : memref<100001xi64>)
      outs(%y[m, n] : memref<?xLENGTHxbf16>) {
  ^row(%r: vector<500xLENGTHxbf16>, %p: vector<100001xi64>):
    %row = lnbwd.index 0 : i64
    %one = arith.constant 1 : i64
    %next = arith.addi %row, %one : i64
    %begin = lnbwd.gather %p[%row] : vector<100001xi64>, i64
    %end = lnbwd.gather %p[%next] : vector<100001xi64>, i64
    %sum = lnbwd.gather_sum %r[%begin to %end] : vector<500xLENGTHxbf16>, i64
    %rounded = arith.truncf %sum : vector<LENGTHxf32> to vector<LENGTHxbf16>
    lnbwd.yield %rounded : vector<LENGTHxbf16>
  }
  return
}
