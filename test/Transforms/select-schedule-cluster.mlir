// RUN: lnbwd-opt %s --lnbwd-select-schedule=chip=sm_90 | FileCheck %s

// Rows whose column sums no workgroup has the registers for are shared by the
// workgroups of a cluster, two of which fit a compute unit.
// CHECK: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, {{.*}}workgroups_per_compute_unit = 2, workgroups_per_row = 4, {{.*}}stages = {{[2-4]}}>
func.func @f(%x: memref<?x16384xbf16>, %y: memref<?x16384xbf16>, %s: memref<16384xf32>, %t: memref<16384xf32>) {
  lnbwd.rowwise @k rows(%x, %y : memref<?x16384xbf16>, memref<?x16384xbf16>)
      outs rows(%y : memref<?x16384xbf16>) column_sums(%s, %t : memref<16384xf32>, memref<16384xf32>) {
  ^bb0(%xr: vector<16384xbf16>, %yr: vector<16384xbf16>):
    %wide = arith.extf %xr : vector<16384xbf16> to vector<16384xf32>
    %other = arith.extf %yr : vector<16384xbf16> to vector<16384xf32>
    %sum = vector.reduction <add>, %wide : vector<16384xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<16384xf32>
    %narrow = arith.truncf %spread : vector<16384xf32> to vector<16384xbf16>
    lnbwd.yield %narrow, %wide, %other : vector<16384xbf16>, vector<16384xf32>, vector<16384xf32>
  }
  return
}
