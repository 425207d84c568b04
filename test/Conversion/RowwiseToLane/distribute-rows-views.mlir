// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize --cse --split-input-file | FileCheck %s

// Weights of the channels of each group: the row says the group, the column the
// channel.
// CHECK:       #[[MAP:.*]] = affine_map<(d0, d1) -> ((d0 mod 8) * 4 + d1 floordiv 49)>
// CHECK-LABEL: gpu.func @groups
// CHECK-SAME:    memref<1x196xf32, {{[^>]*>}}>, %[[G:[a-z0-9_]+]]: memref<32xf32,
// CHECK:         %[[V:.*]] = lane.view %[[G]] : memref<32xf32, #gpu.address_space<global>> to memref<?x196xf32, #[[MAP]], #gpu.address_space<global>>
// CHECK:         lane.load %{{[a-z0-9_]+}}[%{{.*}}]
// CHECK:         lane.load %[[V]][%{{.*}}]
// CHECK:       func.func @f({{.*}}kind = "column"
func.func @f(%x: memref<?x8x4x49xf32>, %g: memref<8x4xf32>) {
  lnbwd.rowwise @groups domain(b, g | c, s) ins(%x[b, g, c, s] : memref<?x8x4x49xf32>, %g[g, c] : memref<8x4xf32>)
      outs(%x[b, g, c, s] : memref<?x8x4x49xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<196xf32>, %gr: vector<196xf32>):
    %y = arith.mulf %xr, %gr : vector<196xf32>
    lnbwd.yield %y : vector<196xf32>
  }
  return
}

// -----

// Weights of channels and of places, the same for all rows, and a mean for each
// channel of a row.
// CHECK:       #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 32)>
// CHECK:       #[[CHANNEL:.*]] = affine_map<(d0) -> (d0 floordiv 32)>
// CHECK:       #[[PLACE:.*]] = affine_map<(d0) -> (d0 mod 4 + (d0 floordiv 32) * 4)>
// CHECK-LABEL: gpu.func @image
// CHECK-DAG:     lane.view %{{.*}} : memref<3xf32, {{[^>]*>}}> to memref<96xf32, #[[CHANNEL]],
// CHECK-DAG:     lane.view %{{.*}} : memref<12xf32, {{[^>]*>}}> to memref<96xf32, #[[PLACE]],
// CHECK-DAG:     lane.view %{{.*}} : memref<?x3xf32, {{[^>]*>}}> to memref<?x96xf32, #[[ROW]],
func.func @f(%x: memref<?x3x8x4xf32>, %m: memref<?x3xf32>, %c: memref<3xf32>, %p: memref<3x4xf32>) {
  lnbwd.rowwise @image domain(m | c, h, w)
      ins(%x[m, c, h, w] : memref<?x3x8x4xf32>, %m[m, c] : memref<?x3xf32>, %c[c] : memref<3xf32>, %p[c, w] : memref<3x4xf32>)
      outs(%x[m, c, h, w] : memref<?x3x8x4xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<96xf32>, %mr: vector<96xf32>, %cr: vector<96xf32>, %pr: vector<96xf32>):
    %d = arith.subf %xr, %mr : vector<96xf32>
    %e = arith.mulf %d, %cr : vector<96xf32>
    %y = arith.addf %e, %pr : vector<96xf32>
    lnbwd.yield %y : vector<96xf32>
  }
  return
}

// -----

