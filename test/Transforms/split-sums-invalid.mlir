// RUN: lnbwd-opt %s --lnbwd-split-sums --verify-diagnostics

func.func @tensors(%x: tensor<?x8xf32>, %o: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{expected memrefs and no schedule; run bufferization before, and lnbwd-select-schedule after}}
  %r = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x8xf32>) outs(%o[] add : tensor<f32>) -> tensor<f32> {
  ^row(%v: vector<8xf32>):
    %s = vector.reduction <add>, %v : vector<8xf32> into f32
    lnbwd.yield %s : f32
  }
  return %r : tensor<f32>
}
