// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 rows=4" --split-input-file | FileCheck %s

// Where matrices are multiplied, workgroups read rows that others may have
// written: no output may lie over an input.
// CHECK-LABEL: gpu.module @product_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22separate_buffers\22:true
func.func @product(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>, %y: memref<?x64xbf16>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %w[n1, n0] : memref<64x64xbf16>) outs(%y[m, n0] : memref<?x64xbf16>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<64xbf16>, %wm: vector<64x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<64x64xbf16>
    %o = arith.truncf %p : vector<64xf32> to vector<64xbf16>
    lnbwd.yield %o : vector<64xbf16>
  }
  return
}

// -----

// The second kernel reads what the first may have written over.
// CHECK-LABEL: gpu.module @reads_again_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22separate_buffers\22:true
func.func @reads_again(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>) {
  lnbwd.rowwise @first domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) attributes {operand_names = ["x", "y"]} {
  ^row(%xr: vector<64xf32>):
    %s = arith.addf %xr, %xr : vector<64xf32>
    lnbwd.yield %s : vector<64xf32>
  }
  lnbwd.rowwise @second domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) attributes {operand_names = ["x", "z"]} {
  ^row(%xr: vector<64xf32>):
    %s = arith.mulf %xr, %xr : vector<64xf32>
    lnbwd.yield %s : vector<64xf32>
  }
  return
}

// -----

// Sums over all rows come in two kernels, too, of which the second reads no
// rows: dx may lie over dy.
// CHECK-LABEL: gpu.module @row_program_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-NOT:     separate_buffers
func.func @row_program(%dy: memref<?x64xf32>, %x: memref<?x64xf32>, %rstd: memref<?xf32>, %dx: memref<?x64xf32>,
                       %dgamma: memref<64xf32>) {
  lnbwd.rms_norm_bwd dy(%dy : memref<?x64xf32>) x(%x : memref<?x64xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x64xf32>) dgamma(%dgamma : memref<64xf32>)
  return
}
