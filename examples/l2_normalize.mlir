// Each row divided by its Euclidean norm, whose reciprocal is kept for the
// gradient.
func.func @l2_normalize(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %rnorm: memref<?xf32>) {
  lnbwd.rowwise @l2_normalize domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
      outs(%y[m, n] : memref<?x512xf32>, %rnorm[m] : memref<?xf32>)
      attributes {operand_names = ["x", "y", "rnorm"]} {
  ^row(%xr: vector<512xf32>):
    %eps = arith.constant 1.0e-12 : f32
    %squares = arith.mulf %xr, %xr : vector<512xf32>
    %sum = vector.reduction <add>, %squares : vector<512xf32> into f32
    %positive = arith.addf %sum, %eps : f32
    %r = math.rsqrt %positive : f32
    %rv = vector.broadcast %r : f32 to vector<512xf32>
    %yr = arith.mulf %xr, %rv : vector<512xf32>
    lnbwd.yield %yr, %r : vector<512xf32>, f32
  }
  return
}
