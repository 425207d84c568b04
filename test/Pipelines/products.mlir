// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=isa | FileCheck %s --check-prefix=MFMA
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx1201 --emit=isa | FileCheck %s --check-prefix=WMMA
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=sm_80 --emit=ptx | FileCheck %s --check-prefix=CUDA
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=sm_90 --emit=ptx | FileCheck %s --check-prefix=CUDA

// The main loop on each kind of chip: what was loaded goes to shared memory, and
// from there to the products.
// MFMA: global_load_dwordx4
// MFMA: s_barrier
// MFMA: ds_write_b128
// MFMA: s_barrier
// MFMA: ds_read_b128
// MFMA: v_mfma_f32_16x16x16_bf16
// MFMA: .vgpr_spill_count: 0

// WMMA: global_load_b128
// WMMA: ds_store_b128
// WMMA: ds_load_b128
// WMMA: v_wmma_f32_16x16x16_bf16

// CUDA: ld.global.v4
// CUDA: bar.sync
// CUDA: st.shared.v4
// CUDA: bar.sync
// CUDA: ld.shared.v4
// CUDA: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @f(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<?x4096xf32>) {
  lnbwd.rowwise @f domain(m | n0, n1) ins(%x[m, n0] : memref<?x4096xbf16>, %w[n1, n0] : memref<4096x4096xbf16>)
      outs(%y[m, n1] : memref<?x4096xf32>) {
  ^row(%xr: vector<4096xbf16>, %wm: vector<4096x4096xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<4096xbf16>, vector<4096x4096xbf16>
    lnbwd.yield %p : vector<4096xf32>
  }
  return
}