// Tables of places in a sequence and a number for each head: no groups.
// CHECK:       #[[TABLE:.*]] = affine_map<(d0, d1) -> (((d0 floordiv 4) mod 16) * 64 + d1)>
// CHECK:       #[[HEAD:.*]] = affine_map<(d0) -> (d0 mod 4)>
// CHECK-LABEL: gpu.func @heads
// CHECK-DAG:     lane.view %{{.*}} : memref<1024xf32, {{[^>]*>}}> to memref<?x64xf32, #[[TABLE]],
// CHECK-DAG:     %[[S:.*]] = lane.view %{{.*}} : memref<4xf32, {{[^>]*>}}> to memref<?xf32, #[[HEAD]],
// CHECK:         lane.load_scalar %[[S]]
func.func @f(%x: memref<?x16x4x64xf32>, %t: memref<16x64xf32>, %s: memref<4xf32>) {
  lnbwd.rowwise @heads domain(b, t, h | d)
      ins(%x[b, t, h, d] : memref<?x16x4x64xf32>, %t[t, d] : memref<16x64xf32>, %s[h] : memref<4xf32>)
      outs(%x[b, t, h, d] : memref<?x16x4x64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 1, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<64xf32>, %tr: vector<64xf32>, %sr: f32):
    %sv = vector.broadcast %sr : f32 to vector<64xf32>
    %d = arith.mulf %xr, %tr : vector<64xf32>
    %y = arith.mulf %d, %sv : vector<64xf32>
    lnbwd.yield %y : vector<64xf32>
  }
  return
}

// -----

// Heads in another order, a slice of a table, and numbers in another order. What
// is side by side is one term.
// CHECK:       #[[HEADS:.*]] = affine_map<(d0, d1) -> (((d0 mod 4) * 16 + (d0 floordiv 4) mod 16 + (d0 floordiv 64) * 64) * 16 + d1)>
// CHECK:       #[[TABLE:.*]] = affine_map<(d0, d1) -> (((d0 floordiv 4) mod 16) * 100 + d1 * 3)>
// CHECK:       #[[NUMBER:.*]] = affine_map<(d0) -> ((d0 mod 4) * 2 + d0 floordiv 64)>
// CHECK-LABEL: gpu.func @permuted
// CHECK-DAG:     lane.view %{{.*}} : memref<2048xbf16, {{[^>]*>}}> to memref<?x16xbf16, #[[HEADS]],
// CHECK-DAG:     lane.view %{{.*}} : memref<1546xf32, {{[^>]*>}}> to memref<?x16xf32, #[[TABLE]],
// CHECK-DAG:     lane.view %{{.*}} : memref<8xf32, {{[^>]*>}}> to memref<?xf32, #[[NUMBER]],
// CHECK:       func.func @f({{.*}}kind = "column"
func.func @f(%x: memref<2x4x16x16xbf16>, %t: memref<16x16xf32, strided<[100, 3]>>, %s: memref<4x2xf32>,
             %y: memref<2x16x4x16xf32>) {
  lnbwd.rowwise @permuted domain(b, t, h | d)
      ins(%x[b, h, t, d] : memref<2x4x16x16xbf16>, %t[t, d] : memref<16x16xf32, strided<[100, 3]>>, %s[h, b] : memref<4x2xf32>)
      outs(%y[b, t, h, d] : memref<2x16x4x16xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 4, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<16xbf16>, %tr: vector<16xf32>, %sr: f32):
    %xw = arith.extf %xr : vector<16xbf16> to vector<16xf32>
    %sv = vector.broadcast %sr : f32 to vector<16xf32>
    %d = arith.mulf %xw, %tr : vector<16xf32>
    %y = arith.mulf %d, %sv : vector<16xf32>
    lnbwd.yield %y : vector<16xf32>
  }
  return
}

// -----

// A row of all heads, and no row block in the order of the domain.
// CHECK-DAG:   #[[HEADS:.*]] = affine_map<(d0, d1) -> {{.*}}>
// CHECK-LABEL: gpu.func @across
// CHECK:         lane.view %{{.*}} : memref<2048xf32, {{[^>]*>}}> to memref<?x64xf32, #[[HEADS]],
// CHECK:       func.func @f
// CHECK:         lnbwd.row_count %{{.*}} {row_rank = 2 : i64} : memref<2x4x16x16xf32>
func.func @f(%x: memref<2x4x16x16xf32>, %s: memref<2x16xf32>) {
  lnbwd.rowwise @across domain(b, t | h, d) ins(%x[b, h, t, d] : memref<2x4x16x16xf32>) outs(%s[b, t] : memref<2x16xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 1, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<64xf32>):
    %r = vector.reduction <add>, %xr : vector<64xf32> into f32
    lnbwd.yield %r : f32
  }
  return
}

// -----

