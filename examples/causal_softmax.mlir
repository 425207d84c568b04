// Softmax of attention scores [heads, 48, 48] where a query sees the keys up to
// its own place: the index of the row and of its columns make the mask.
func.func @causal_softmax(%x: memref<?x48x48xf32>, %y: memref<?x48x48xf32>) {
  lnbwd.rowwise @causal_softmax domain(h, t | s) ins(%x[h, t, s] : memref<?x48x48xf32>)
      outs(%y[h, t, s] : memref<?x48x48xf32>) attributes {operand_names = ["x", "y"]} {
  ^row(%xr: vector<48xf32>):
    %t = lnbwd.index 1 : i32
    %s = lnbwd.index 2 : vector<48xi32>
    %tv = vector.broadcast %t : i32 to vector<48xi32>
    %isSeen = arith.cmpi ule, %s, %tv : vector<48xi32>
    %low = arith.constant dense<-1.0e30> : vector<48xf32>
    %seen = arith.select %isSeen, %xr, %low : vector<48xi1>, vector<48xf32>
    %largest = vector.reduction <maximumf>, %seen {lnbwd.detach} : vector<48xf32> into f32
    %lv = vector.broadcast %largest : f32 to vector<48xf32>
    %shifted = arith.subf %seen, %lv : vector<48xf32>
    %e = math.exp %shifted : vector<48xf32>
    %sum = vector.reduction <add>, %e : vector<48xf32> into f32
    %sv = vector.broadcast %sum : f32 to vector<48xf32>
    %p = arith.divf %e, %sv : vector<48xf32>
    lnbwd.yield %p : vector<48xf32>
  }
  return
}
