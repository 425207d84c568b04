// RUN: lnbwd-opt %s --lnbwd-simplify-contractions --verify-diagnostics

func.func @tensors(%x: tensor<?x64xf32>, %w: tensor<96x64xf32>, %y: tensor<?x96xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{expected memrefs and no schedule; run bufferization before, and lnbwd-select-schedule after}}
  %0 = lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : tensor<?x64xf32>, %w[n1, n0] : tensor<96x64xf32>)
      outs(%y[m, n1] : tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return %0 : tensor<?x96xf32>
}
