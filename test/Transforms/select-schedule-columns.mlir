// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=2,vector_width=4,rows_per_workgroup=4,workgroups_per_compute_unit=2,prefetch=0,stages=0 | FileCheck %s --implicit-check-not=late_columns
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=1,vector_width=4,rows_per_workgroup=4,workgroups_per_compute_unit=2,prefetch=0,stages=0 | FileCheck %s --check-prefix=NONE --implicit-check-not=widen_columns --implicit-check-not=late_columns
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=2,vector_width=4,rows_per_workgroup=2,workgroups_per_compute_unit=0,prefetch=0,stages=0 | FileCheck %s --check-prefix=ONCE --implicit-check-not=widen_columns
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=32,row_groups=4,vector_width=4,rows_per_workgroup=4,workgroups_per_compute_unit=0,prefetch=0,stages=0 | FileCheck %s --check-prefix=NONE --implicit-check-not=late_columns
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=2,vector_width=4,rows_per_workgroup=2,workgroups_per_compute_unit=0,prefetch=0,stages=0,late_columns=0,widen_columns=1 | FileCheck %s --check-prefix=SAID --implicit-check-not=late_columns
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=threads_per_row=64,row_groups=2,vector_width=4,rows_per_workgroup=4,workgroups_per_compute_unit=2,prefetch=0 | FileCheck %s --check-prefix=NONE --implicit-check-not=widen_columns

// Where rows may be left that do not fill a tile and a sum waits for another,
// columns are widened ahead of the loop. Where a workgroup has one tile and
// several waves share a row, they are loaded late.
// CHECK-LABEL: func @several(
// CHECK:         widen_columns = true
// NONE-LABEL:  func @several(
// ONCE-LABEL:  func @several(
// ONCE:          late_columns = true
// SAID-LABEL:  func @several(
// SAID:          widen_columns = true
func.func @several(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @several domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %first = vector.reduction <add>, %xw : vector<512xf32> into f32
    %spread = vector.broadcast %first : f32 to vector<512xf32>
    %c = arith.subf %xw, %spread : vector<512xf32>
    %square = arith.mulf %c, %c : vector<512xf32>
    %second = vector.reduction <add>, %square : vector<512xf32> into f32
    %scale = vector.broadcast %second : f32 to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %gw, %scale : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}


// One sum alone, or column sums.
// CHECK-LABEL: func @one(
// CHECK-NOT:     widen_columns
func.func @one(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @one domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %first = vector.reduction <add>, %xw : vector<512xf32> into f32
    %scale = vector.broadcast %first : f32 to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %gw, %scale : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}
