// The first of a row's largest elements, of which a NaN is one, and where it
// is: greedy decoding of logits.
func.func @argmax(%x: memref<?x50257xf32>, %largest: memref<?xf32>, %place: memref<?xi64>) {
  lnbwd.rowwise @argmax domain(m | n) ins(%x[m, n] : memref<?x50257xf32>)
      outs(%largest[m] : memref<?xf32>, %place[m] : memref<?xi64>)
      attributes {operand_names = ["x", "largest", "place"]} {
  ^row(%xr: vector<50257xf32>):
    %m = vector.reduction <maximumf>, %xr : vector<50257xf32> into f32
    %mv = vector.broadcast %m : f32 to vector<50257xf32>
    %isLargest = arith.cmpf oeq, %xr, %mv : vector<50257xf32>
    %isNaN = arith.cmpf uno, %xr, %xr : vector<50257xf32>
    %isIt = arith.ori %isLargest, %isNaN : vector<50257xi1>
    // The smallest of their numbers, which float32 has up to 2^24.
    %n = lnbwd.index 1 : vector<50257xi32>
    %number = arith.uitofp %n : vector<50257xi32> to vector<50257xf32>
    %below = arith.negf %number : vector<50257xf32>
    %none = arith.constant dense<0xFF800000> : vector<50257xf32>
    %places = arith.select %isIt, %below, %none : vector<50257xi1>, vector<50257xf32>
    %first = vector.reduction <maximumf>, %places : vector<50257xf32> into f32
    %above = arith.negf %first : f32
    %i = arith.fptosi %above : f32 to i32
    %wide = arith.extsi %i : i32 to i64
    lnbwd.yield %m, %wide : f32, i64
  }
  return
}
