// Adaptive LayerNorm, as diffusion transformers have it: the rows of each sample
// of a batch are normalised, and scaled and shifted by what was computed for that
// sample: y = xhat * (1 + scale[b]) + shift[b].
func.func @ada_layer_norm(%x: memref<?x?x512xf32>, %scale: memref<?x512xf32>, %shift: memref<?x512xf32>,
                          %y: memref<?x?x512xf32>, %mean: memref<?x?xf32>, %rstd: memref<?x?xf32>) {
  lnbwd.rowwise @ada_layer_norm domain(b, t | n)
      ins(%x[b, t, n] : memref<?x?x512xf32>, %scale[b, n] : memref<?x512xf32>,
          %shift[b, n] : memref<?x512xf32>)
      outs(%y[b, t, n] : memref<?x?x512xf32>, %mean[b, t] : memref<?x?xf32>,
           %rstd[b, t] : memref<?x?xf32>)
      attributes {operand_names = ["x", "scale", "shift", "y", "mean", "rstd"]} {
  ^row(%xr: vector<512xf32>, %s: vector<512xf32>, %t: vector<512xf32>):
    %n = arith.constant 512.0 : f32
    %eps = arith.constant 1.0e-6 : f32
    %one = arith.constant dense<1.0> : vector<512xf32>
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %m = arith.divf %sum, %n : f32
    %mv = vector.broadcast %m : f32 to vector<512xf32>
    %centred = arith.subf %xr, %mv : vector<512xf32>
    %squares = arith.mulf %centred, %centred : vector<512xf32>
    %total = vector.reduction <add>, %squares : vector<512xf32> into f32
    %variance = arith.divf %total, %n : f32
    %positive = arith.addf %variance, %eps : f32
    %r = math.rsqrt %positive : f32
    %rv = vector.broadcast %r : f32 to vector<512xf32>
    %xhat = arith.mulf %centred, %rv : vector<512xf32>
    %factor = arith.addf %s, %one : vector<512xf32>
    %yr = vector.fma %xhat, %factor, %t : vector<512xf32>
    lnbwd.yield %yr, %m, %r : vector<512xf32>, f32, f32
  }
  return
}
