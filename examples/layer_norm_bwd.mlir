// LayerNorm backward for rows of 1024 bfloat16 elements: the gradients of the
// input, of gamma and of beta, with the statistics that the forward pass saved.
func.func @layer_norm_bwd(
    %dy: tensor<?x1024xbf16>, %x: tensor<?x1024xbf16>,
    %gamma: tensor<1024xbf16>, %mean: tensor<?xf32>, %rstd: tensor<?xf32>)
    -> (tensor<?x1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %0 = tensor.empty(%m) : tensor<?x1024xbf16>
  %1 = tensor.empty() : tensor<1024xbf16>
  %2 = tensor.empty() : tensor<1024xbf16>
  %dx, %dgamma, %dbeta = lnbwd.layer_norm_bwd
      dy(%dy : tensor<?x1024xbf16>) x(%x : tensor<?x1024xbf16>)
      gamma(%gamma : tensor<1024xbf16>)
      mean(%mean : tensor<?xf32>) rstd(%rstd : tensor<?xf32>)
      outs dx(%0 : tensor<?x1024xbf16>) dgamma(%1 : tensor<1024xbf16>)
           dbeta(%2 : tensor<1024xbf16>)
      -> tensor<?x1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>
  return %dx, %dgamma, %dbeta
      : tensor<?x1024xbf16>, tensor<1024xbf16>, tensor<1024xbf16>
}
