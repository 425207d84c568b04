// RUN: lnbwd-opt %s --lnbwd-fix-order | FileCheck %s

// CHECK-LABEL: lnbwd.rowwise @fused
// CHECK-SAME:    attributes {canonical
// The first product of two, and one that is taken off.
// CHECK:         %[[SECOND:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<64xf32>
// CHECK:         %[[SUM:.*]] = math.fma %{{.*}}, %{{.*}}, %[[SECOND]] : vector<64xf32>
// CHECK:         %[[MINUS:.*]] = arith.negf %{{.*}} : vector<64xf32>
// CHECK:         %[[REST:.*]] = math.fma %[[MINUS]], %{{.*}}, %[[SUM]] : vector<64xf32>
// Not what two operations use, nor what must not be fused.
// CHECK:         %[[TWICE:.*]] = arith.mulf %[[REST]], %[[REST]] : vector<64xf32>
// CHECK:         arith.addf %[[TWICE]], %[[TWICE]] : vector<64xf32>
// CHECK:         arith.mulf
// CHECK-SAME:      : vector<64xf32>
// CHECK:         arith.addf
// CHECK-NOT:     fastmath
func.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @fused domain(m | n) ins(%x[m, n] : memref<?x64xf32>)
      outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%a: vector<64xf32>):
    %first = arith.mulf %a, %a fastmath<contract> : vector<64xf32>
    %c = arith.constant dense<2.0> : vector<64xf32>
    %second = arith.mulf %a, %c fastmath<contract> : vector<64xf32>
    %sum = arith.addf %first, %second fastmath<contract> : vector<64xf32>
    %third = arith.mulf %a, %c fastmath<contract> : vector<64xf32>
    %rest = arith.subf %sum, %third fastmath<contract> : vector<64xf32>
    %twice = arith.mulf %rest, %rest fastmath<contract> : vector<64xf32>
    %both = arith.addf %twice, %twice fastmath<contract> : vector<64xf32>
    %plain = arith.mulf %both, %c : vector<64xf32>
    %end = arith.addf %plain, %a fastmath<contract> : vector<64xf32>
    lnbwd.yield %end : vector<64xf32>
  }
  return
}
