// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --canonicalize | FileCheck %s --check-prefix=ROW

// Rows after the linear layer have their own length; w is a matrix, dw an outer
// sum.
// CHECK-LABEL: func @forward(
// CHECK:         lnbwd.layer_norm_linear x(%{{[^)]*}} : memref<?x8xbf16>) gamma(%{{[^)]*}} : memref<8xf32>) beta(%{{[^)]*}} : memref<8xf32>)
// CHECK-SAME:      w(%{{[^)]*}} : memref<16x8xbf16>) b(%{{[^)]*}} : memref<16xf32>)
// CHECK-SAME:      outs out(%{{[^)]*}} : memref<?x16xbf16>) mean(%{{[^)]*}} : memref<?xf32>) rstd(%{{[^)]*}} : memref<?xf32>)
// What is multiplied is rounded as x is.
// ROW-LABEL: func @forward(
// ROW:         lnbwd.rowwise @layer_norm_linear domain(m | n0, n1) ins(%{{[^ ]+}}[m, n0] : memref<?x8xbf16>, %{{[^ ]+}}[n0] : memref<8xf32>, %{{[^ ]+}}[n0] : memref<8xf32>, %{{[^ ]+}}[n1] : memref<16xf32>,
// ROW-SAME:      %{{[^ ]+}}[n1, n0] : memref<16x8xbf16>) outs(%{{[^ ]+}}[m, n1] : memref<?x16xbf16>, %{{[^ ]+}}[m] :
// ROW:           %[[Z:.*]] = arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
// ROW:           %[[P:.*]] = lnbwd.linear %[[Z]], %w : vector<8xbf16>, vector<16x8xbf16>
// ROW:           arith.addf %[[P]], %b
func.func @forward(%x: memref<?x8xbf16>, %gamma: memref<8xf32>, %beta: memref<8xf32>, %w: memref<16x8xbf16>,
                   %b: memref<16xf32>, %out: memref<?x16xbf16>, %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm_linear x(%x : memref<?x8xbf16>) gamma(%gamma : memref<8xf32>) beta(%beta : memref<8xf32>)
      w(%w : memref<16x8xbf16>) b(%b : memref<16xf32>)
      outs out(%out : memref<?x16xbf16>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}

// On tensors, and without what may be absent.
// CHECK-LABEL: func @tensors(
// CHECK:         lnbwd.rms_norm_linear x(%{{[^)]*}} : tensor<4x8xf32>) w(%{{[^)]*}} : tensor<16x8xf32>) outs out(%{{[^)]*}} : tensor<4x16xf32>) -> tensor<4x16xf32>
// ROW-LABEL: func @tensors(
// ROW:         lnbwd.rowwise @rms_norm_linear domain(m | n0, n1) ins(%{{[^,]*}}[m, n0] : {{[^,]*}}, %{{[^,]*}}[n1, n0] : {{[^,]*}}) outs(%{{[^,]*}}[m, n1] : {{[^,]*}})
func.func @tensors(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %out: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = lnbwd.rms_norm_linear x(%x : tensor<4x8xf32>) w(%w : tensor<16x8xf32>)
      outs out(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: func @gradient(
// CHECK:         lnbwd.layer_norm_linear_bwd dout(%{{[^)]*}} : memref<?x16xbf16>) x(%{{[^)]*}} : memref<?x8xbf16>) gamma(%{{[^)]*}})
// CHECK-SAME:      beta(%{{[^)]*}}) w(%{{[^)]*}} : memref<16x8xbf16>) mean(%{{[^)]*}}) rstd(%{{[^)]*}})
// CHECK-SAME:      outs dx(%{{[^)]*}} : memref<?x8xbf16>) dgamma(%{{[^)]*}}) dbeta(%{{[^)]*}}) dw(%{{[^)]*}} : memref<16x8xf32>) db(%{{[^)]*}} : memref<16xf32>)
// ROW-LABEL: func @gradient(
// ROW:         lnbwd.rowwise @layer_norm_linear_bwd domain(m | n0, n1) ins(%{{[^ ]+}}[m, n1] : memref<?x16xbf16>, %{{[^ ]+}}[m, n0] : memref<?x8xbf16>,
// ROW-SAME:      %{{[^ ]+}}[n0] add : memref<8xf32>, %{{[^ ]+}}[n0] add : memref<8xf32>, %{{[^ ]+}}[n1] add : memref<16xf32>, %{{[^ ]+}}[n1, n0] add : memref<16x8xf32>)
// ROW-SAME:      operand_names = ["dout", "x", "gamma", "beta", "mean", "rstd", "w", "dx", "dgamma", "dbeta", "db", "dw"]
// ROW:           lnbwd.linear %dout, %w transposed : vector<16xbf16>, vector<16x8xbf16>
// ROW:           vector.outerproduct
func.func @gradient(%dout: memref<?x16xbf16>, %x: memref<?x8xbf16>, %gamma: memref<8xf32>, %beta: memref<8xf32>,
                    %w: memref<16x8xbf16>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xbf16>,
                    %dgamma: memref<8xf32>, %dbeta: memref<8xf32>, %dw: memref<16x8xf32>, %db: memref<16xf32>) {
  lnbwd.layer_norm_linear_bwd dout(%dout : memref<?x16xbf16>) x(%x : memref<?x8xbf16>) gamma(%gamma : memref<8xf32>)
      beta(%beta : memref<8xf32>) w(%w : memref<16x8xbf16>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x8xbf16>) dgamma(%dgamma : memref<8xf32>) dbeta(%dbeta : memref<8xf32>)
           dw(%dw : memref<16x8xf32>) db(%db : memref<16xf32>)
  return
}

// The gradient of a weight reads gamma: it is not dropped where there is no dx.
// ROW-LABEL: func @weight(
// ROW:         lnbwd.rowwise @rms_norm_linear_bwd {{.*}} %{{[^,]*}}[n0] : memref<8xf32>
func.func @weight(%dout: memref<?x16xf32>, %x: memref<?x8xf32>, %gamma: memref<8xf32>, %w: memref<16x8xf32>,
                  %rstd: memref<?xf32>, %dw: memref<16x8xf32>) {
  lnbwd.rms_norm_linear_bwd dout(%dout : memref<?x16xf32>) x(%x : memref<?x8xf32>) gamma(%gamma : memref<8xf32>)
      w(%w : memref<16x8xf32>) rstd(%rstd : memref<?xf32>) outs dw(%dw : memref<16x8xf32>)
  return
}
