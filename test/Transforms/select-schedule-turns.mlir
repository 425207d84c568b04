// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-select-schedule=chip=gfx942 | FileCheck %s

// Where the number of rows is known, AMD's workgroups work on few rows at once if many would not
// come out even: 8192 rows are 26.9 for each of 304 compute units, two at a time are 28 and one at a
// time 27. Picked by predicted times (docs/cost-model.md).

// CHECK-LABEL: func.func @known_rows(
// CHECK: threads_per_row = 256, row_groups = 1, {{.*}}workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
func.func @known_rows(%dy: memref<8192x4096xbf16>, %x: memref<8192x4096xbf16>, %gamma: memref<4096xbf16>,
    %mean: memref<8192xf32>, %rstd: memref<8192xf32>, %dx: memref<8192x4096xbf16>, %dgamma: memref<4096xbf16>, %dbeta: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8192x4096xbf16>) x(%x : memref<8192x4096xbf16>) gamma(%gamma : memref<4096xbf16>)
      mean(%mean : memref<8192xf32>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x4096xbf16>) dgamma(%dgamma : memref<4096xbf16>) dbeta(%dbeta : memref<4096xbf16>)
  return
}

// Any number of rows: two at a time keep enough in flight.
// CHECK-LABEL: func.func @any_rows(
// CHECK: threads_per_row = 256, row_groups = 2, {{.*}}workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
func.func @any_rows(%dy: memref<?x4096xbf16>, %x: memref<?x4096xbf16>, %gamma: memref<4096xbf16>,
    %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x4096xbf16>, %dgamma: memref<4096xbf16>, %dbeta: memref<4096xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4096xbf16>) x(%x : memref<?x4096xbf16>) gamma(%gamma : memref<4096xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x4096xbf16>) dgamma(%dgamma : memref<4096xbf16>) dbeta(%dbeta : memref<4096xbf16>)
  return
}

// Lanes that are idle cost little beside the wait for memory: a wave a row, although a third of it idles.
// CHECK-LABEL: func.func @idle_lanes(
// CHECK: threads_per_row = 64, row_groups = 4,
func.func @idle_lanes(%dy: memref<8192x768xbf16>, %x: memref<8192x768xbf16>, %gamma: memref<768xbf16>,
    %mean: memref<8192xf32>, %rstd: memref<8192xf32>, %dx: memref<8192x768xbf16>, %dgamma: memref<768xbf16>, %dbeta: memref<768xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8192x768xbf16>) x(%x : memref<8192x768xbf16>) gamma(%gamma : memref<768xbf16>)
      mean(%mean : memref<8192xf32>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x768xbf16>) dgamma(%dgamma : memref<768xbf16>) dbeta(%dbeta : memref<768xbf16>)
  return
}
