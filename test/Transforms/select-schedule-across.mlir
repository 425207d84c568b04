// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file | FileCheck %s

// The channels of a channels-last image, whose elements lie side by side: as
// many neighbours as have a sector of memory, at least.
// CHECK-LABEL: func.func @channels
// CHECK:         row_groups = {{16|32|64}}, vector_width = 1, {{.*}}lanes_across = true>
func.func @channels(%x: memref<1568x768xbf16>, %s: memref<768xf32>) {
  lnbwd.rowwise @k domain(c | m) ins(%x[m, c] : memref<1568x768xbf16>) outs(%s[c] : memref<768xf32>) {
  ^bb0(%xr: vector<1568xbf16>):
    %wide = arith.extf %xr : vector<1568xbf16> to vector<1568xf32>
    %sum = vector.reduction <add>, %wide : vector<1568xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// As many rows lie together.
// CHECK-LABEL: func.func @transposed
// CHECK-NOT:     lanes_across
func.func @transposed(%x: memref<1568x768xf32>, %y: memref<768x1568xf32>, %s: memref<768xf32>) {
  lnbwd.rowwise @k domain(c | m) ins(%x[m, c] : memref<1568x768xf32>, %y[c, m] : memref<768x1568xf32>) outs(%s[c] : memref<768xf32>) {
  ^bb0(%xr: vector<1568xf32>, %yr: vector<1568xf32>):
    %z = arith.addf %xr, %yr : vector<1568xf32>
    %sum = vector.reduction <add>, %z : vector<1568xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// Fewer do.
// CHECK-LABEL: func.func @most
// CHECK:         lanes_across = true
func.func @most(%x: memref<1568x768xf32>, %y: memref<768x1568xf32>, %z: memref<1568x768xf32>) {
  lnbwd.rowwise @k domain(c | m) ins(%x[m, c] : memref<1568x768xf32>, %y[c, m] : memref<768x1568xf32>)
      outs(%z[m, c] : memref<1568x768xf32>) {
  ^bb0(%xr: vector<1568xf32>, %yr: vector<1568xf32>):
    %s = vector.reduction <add>, %yr : vector<1568xf32> into f32
    %sv = vector.broadcast %s : f32 to vector<1568xf32>
    %zr = arith.addf %xr, %sv : vector<1568xf32>
    lnbwd.yield %zr : vector<1568xf32>
  }
  return
}
