// LayerNorm and the linear layer behind it: out = LayerNorm(x) W^T + b. The gradient
// of all five (docs/python.md), its kernels, and a run that compares them
// with float64:
//
//   lnbwd-opt examples/layer_norm_linear.mlir --lnbwd-differentiate="saved=mean,rstd"
//   lnbwd-opt examples/layer_norm_linear.mlir --lnbwd-differentiate="saved=mean,rstd"
//       | lnbwd-opt - --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o layer_norm_linear_bwd.hsaco
//   lnbwd-run layer_norm_linear_bwd.hsaco --m 16 --verify
func.func @layer_norm_linear(%x: memref<?x96xbf16>, %gamma: memref<96xf32>, %beta: memref<96xf32>,
                             %w: memref<160x96xbf16>, %b: memref<160xf32>, %out: memref<?x160xbf16>,
                             %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.rowwise @layer_norm_linear domain(m | k, n)
      ins(%x[m, k] : memref<?x96xbf16>, %gamma[k] : memref<96xf32>, %beta[k] : memref<96xf32>,
          %b[n] : memref<160xf32>, %w[n, k] : memref<160x96xbf16>)
      outs(%out[m, n] : memref<?x160xbf16>, %mean[m] : memref<?xf32>, %rstd[m] : memref<?xf32>)
      attributes {operand_names = ["x", "gamma", "beta", "b", "w", "out", "mean", "rstd"]} {
  ^row(%x_row: vector<96xbf16>, %gammas: vector<96xf32>, %betas: vector<96xf32>, %bs: vector<160xf32>,
       %weight: vector<160x96xbf16>):
    %over_n = arith.constant 0.010416667 : f32
    %epsilon = arith.constant 1.0e-5 : f32
    %wide = arith.extf %x_row : vector<96xbf16> to vector<96xf32>
    %sum = vector.reduction <add>, %wide : vector<96xf32> into f32
    %row_mean = arith.mulf %sum, %over_n : f32
    %means = vector.broadcast %row_mean : f32 to vector<96xf32>
    %centred = arith.subf %wide, %means : vector<96xf32>
    %squares = arith.mulf %centred, %centred : vector<96xf32>
    %square = vector.reduction <add>, %squares : vector<96xf32> into f32
    %variance = arith.mulf %square, %over_n : f32
    %moved = arith.addf %variance, %epsilon : f32
    %row_rstd = math.rsqrt %moved : f32
    %rstds = vector.broadcast %row_rstd : f32 to vector<96xf32>
    %xhat = arith.mulf %centred, %rstds : vector<96xf32>
    %scaled = arith.mulf %xhat, %gammas : vector<96xf32>
    %z = arith.addf %scaled, %betas : vector<96xf32>
    %rounded = arith.truncf %z : vector<96xf32> to vector<96xbf16>
    %product = lnbwd.linear %rounded, %weight : vector<96xbf16>, vector<160x96xbf16>
    %y = arith.addf %product, %bs : vector<160xf32>
    %out_row = arith.truncf %y : vector<160xf32> to vector<160xbf16>
    lnbwd.yield %out_row, %row_mean, %row_rstd : vector<160xbf16>, f32, f32
  }
  return
}