// In a group of rows, those are counted from its first one. What is written is
// a view as well.
// CHECK:       #[[TABLE:.*]] = affine_map<(d0, d1) -> (d0 mod 3 + d1 * 3)>
// CHECK:       #[[OUT:.*]] = affine_map<(d0, d1) -> (((d0 mod 3) * 2 + d0 floordiv 3) * 16 + d1)>
// CHECK-LABEL: gpu.func @groups(
// CHECK:         %[[ROWS:.*]] = arith.index_cast
// CHECK:         %[[FIRST:.*]] = arith.muli %{{.*}}, %[[ROWS]]
// CHECK:         lane.view %{{.*}} from %[[FIRST]] : memref<48xf32, {{.*}} #[[TABLE]],
// CHECK:         %[[OUTS:.*]] = lane.view %{{.*}} from %[[FIRST]] : memref<96xf32, {{.*}} #[[OUT]],
// CHECK:         lane.store %{{.*}}, %[[OUTS]]
func.func @f(%x: memref<2x3x16xf32>, %t: memref<16x3xf32>, %g: memref<2x16xf32>, %y: memref<3x2x16xf32>) {
  lnbwd.rowwise @groups domain(b, t | d)
      ins(%x[b, t, d] : memref<2x3x16xf32>, %t[d, t] : memref<16x3xf32>, %g[b, d] : memref<2x16xf32>)
      outs(%y[t, b, d] : memref<3x2x16xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 4, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<16xf32>, %tr: vector<16xf32>, %gr: vector<16xf32>):
    %d = arith.mulf %xr, %tr : vector<16xf32>
    %y = arith.mulf %d, %gr : vector<16xf32>
    lnbwd.yield %y : vector<16xf32>
  }
  return
}

// -----

// The elements of neighbouring rows lie side by side in x and z: they are
// loaded and stored by lanes across the rows. The few rows that a wave has do
// not fill a sector, those of a tile do.
// CHECK-DAG:   ![[ROWS:.*]] = !lane.layout<row_length = 64, lanes = 16, groups = 8, width = 4>
// CHECK-DAG:   ![[ACROSS_ROWS:.*]] = !lane.layout<row_length = 64, lanes = 16, groups = 8, width = 4, across = true>
// CHECK-LABEL: gpu.func @transposed
// CHECK-DAG:     %[[LAYOUT:.*]] = lane.layout : ![[ROWS]]{{$}}
// CHECK-DAG:     %[[ACROSS:.*]] = lane.layout : ![[ACROSS_ROWS]]{{$}}
// CHECK:         lane.for_rows %[[TILE:.*]] = %{{.*}} at %[[LAYOUT]]
// CHECK:           %[[ROW:.*]] = lane.row %[[TILE]] at %[[LAYOUT]]
// CHECK:           %[[OTHER:.*]] = lane.row %[[TILE]] at %[[ACROSS]]
// CHECK:           lane.load %{{.*}}[%[[ROW]]] at %[[LAYOUT]]
// CHECK:           %[[LOADED:.*]] = lane.load %{{.*}}[%[[OTHER]]] at %[[ACROSS]]
// CHECK:           lane.convert_layout %[[LOADED]] from %[[ACROSS]] to %[[LAYOUT]]
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK:           %[[BACK:.*]] = lane.convert_layout %[[SUM]] from %[[LAYOUT]] to %[[ACROSS]]
// CHECK:           lane.store %[[BACK]], %{{.*}}[%[[OTHER]]] at %[[ACROSS]]
func.func @f(%x: memref<2x64x49xf32>, %y: memref<2x49x64xf32>, %z: memref<2x64x49xf32>) {
  lnbwd.rowwise @transposed domain(b, m | n) ins(%x[b, n, m] : memref<2x64x49xf32>, %y[b, m, n] : memref<2x49x64xf32>)
      outs(%z[b, n, m] : memref<2x64x49xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 8, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<64xf32>, %yr: vector<64xf32>):
    %s = arith.addf %xr, %yr : vector<64xf32>
    lnbwd.yield %s : vector<64xf32>
  }
  return
}
