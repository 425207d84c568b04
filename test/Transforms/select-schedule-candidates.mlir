// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=candidates=3 -o /dev/null 2>&1 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1100 --lnbwd-select-schedule=candidates=3 -o /dev/null 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=8192 | FileCheck %s --check-prefix=HINT
// RUN: sed 's/<?x/<8192x/g' %s | lnbwd-opt --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s --check-prefix=HINT

// The best schedules by the learned model, with the times that it predicts; and
// the choice for any number of rows, of which 8192 are expected, is that for
// 8192 rows.
// CHECK-COUNT-3: remark: predicted {{[0-9]+\.[0-9]+}} us: #lnbwd.schedule<threads_per_row = {{.*}}>
// AMD-COUNT-3: remark: predicted {{[0-9]+\.[0-9]+}} us: #lnbwd.schedule<threads_per_row = {{.*}}>
// HINT: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0,
func.func @f(%x: memref<?x4096xbf16>, %y: memref<?x4096xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xbf16>) outs(%y[m, n] : memref<?x4096xbf16>) {
  ^bb0(%xr: vector<4096xbf16>):
    %wide = arith.extf %xr : vector<4096xbf16> to vector<4096xf32>
    %square = arith.mulf %wide, %wide : vector<4096xf32>
    %sum = vector.reduction <add>, %square : vector<4096xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<4096xf32>
    %scaled = arith.mulf %wide, %spread : vector<4096xf32>
    %narrow = arith.truncf %scaled : vector<4096xf32> to vector<4096xbf16>
    lnbwd.yield %narrow : vector<4096xbf16>
  }
  return
}
