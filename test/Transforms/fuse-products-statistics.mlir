// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=always" --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx1030 prologues=always" --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942" --split-input-file | FileCheck %s --check-prefix=AUTO
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=never" --split-input-file | FileCheck %s --check-prefix=APART

// Row sums stay in a program of their own, which writes what the rows need of
// them, and the outputs. What the rows do not need of the operands is not read
// for them.
// CHECK-LABEL: func @normalised(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xbf16>, %[[G:.*]]: memref<64xf32>, %[[E:.*]]: memref<?xf32>, %[[W:.*]]: memref<48x64xbf16>, %[[Y:.*]]: memref<?x48xf32>, %[[MEAN:.*]]: memref<?xf32>, %[[RSTD:.*]]: memref<?xf32>
// CHECK:         %[[M:.*]] = lnbwd.row_count %[[X]]
// CHECK-DAG:     %[[S0:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar} : memref<?xf32>
// CHECK-DAG:     %[[S1:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar} : memref<?xf32>
// CHECK:         lnbwd.rowwise @k_rows_0_statistics domain(m | n) ins(%[[X]][m, n] : memref<?x64xbf16>,
// CHECK-SAME:      %[[E]][m] : memref<?xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m] : memref<?xf32>, %{{[^ ]+}}[m] : memref<?xf32>, %[[MEAN]][m] : memref<?xf32>, %[[RSTD]][m] : memref<?xf32>)
// CHECK-SAME:      operand_names = ["x", "eps", "statistic_0", "statistic_1", "mean", "rstd"]
// CHECK:           %[[SUM:.*]] = vector.reduction <add>
// CHECK:           %[[SHIFT:.*]] = arith.negf
// CHECK:           %[[R:.*]] = math.rsqrt
// CHECK:           lnbwd.yield %[[SHIFT]], %[[R]], %{{.*}}, %[[R]] : f32, f32, f32, f32
// CHECK:         lnbwd.product @k lhs(%[[X]] : memref<?x64xbf16>) rhs(%[[W]] : {{[^)]*}}) outs(%[[Y]] : {{[^)]*}})
// CHECK-SAME:      operand_names = ["x", "w", "y", "gamma", "statistic_0", "statistic_1"]
// CHECK-SAME:      prologue columns(%[[G]] : memref<64xf32>) scalars(%{{.*}}, %{{.*}} : memref<?xf32>, memref<?xf32>) {
// CHECK-NOT:       vector.reduction
// CHECK-NOT:       math.rsqrt
// CHECK:           lnbwd.product_yield %{{.*}} : vector<64xbf16>
// CHECK-NEXT:    }
// CHECK-DAG:     memref.dealloc %[[S0]]
// CHECK-DAG:     memref.dealloc %[[S1]]
// CHECK:         return

// One tile of columns normalises the rows once: by itself, too.
// AUTO-LABEL: func @normalised(
// AUTO:         lnbwd.rowwise @k_rows_0_statistics
// AUTO:         lnbwd.product @k {{.*}} prologue

