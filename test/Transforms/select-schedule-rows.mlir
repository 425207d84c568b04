// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s

// M is the product of all dimensions before the row, whatever they are: the model
// gives one schedule to 512 rows of 4096 elements.
// CHECK-LABEL: func @flat(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE:[^>]*]]>
func.func @flat(%dy: memref<512x4096xbf16>, %x: memref<512x4096xbf16>, %g: memref<4096xbf16>, %mean: memref<512xf32>,
                %rstd: memref<512xf32>, %dx: memref<512x4096xbf16>, %dg: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<512x4096xbf16>) x(%x : memref<512x4096xbf16>) gamma(%g : memref<4096xbf16>)
      mean(%mean : memref<512xf32>) rstd(%rstd : memref<512xf32>)
      outs dx(%dx : memref<512x4096xbf16>) dgamma(%dg : memref<4096xbf16>)
  return
}

// CHECK-LABEL: func @inner(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE]]>
func.func @inner(%dy: memref<512x1x4096xbf16>, %x: memref<512x1x4096xbf16>, %g: memref<4096xbf16>,
                 %mean: memref<512x1xf32>, %rstd: memref<512x1xf32>, %dx: memref<512x1x4096xbf16>,
                 %dg: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<512x1x4096xbf16>) x(%x : memref<512x1x4096xbf16>) gamma(%g : memref<4096xbf16>)
      mean(%mean : memref<512x1xf32>) rstd(%rstd : memref<512x1xf32>)
      outs dx(%dx : memref<512x1x4096xbf16>) dgamma(%dg : memref<4096xbf16>)
  return
}

// CHECK-LABEL: func @outer(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE]]>
func.func @outer(%dy: memref<1x512x4096xbf16>, %x: memref<1x512x4096xbf16>, %g: memref<4096xbf16>,
                 %mean: memref<1x512xf32>, %rstd: memref<1x512xf32>, %dx: memref<1x512x4096xbf16>,
                 %dg: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<1x512x4096xbf16>) x(%x : memref<1x512x4096xbf16>) gamma(%g : memref<4096xbf16>)
      mean(%mean : memref<1x512xf32>) rstd(%rstd : memref<1x512xf32>)
      outs dx(%dx : memref<1x512x4096xbf16>) dgamma(%dg : memref<4096xbf16>)
  return
}

// A row of two dimensions.
// CHECK-LABEL: func @square(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE]]>
func.func @square(%dy: memref<512x64x64xbf16>, %x: memref<512x64x64xbf16>, %g: memref<64x64xbf16>,
                  %mean: memref<512xf32>, %rstd: memref<512xf32>, %dx: memref<512x64x64xbf16>,
                  %dg: memref<64x64xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<512x64x64xbf16>) x(%x : memref<512x64x64xbf16>) gamma(%g : memref<64x64xbf16>)
      mean(%mean : memref<512xf32>) rstd(%rstd : memref<512xf32>)
      outs dx(%dx : memref<512x64x64xbf16>) dgamma(%dg : memref<64x64xbf16>) {row_rank = 2 : i64}
  return
}

// Rows that lie apart, in one dimension or between dimensions of size 1, whose
// strides mean nothing.
// CHECK-LABEL: func @apart(
// CHECK:         schedule = #lnbwd.schedule<[[APART:[^>]*]]>
func.func @apart(%x: memref<512x4096xbf16, strided<[5000, 1]>>, %y: memref<512x4096xbf16>) {
  lnbwd.rms_norm x(%x : memref<512x4096xbf16, strided<[5000, 1]>>) outs y(%y : memref<512x4096xbf16>)
  return
}

// CHECK-LABEL: func @inner_apart(
// CHECK:         schedule = #lnbwd.schedule<[[APART]]>
func.func @inner_apart(%x: memref<512x1x4096xbf16, strided<[5000, 3, 1]>>, %y: memref<512x1x4096xbf16>) {
  lnbwd.rms_norm x(%x : memref<512x1x4096xbf16, strided<[5000, 3, 1]>>) outs y(%y : memref<512x1x4096xbf16>)
  return
}

// CHECK-LABEL: func @outer_apart(
// CHECK:         schedule = #lnbwd.schedule<[[APART]]>
func.func @outer_apart(%x: memref<1x512x4096xbf16, strided<[7, 5000, 1]>>, %y: memref<1x512x4096xbf16>) {
  lnbwd.rms_norm x(%x : memref<1x512x4096xbf16, strided<[7, 5000, 1]>>) outs y(%y : memref<1x512x4096xbf16>)
  return
}

// CHECK-LABEL: func @square_apart(
// CHECK:         schedule = #lnbwd.schedule<[[APART]]>
func.func @square_apart(%x: memref<512x64x1x64xbf16, strided<[5000, 64, 9, 1]>>, %y: memref<512x64x1x64xbf16>) {
  lnbwd.rms_norm x(%x : memref<512x64x1x64xbf16, strided<[5000, 64, 9, 1]>>)
      outs y(%y : memref<512x64x1x64xbf16>) {row_rank = 3 : i64}
  return
}

// Where rows are written and none are read, M is that of those, and not the first
// number of whatever operand comes first, here 4096: 8 rows, for which partial sums
// weigh much, are spread otherwise than a million.
// CHECK-LABEL: func @few(
// CHECK:         schedule = #lnbwd.schedule<[[FEW:[^>]*]]>
func.func @few(%c: memref<4096xf32>, %s: memref<8xf32>, %y: memref<8x4096xf32>, %sum: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%c[n] : memref<4096xf32>, %s[m] : memref<8xf32>)
      outs(%y[m, n] : memref<8x4096xf32>, %sum[n] add : memref<4096xf32>) {
  ^bb0(%cr: vector<4096xf32>, %sr: f32):
    %total = vector.reduction <add>, %cr : vector<4096xf32> into f32
    %p = arith.mulf %total, %sr : f32
    %sv = vector.broadcast %p : f32 to vector<4096xf32>
    %yr = arith.mulf %cr, %sv : vector<4096xf32>
    lnbwd.yield %yr, %yr : vector<4096xf32>, vector<4096xf32>
  }
  return
}

// CHECK-LABEL: func @many(
// CHECK-NOT:     schedule = #lnbwd.schedule<[[FEW]]>
// CHECK:         lnbwd.yield
func.func @many(%c: memref<4096xf32>, %s: memref<1048576xf32>, %y: memref<1048576x4096xf32>, %sum: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%c[n] : memref<4096xf32>, %s[m] : memref<1048576xf32>)
      outs(%y[m, n] : memref<1048576x4096xf32>, %sum[n] add : memref<4096xf32>) {
  ^bb0(%cr: vector<4096xf32>, %sr: f32):
    %total = vector.reduction <add>, %cr : vector<4096xf32> into f32
    %p = arith.mulf %total, %sr : f32
    %sv = vector.broadcast %p : f32 to vector<4096xf32>
    %yr = arith.mulf %cr, %sv : vector<4096xf32>
    lnbwd.yield %yr, %yr : vector<4096xf32>, vector<4096xf32>
  }
  return
}

// Groups of so few elements that they leave most lanes of a wave idle.
// CHECK-LABEL: func @few_elements(
// CHECK:         row_groups = 2,
func.func @few_elements(%x: memref<4x8xf32>, %y: memref<4x2x8xf32>, %s: memref<8xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, n] : memref<4x8xf32>)
      outs(%y[m0, m1, n] : memref<4x2x8xf32>, %s[n] add : memref<8xf32>) {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr, %xr : vector<8xf32>, vector<8xf32>
  }
  return
}
