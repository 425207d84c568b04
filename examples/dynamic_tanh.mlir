// Dynamic tanh, a map that stands in for a normalisation, with parameters for
// each column: y = gamma * tanh(alpha * x) + beta.
func.func @dynamic_tanh(%x: memref<?x512xf32>, %alpha: memref<512xf32>, %gamma: memref<512xf32>,
                        %beta: memref<512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @dynamic_tanh domain(m | n) ins(%x[m, n] : memref<?x512xf32>,
      %alpha[n] : memref<512xf32>, %gamma[n] : memref<512xf32>, %beta[n] : memref<512xf32>)
      outs(%y[m, n] : memref<?x512xf32>)
      attributes {operand_names = ["x", "alpha", "gamma", "beta", "y"]} {
  ^row(%xr: vector<512xf32>, %a: vector<512xf32>, %g: vector<512xf32>, %b: vector<512xf32>):
    %scaled = arith.mulf %a, %xr : vector<512xf32>
    %t = math.tanh %scaled : vector<512xf32>
    %yr = vector.fma %g, %t, %b : vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}
