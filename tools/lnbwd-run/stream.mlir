// Two reads and one write: how fast a device's memory is for this kind of work.
// lnbwd-run --time compiles it, and bench/ too, in several schedules.
func.func @stream(%a: memref<?x1024xf32>, %b: memref<?x1024xf32>, %c: memref<?x1024xf32>) {
  lnbwd.rowwise @stream domain(m | n) ins(%a[m, n] : memref<?x1024xf32>, %b[m, n] : memref<?x1024xf32>)
      outs(%c[m, n] : memref<?x1024xf32>) attributes {operand_names = ["a", "b", "c"]} {
  ^row(%x: vector<1024xf32>, %y: vector<1024xf32>):
    %sum = arith.addf %x, %y : vector<1024xf32>
    lnbwd.yield %sum : vector<1024xf32>
  }
  return
}
