// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=rows=8192 | FileCheck %s --check-prefix=HINT

// Where the number of rows is known, gfx942's picks are for that number (docs/schedules.md). Rows that do
// not come out even for 304 compute units do for fewer: 256 workgroups have 32 each, as 8 iterations of two
// tiles of two.

// CHECK-LABEL: func.func @known_rows(
// CHECK: threads_per_row = 192, row_groups = 2, {{.*}}rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
func.func @known_rows(%dy: memref<8192x4096xbf16>, %x: memref<8192x4096xbf16>, %gamma: memref<4096xbf16>,
    %mean: memref<8192xf32>, %rstd: memref<8192xf32>, %dx: memref<8192x4096xbf16>, %dgamma: memref<4096xbf16>, %dbeta: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8192x4096xbf16>) x(%x : memref<8192x4096xbf16>) gamma(%gamma : memref<4096xbf16>)
      mean(%mean : memref<8192xf32>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x4096xbf16>) dgamma(%dgamma : memref<4096xbf16>) dbeta(%dbeta : memref<4096xbf16>)
  return
}

// Any number of rows: as many as are usual. A hint takes the place of the number.
// HINT-LABEL: func.func @any_rows(
// HINT: threads_per_row = 192, row_groups = 2, {{.*}}rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// CHECK-LABEL: func.func @any_rows(
// CHECK: threads_per_row = 256, row_groups = 1, {{.*}}rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
func.func @any_rows(%dy: memref<?x4096xbf16>, %x: memref<?x4096xbf16>, %gamma: memref<4096xbf16>,
    %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x4096xbf16>, %dgamma: memref<4096xbf16>, %dbeta: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4096xbf16>) x(%x : memref<?x4096xbf16>) gamma(%gamma : memref<4096xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x4096xbf16>) dgamma(%dgamma : memref<4096xbf16>) dbeta(%dbeta : memref<4096xbf16>)
  return
}

// Half a wave a row would leave no lane idle. Two accesses of a wave, which leave a fourth of them, are faster.
// CHECK-LABEL: func.func @idle_lanes(
// CHECK: threads_per_row = 64, row_groups = 4,
func.func @idle_lanes(%dy: memref<8192x768xbf16>, %x: memref<8192x768xbf16>, %gamma: memref<768xbf16>,
    %mean: memref<8192xf32>, %rstd: memref<8192xf32>, %dx: memref<8192x768xbf16>, %dgamma: memref<768xbf16>, %dbeta: memref<768xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8192x768xbf16>) x(%x : memref<8192x768xbf16>) gamma(%gamma : memref<768xbf16>)
      mean(%mean : memref<8192xf32>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x768xbf16>) dgamma(%dgamma : memref<768xbf16>) dbeta(%dbeta : memref<768xbf16>)
  return
}

// Each workgroup has the same number of rows here, too.
// CHECK-LABEL: func.func @long_rows(
// CHECK: row_groups = 1, {{.*}}rows_per_workgroup = {{4|8}}, workgroups_per_compute_unit = 1, prefetch = 1{{.*}}>
func.func @long_rows(%dy: memref<1024x16384xbf16>, %x: memref<1024x16384xbf16>, %gamma: memref<16384xbf16>,
    %mean: memref<1024xf32>, %rstd: memref<1024xf32>, %dx: memref<1024x16384xbf16>, %dgamma: memref<16384xbf16>, %dbeta: memref<16384xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<1024x16384xbf16>) x(%x : memref<1024x16384xbf16>) gamma(%gamma : memref<16384xbf16>)
      mean(%mean : memref<1024xf32>) rstd(%rstd : memref<1024xf32>)
      outs dx(%dx : memref<1024x16384xbf16>) dgamma(%dgamma : memref<16384xbf16>) dbeta(%dbeta : memref<16384xbf16>)
  return
}

// Three accesses of a wave leave 44 lanes idle for 100 busy ones, five of half a wave 20, but these are more than
// four, which comes last.
// CHECK-LABEL: func.func @no_even_lanes(
// CHECK: threads_per_row = 64,
func.func @no_even_lanes(%dy: memref<66766x1064xbf16>, %x: memref<66766x1064xbf16>, %gamma: memref<1064xbf16>,
    %mean: memref<66766xf32>, %rstd: memref<66766xf32>, %dx: memref<66766x1064xbf16>, %dgamma: memref<1064xbf16>, %dbeta: memref<1064xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<66766x1064xbf16>) x(%x : memref<66766x1064xbf16>) gamma(%gamma : memref<1064xbf16>)
      mean(%mean : memref<66766xf32>) rstd(%rstd : memref<66766xf32>)
      outs dx(%dx : memref<66766x1064xbf16>) dgamma(%dgamma : memref<1064xbf16>) dbeta(%dbeta : memref<1064xbf16>)
  return
}
