// LayerNorm and the linear layer behind it: out = LayerNorm(x) W^T + b. The gradient
// of all five (docs/layer-norm-linear.md), its kernels, and a run that compares them
// with float64:
//
//   lnbwd-opt examples/layer_norm_linear.mlir --lnbwd-differentiate
//   lnbwd-opt examples/layer_norm_linear.mlir --lnbwd-differentiate
//       | lnbwd-opt - --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o layer_norm_linear_bwd.hsaco
//   lnbwd-run layer_norm_linear_bwd.hsaco --m 16 --verify
func.func @layer_norm_linear(%x: memref<?x96xbf16>, %gamma: memref<96xf32>, %beta: memref<96xf32>,
                             %w: memref<160x96xbf16>, %b: memref<160xf32>, %out: memref<?x160xbf16>,
                             %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm_linear x(%x : memref<?x96xbf16>) gamma(%gamma : memref<96xf32>)
      beta(%beta : memref<96xf32>) w(%w : memref<160x96xbf16>) b(%b : memref<160xf32>)
      outs out(%out : memref<?x160xbf16>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}
