// RUN: split-file %s %t
// RUN: lnbwd-opt %t/exp.mlir --lnbwd-pipeline=chip=gfx942 --emit=isa | FileCheck %s --check-prefix=GFX
// RUN: lnbwd-opt %t/exp.mlir --lnbwd-pipeline=chip=gfx1201 --emit=isa | FileCheck %s --check-prefix=GFX
// RUN: lnbwd-opt %t/exp.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: not lnbwd-opt %t/remainder.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=LIBRARY

// No device library is needed for the exponential: it is multiply-adds around the
// instruction that both vendors have.
// GFX:     {{v_(pk_|dual_)?fma}}
// GFX:     v_exp_f32
// GFX-NOT: ocml
// PTX:     fma.rn.f32
// PTX:     ex2.approx.ftz.f32
// PTX-NOT: __nv

// What would need one is an error.
// LIBRARY: calls a function of NVIDIA's device library, '__nv_fmodf', which is not linked

//--- exp.mlir
func.func @exp(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @exp domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%row: vector<512xf32>):
    %e = math.exp %row : vector<512xf32>
    lnbwd.yield %e : vector<512xf32>
  }
  return
}

//--- remainder.mlir
func.func @remainder(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @remainder domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%row: vector<512xf32>):
    %e = arith.remf %row, %row : vector<512xf32>
    lnbwd.yield %e : vector<512xf32>
  }
  return
}
