func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs rows(%y : memref<?x8xf32>)
      attributes {operand_names = ["x", "x"]} {
  ^row(%row: vector<8xf32>):
    lnbwd.yield %row : vector<8xf32>
  }
  return
}