// Else nothing is taken apart.
// APART-LABEL: func @normalised(
// APART-NOT:     lnbwd.row_scalar
// APART:         lnbwd.rowwise @k_rows_0 domain
// APART-SAME:      outs(%{{[^ ]+}}[m, n] : memref<?x64xbf16>, %{{[^ ]+}}[m] :
// APART:         lnbwd.product @k {{.*}}attributes {operand_names = ["rows_0", "w", "y"], rhs_transposed}{{$}}
func.func @normalised(%x: memref<?x64xbf16>, %gamma: memref<64xf32>, %eps: memref<?xf32>, %w: memref<48x64xbf16>,
                      %y: memref<?x48xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xbf16>
  %z = memref.alloc(%m) : memref<?x64xbf16>
  lnbwd.rowwise @k_rows_0 domain(m | n) ins(%x[m, n] : memref<?x64xbf16>, %gamma[n] : memref<64xf32>, %eps[m] : memref<?xf32>)
      outs(%z[m, n] : memref<?x64xbf16>, %mean[m] : memref<?xf32>, %rstd[m] : memref<?xf32>)
      attributes {operand_names = ["x", "gamma", "eps", "rows_0", "mean", "rstd"]} {
  ^row(%xr: vector<64xbf16>, %g: vector<64xf32>, %e: f32):
    %over = arith.constant 1.562500e-02 : f32
    %wide = arith.extf %xr : vector<64xbf16> to vector<64xf32>
    %sum = vector.reduction <add>, %wide : vector<64xf32> into f32
    %mr = arith.mulf %sum, %over : f32
    %shift = arith.negf %mr : f32
    %shifts = vector.broadcast %shift : f32 to vector<64xf32>
    %centred = arith.addf %wide, %shifts : vector<64xf32>
    %squares = arith.mulf %centred, %centred : vector<64xf32>
    %square = vector.reduction <add>, %squares : vector<64xf32> into f32
    %variance = math.fma %square, %over, %e : f32
    %rr = math.rsqrt %variance : f32
    %scale = vector.broadcast %rr : f32 to vector<64xf32>
    %xhat = arith.mulf %centred, %scale : vector<64xf32>
    %zr = arith.mulf %xhat, %g : vector<64xf32>
    %narrow = arith.truncf %zr : vector<64xf32> to vector<64xbf16>
    lnbwd.yield %narrow, %mr, %rr : vector<64xbf16>, f32, f32
  }
  lnbwd.product @k lhs(%z : memref<?x64xbf16>) rhs(%w : memref<48x64xbf16>) outs(%y : memref<?x48xf32>)
      attributes {rhs_transposed, operand_names = ["rows_0", "w", "y"]}
  memref.dealloc %z : memref<?x64xbf16>
  return
}

// -----

// Two tiles of columns would each do it again, for one pass over the rows less.
// Numbers that are no outputs go between the two all the same.
// CHECK-LABEL: func @two_tiles(
// CHECK:         lnbwd.rowwise @rows_statistics domain({{.*}}) ins(%{{.*}}) outs(%{{[^,]*}}[m] : memref<?xf32>)
// CHECK:         lnbwd.product @k {{.*}} prologue scalars
// AUTO-LABEL: func @two_tiles(
// AUTO:         lnbwd.rowwise @rows domain
// AUTO:         lnbwd.product @k {{.*}} : memref<?x192xf32>){{$}}
// APART-LABEL: func @two_tiles(
func.func @two_tiles(%x: memref<?x64xf32>, %w: memref<64x192xf32>, %y: memref<?x192xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    %largest = vector.reduction <maximumf>, %xr : vector<64xf32> into f32
    %spread = vector.broadcast %largest : f32 to vector<64xf32>
    %zr = arith.subf %xr, %spread : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @k lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x192xf32>) outs(%y : memref<?x192xf32>)
  memref.dealloc %z : memref<?x64xf32>
  return
}

// -----

// A condition that is the same for a row is made of its numbers again.
// CHECK-LABEL: func @condition(
// CHECK:         lnbwd.rowwise @rows_statistics {{.*}} outs(%{{[^,]*}}[m] : memref<?xf32>)
// CHECK:         lnbwd.product @k {{.*}} prologue scalars
// CHECK:         ^bb0(%[[XR:.*]]: vector<64xf32>, %[[S:.*]]: f32):
// CHECK:           arith.cmpf olt, %[[S]], %{{.*}} : f32
// AUTO-LABEL: func @condition(
// APART-LABEL: func @condition(
func.func @condition(%x: memref<?x64xf32>, %w: memref<64x96xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>):
    %one = arith.constant 1.0 : f32
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %small = arith.cmpf olt, %sum, %one : f32
    %smalls = vector.broadcast %small : i1 to vector<64xi1>
    %negative = arith.negf %xr : vector<64xf32>
    %zr = arith.select %smalls, %xr, %negative : vector<64xi1>, vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @k lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x96xf32>) outs(%y : memref<?x96xf32>)
  memref.dealloc %z : memref<?x64xf32>
  return
}
