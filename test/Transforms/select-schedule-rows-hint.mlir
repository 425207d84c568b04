// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-select-schedule="chip=sm_90 rows=8192" | FileCheck %s

// The table that comes with the compiler has an entry for some 8192 rows of 4096
// elements. It is found for a number of rows that the types say, whatever the
// dimensions, and for one that the option says; rows=8192 says nothing where the
// types do (@many).

// CHECK-LABEL: func @flat(
// CHECK:         schedule = #lnbwd.schedule<[[SCHEDULE:threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 3, workgroups_per_row = 2, prefetch = 1, stages = 3, dependent_launch = true]]>
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
