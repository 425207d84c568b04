// Softmax over each row. The largest element is taken off, so that no
// exponential overflows; it does not change the result, hence its derivative is
// none, and the row maximum counts as a constant.
func.func @softmax(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @softmax domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^row(%xr: vector<512xf32>):
    %largest = vector.reduction <maximumf>, %xr {lnbwd.detach} : vector<512xf32> into f32
    %lv = vector.broadcast %largest : f32 to vector<512xf32>
    %shifted = arith.subf %xr, %lv : vector<512xf32>
    %e = math.exp %shifted : vector<512xf32>
    %sum = vector.reduction <add>, %e : vector<512xf32> into f32
    %sv = vector.broadcast %sum : f32 to vector<512xf32>
    %yr = arith.divf %e, %sv : vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}
