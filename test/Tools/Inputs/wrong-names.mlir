func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>)
      attributes {operand_names = ["x", "x"]} {
  ^row(%row: vector<8xf32>):
    lnbwd.yield %row : vector<8xf32>
  }
  return
}
