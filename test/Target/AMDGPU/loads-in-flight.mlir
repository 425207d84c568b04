// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=128,row_groups=1,prefetch=1,unroll=1,workgroups_per_compute_unit=4" --emit=isa -o - | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=128,row_groups=1,prefetch=0,unroll=1,workgroups_per_compute_unit=4" --emit=isa -o - | FileCheck %s --check-prefix=NONE
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx1201 schedule=threads_per_row=128,row_groups=1,prefetch=1,unroll=1,workgroups_per_compute_unit=4" --emit=isa -o - | FileCheck %s --check-prefix=GFX12

// With `prefetch` the loads of the next row are in flight while a row is summed
// and stored: no wait until then is for all loads. Without, the first one is.
// CHECK-LABEL: rows:
// CHECK:       .LBB0_2:
// CHECK:         buffer_load_dwordx4
// CHECK:         s_waitcnt vmcnt({{[1-9][0-9]*}})
// CHECK-NOT:     s_waitcnt vmcnt(0)
// CHECK:         s_barrier
// CHECK-NOT:     s_waitcnt vmcnt(0)
// CHECK:         _store_dwordx4
//
// NONE-LABEL:  rows:
// NONE:        .LBB0_2:
// NONE:          s_waitcnt vmcnt(0)
// NONE:          s_barrier
//
// GFX12-LABEL: rows:
// GFX12:       .LBB0_2:
// GFX12:         buffer_load_b128
// GFX12:         s_wait_loadcnt 0x{{[1-9]}}
// GFX12-NOT:     s_wait_loadcnt 0x0
// GFX12:         s_barrier_wait
// GFX12-NOT:     s_wait_loadcnt 0x0
// GFX12:         _store_b128
func.func @rows(%x: memref<?x1024xbf16>, %y: memref<?x1024xbf16>) {
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>) outs(%y[m, n] : memref<?x1024xbf16>) {
  ^bb0(%xr: vector<1024xbf16>):
    %wide = arith.extf %xr : vector<1024xbf16> to vector<1024xf32>
    %sum = vector.reduction <add>, %wide : vector<1024xf32> into f32
    %all = vector.broadcast %sum : f32 to vector<1024xf32>
    %scaled = arith.mulf %wide, %all : vector<1024xf32>
    %narrow = arith.truncf %scaled : vector<1024xf32> to vector<1024xbf16>
    lnbwd.yield %narrow : vector<1024xbf16>
  }
  return
}
