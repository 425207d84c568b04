// A row program with the arguments of LayerNorm backward and another formula.
func.func @wrong(%dy: memref<?x64xf32>, %x: memref<?x64xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>,
                 %dx: memref<?x64xf32>)
    attributes {lnbwd.operation = #lnbwd.operation<name = "layer_norm_bwd">} {
  lnbwd.rowwise @wrong domain(m | n) ins(%dy[m, n] : memref<?x64xf32>, %x[m, n] : memref<?x64xf32>,
      %mean[m] : memref<?xf32>, %rstd[m] : memref<?xf32>) outs(%dx[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["dy", "x", "mean", "rstd", "dx"]} {
  ^bb0(%dyr: vector<64xf32>, %xr: vector<64xf32>, %m: f32, %r: f32):
    %spread_m = vector.broadcast %m : f32 to vector<64xf32>
    %spread_r = vector.broadcast %r : f32 to vector<64xf32>
    %centered = arith.subf %xr, %spread_m : vector<64xf32>
    %xhat = arith.mulf %centered, %spread_r : vector<64xf32>
    %y = arith.mulf %dyr, %xhat : vector<64xf32>
    lnbwd.yield %y : vector<64xf32>
  }
  return
}
