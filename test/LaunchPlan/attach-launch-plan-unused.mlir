// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 | FileCheck %s

// dgamma and dbeta are not returned, and so not computed: the plan names no
// operand that no kernel writes.

// CHECK: \22operation\22:{\22name\22:\22layer_norm_bwd\22,\22operands\22:{\22dx\22:5,\22dy\22:0,\22gamma\22:2,\22mean\22:3,\22rstd\22:4,\22x\22:1}}
func.func @only_dx(
    %dy: tensor<?x64xbf16>, %x: tensor<?x64xbf16>, %gamma: tensor<64xbf16>,
    %mean: tensor<?xf32>, %rstd: tensor<?xf32>, %a: tensor<?x64xbf16>,
    %b: tensor<64xbf16>, %c: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %dx, %dgamma, %dbeta = lnbwd.layer_norm_bwd
      dy(%dy : tensor<?x64xbf16>) x(%x : tensor<?x64xbf16>)
      gamma(%gamma : tensor<64xbf16>)
      mean(%mean : tensor<?xf32>) rstd(%rstd : tensor<?xf32>)
      outs dx(%a : tensor<?x64xbf16>) dgamma(%b : tensor<64xbf16>)
           dbeta(%c : tensor<64xbf16>)
      -> tensor<?x64xbf16>, tensor<64xbf16>, tensor<64xbf16>
  return %dx : tensor<?x64xbf16>
}
