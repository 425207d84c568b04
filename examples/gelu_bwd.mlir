// The gradient of GELU, and that of the bias that was added before it, as a
// training step has it behind each linear layer: no row sums, one column sum.
//   dh = dy (Phi(h) + h phi(h)), dbias = sum of dh over all rows
func.func @gelu_bwd(%dy: memref<?x4096xbf16>, %h: memref<?x4096xbf16>, %dh: memref<?x4096xbf16>, %dbias: memref<4096xf32>) {
  lnbwd.rowwise @gelu_bwd domain(m | n) ins(%dy[m, n] : memref<?x4096xbf16>, %h[m, n] : memref<?x4096xbf16>)
      outs(%dh[m, n] : memref<?x4096xbf16>, %dbias[n] add : memref<4096xf32>)
      attributes {operand_names = ["dy", "h", "dh", "dbias"]} {
  ^row(%dyr: vector<4096xbf16>, %hr: vector<4096xbf16>):
    %half = arith.constant dense<0.5> : vector<4096xf32>
    %mhalf = arith.constant dense<-0.5> : vector<4096xf32>
    %one = arith.constant dense<1.0> : vector<4096xf32>
    %rsqrt2 = arith.constant dense<0.707106781> : vector<4096xf32>
    %rsqrt2pi = arith.constant dense<0.398942280> : vector<4096xf32>
    %d = arith.extf %dyr : vector<4096xbf16> to vector<4096xf32>
    %x = arith.extf %hr : vector<4096xbf16> to vector<4096xf32>
    %s = arith.mulf %x, %rsqrt2 fastmath<contract> : vector<4096xf32>
    %e = math.erf %s : vector<4096xf32>
    %e1 = arith.addf %e, %one fastmath<contract> : vector<4096xf32>
    %cdf = arith.mulf %e1, %half fastmath<contract> : vector<4096xf32>
    %xx = arith.mulf %x, %x fastmath<contract> : vector<4096xf32>
    %a = arith.mulf %xx, %mhalf fastmath<contract> : vector<4096xf32>
    %ex = math.exp %a : vector<4096xf32>
    %pdf = arith.mulf %ex, %rsqrt2pi fastmath<contract> : vector<4096xf32>
    %g0 = arith.mulf %x, %pdf fastmath<contract> : vector<4096xf32>
    %g = arith.addf %g0, %cdf fastmath<contract> : vector<4096xf32>
    %r = arith.mulf %d, %g fastmath<contract> : vector<4096xf32>
    %o = arith.truncf %r : vector<4096xf32> to vector<4096xbf16>
    lnbwd.yield %o, %r : vector<4096xbf16>, vector<4096xf32>
  }
  return
}
