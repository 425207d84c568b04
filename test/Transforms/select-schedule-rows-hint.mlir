// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=8192 | FileCheck %s

// One schedule for 8192 rows of 4096 elements, whether the types say the number,
// in whatever dimensions, or the option; rows=8192 says nothing where the types
// do (@many).

// CHECK-LABEL: func @flat(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE:[^>]*]]>
func.func @flat(%dy: memref<8192x4096xbf16>, %x: memref<8192x4096xbf16>, %g: memref<4096xbf16>, %mean: memref<8192xf32>,
                %rstd: memref<8192xf32>, %dx: memref<8192x4096xbf16>, %dg: memref<4096xbf16>, %db: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8192x4096xbf16>) x(%x : memref<8192x4096xbf16>) gamma(%g : memref<4096xbf16>)
      mean(%mean : memref<8192xf32>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x4096xbf16>) dgamma(%dg : memref<4096xbf16>) dbeta(%db : memref<4096xbf16>)
  return
}

// CHECK-LABEL: func @square(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE]]>
func.func @square(%dy: memref<1x8192x64x64xbf16>, %x: memref<1x8192x64x64xbf16>, %g: memref<64x64xbf16>,
                  %mean: memref<1x8192xf32>, %rstd: memref<1x8192xf32>, %dx: memref<1x8192x64x64xbf16>,
                  %dg: memref<64x64xbf16>, %db: memref<64x64xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<1x8192x64x64xbf16>) x(%x : memref<1x8192x64x64xbf16>) gamma(%g : memref<64x64xbf16>)
      mean(%mean : memref<1x8192xf32>) rstd(%rstd : memref<1x8192xf32>)
      outs dx(%dx : memref<1x8192x64x64xbf16>) dgamma(%dg : memref<64x64xbf16>) dbeta(%db : memref<64x64xbf16>) {row_rank = 2 : i64}
  return
}

// CHECK-LABEL: func @hinted(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE]]>
func.func @hinted(%dy: memref<?x1x4096xbf16>, %x: memref<?x1x4096xbf16>, %g: memref<4096xbf16>, %mean: memref<?x1xf32>,
                  %rstd: memref<?x1xf32>, %dx: memref<?x1x4096xbf16>, %dg: memref<4096xbf16>, %db: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x1x4096xbf16>) x(%x : memref<?x1x4096xbf16>) gamma(%g : memref<4096xbf16>)
      mean(%mean : memref<?x1xf32>) rstd(%rstd : memref<?x1xf32>)
      outs dx(%dx : memref<?x1x4096xbf16>) dgamma(%dg : memref<4096xbf16>) dbeta(%db : memref<4096xbf16>)
  return
}

// CHECK-LABEL: func @many(
// CHECK-NOT:     schedule = #lnbwd.schedule<[[SCHEDULE]]>
// CHECK:         lnbwd.yield
func.func @many(%dy: memref<4x128x4096xbf16>, %x: memref<4x128x4096xbf16>, %g: memref<4096xbf16>, %mean: memref<4x128xf32>,
                %rstd: memref<4x128xf32>, %dx: memref<4x128x4096xbf16>, %dg: memref<4096xbf16>, %db: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<4x128x4096xbf16>) x(%x : memref<4x128x4096xbf16>) gamma(%g : memref<4096xbf16>)
      mean(%mean : memref<4x128xf32>) rstd(%rstd : memref<4x128xf32>)
      outs dx(%dx : memref<4x128x4096xbf16>) dgamma(%dg : memref<4096xbf16>) dbeta(%db : memref<4096xbf16>)
  return
}
