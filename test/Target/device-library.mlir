// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=isa | FileCheck %s --check-prefix=GFX
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx1201 --emit=isa | FileCheck %s --check-prefix=GFX
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=sm_90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX

// AMD's code generator expands the exponential; NVIDIA's wants a library.

// GFX:     v_exp_f32
// GFX-NOT: ocml
// PTX:     calls a function of NVIDIA's device library, '__nv_expf', which is not linked
func.func @exp(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @exp rows(%x : memref<?x512xf32>) outs rows(%y : memref<?x512xf32>) {
  ^bb0(%row: vector<512xf32>):
    %e = math.exp %row : vector<512xf32>
    lnbwd.yield %e : vector<512xf32>
  }
  return
}
