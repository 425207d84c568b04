// LayerNorm and the linear layer behind it: y = LayerNorm(x) W^T + b. The gradient
// of all five, simplified (docs/layer-norm-linear.md), and its kernels:
//
//   lnbwd-opt layer_norm_linear.mlir --lnbwd-differentiate="of=y saved=mean,rstd" \
//       --lnbwd-simplify-contractions
//   lnbwd-opt layer_norm_linear.mlir --lnbwd-differentiate="of=y saved=mean,rstd" \
//       | lnbwd-opt - --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o layer_norm_linear_bwd.hsaco
func.func @layer_norm_linear(%x: memref<?x768xbf16>, %gamma: memref<768xf32>, %beta: memref<768xf32>,
                             %b: memref<2304xf32>, %w: memref<2304x768xbf16>, %y: memref<?x2304xbf16>,
                             %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.rowwise @layer_norm_linear rows(%x : memref<?x768xbf16>)
      columns(%gamma, %beta, %b : memref<768xf32>, memref<768xf32>, memref<2304xf32>)
      matrices(%w : memref<2304x768xbf16>)
      outs rows(%y : memref<?x2304xbf16>) scalars(%mean, %rstd : memref<?xf32>, memref<?xf32>)
      attributes {operand_names = ["x", "gamma", "beta", "b", "w", "y", "mean", "rstd"]} {
  ^row(%xn: vector<768xbf16>, %g: vector<768xf32>, %be: vector<768xf32>, %br: vector<2304xf32>,
       %wm: vector<2304x768xbf16>):
    %over_n = arith.constant 1.30208333e-3 : f32
    %eps = arith.constant 1.0e-5 : f32
    %xr = arith.extf %xn : vector<768xbf16> to vector<768xf32>
    %sum = vector.reduction <add>, %xr : vector<768xf32> into f32
    %m = arith.mulf %sum, %over_n : f32
    %mv = vector.broadcast %m : f32 to vector<768xf32>
    %centred = arith.subf %xr, %mv : vector<768xf32>
    %squares = arith.mulf %centred, %centred : vector<768xf32>
    %square = vector.reduction <add>, %squares : vector<768xf32> into f32
    %variance = arith.mulf %square, %over_n : f32
    %moved = arith.addf %variance, %eps : f32
    %r = math.rsqrt %moved : f32
    %rv = vector.broadcast %r : f32 to vector<768xf32>
    %xhat = arith.mulf %centred, %rv : vector<768xf32>
    %z = vector.fma %xhat, %g, %be : vector<768xf32>
    // Rounded as PyTorch rounds the normalised rows: a product of bf16.
    %zn = arith.truncf %z : vector<768xf32> to vector<768xbf16>
    %p = lnbwd.linear %zn, %wm : vector<768xbf16>, vector<2304x768xbf16>
    %yr = arith.addf %p, %br : vector<2304xf32>
    %yn = arith.truncf %yr : vector<2304xf32> to vector<2304xbf16>
    lnbwd.yield %yn, %m, %r : vector<2304xbf16>, f32, f32
  }
  return
}
