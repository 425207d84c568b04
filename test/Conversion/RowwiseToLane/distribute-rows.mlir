// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// Rows become parts, the region's operations change their type alone. The terms
// of a phase's sums come first, its column sums and stores then, the exchange
// last.
// CHECK:       !layout = !lane.layout<row_length = 512, lanes = 64, groups = 4, width = 4>
// CHECK-LABEL: gpu.module @two_phases_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[W:.*]] = gpu.block_id x
// CHECK:         %[[LAYOUT:.*]] = lane.layout : !layout
// CHECK:         %[[GAMMA:.*]] = lane.load_columns %{{.*}} at %[[LAYOUT]]
// CHECK:         %[[FIRST:.*]] = lane.first_iteration
// CHECK:         %[[LOOP:.*]]:2 = lane.for_rows %[[SET:.*]] = %{{.*}} to %[[ROWS:.*]] step %{{.*}} at %[[LAYOUT]] for %[[W]] of %{{.*}} sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[ITERATION:.*]] = %[[FIRST]])
// CHECK-NEXT:      %[[ROW:.*]] = lane.row %[[SET]] at %[[LAYOUT]]
// CHECK-NEXT:      %[[X:.*]] = lane.load %{{.*}}[%[[ROW]]] at %[[LAYOUT]] {{.*}} -> vector<2x4xbf16>
// CHECK-NEXT:      %[[S:.*]] = lane.load_scalar %{{.*}}[%[[ROW]]]
// CHECK-NEXT:      %[[NEG:.*]] = arith.negf %[[S]] : f32
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[X]] : vector<2x4xbf16> to vector<2x4xf32>
// CHECK-NEXT:      %[[TERM:.*]] = arith.mulf %[[WIDE]], %[[GAMMA]] : vector<2x4xf32>
// CHECK-NEXT:      %[[SHARE:.*]] = lane.fold [#vector.kind<add>] %[[TERM]] at %[[LAYOUT]]
// CHECK-NEXT:      %[[ADDED:.*]] = lane.accumulate %[[SUM]], %[[WIDE]]
// CHECK-NEXT:      %[[R:.*]] = lane.reduce [#vector.kind<add>] %[[SHARE]] at %[[LAYOUT]] iteration %[[ITERATION]] phase 0
// CHECK-NEXT:      %[[T:.*]] = arith.addf %[[R]], %[[NEG]] : f32
// CHECK-NEXT:      %[[SPREAD:.*]] = vector.broadcast %[[T]] : f32 to vector<2x4xf32>
// CHECK-NEXT:      %[[Y:.*]] = arith.mulf %[[WIDE]], %[[SPREAD]]
// CHECK-NEXT:      lane.fold [#vector.kind<maximumf>] %[[Y]]
// CHECK-NEXT:      %[[N:.*]] = arith.truncf %[[Y]]
// CHECK-NEXT:      lane.store %[[N]], %{{.*}}[%[[ROW]]]
// CHECK-NEXT:      %[[LARGEST:.*]] = lane.reduce [#vector.kind<maximumf>] {{.*}} iteration %[[ITERATION]] phase 1
// CHECK-NEXT:      lane.store_scalar %[[LARGEST]], %{{.*}}[%[[ROW]]]
// CHECK-NEXT:      %[[NEXT:.*]] = lane.next_iteration %[[ITERATION]]
// CHECK-NEXT:      lane.yield %[[ADDED]], %[[NEXT]]
// CHECK:         %[[TOTAL:.*]] = lane.combine_groups [#vector.kind<add>] %[[LOOP]]#0 at %[[LAYOUT]] radix 8
// CHECK-NEXT:    lane.store_sum %[[TOTAL]], %{{.*}}[%[[W]]] at %[[LAYOUT]]
// CHECK-NEXT:    gpu.return
// CHECK:         gpu.launch_func @two_phases_kernels::@k
func.func @two_phases(%x: memref<?x512xbf16>, %c: memref<512xf32>, %s: memref<?xf32>, %y: memref<?x512xbf16>, %l: memref<?xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %c[n] : memref<512xf32>, %s[m] : memref<?xf32>)
      outs(%y[m, n] : memref<?x512xbf16>, %l[m] : memref<?xf32>, %p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xbf16>, %cr: vector<512xf32>, %sr: f32):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %term = arith.mulf %wide, %cr : vector<512xf32>
    %sum = vector.reduction <add>, %term : vector<512xf32> into f32
    %neg = arith.negf %sr : f32
    %t = arith.addf %sum, %neg : f32
    %spread = vector.broadcast %t : f32 to vector<512xf32>
    %yw = arith.mulf %wide, %spread : vector<512xf32>
    %largest = vector.reduction <maximumf>, %yw : vector<512xf32> into f32
    %yr = arith.truncf %yw : vector<512xf32> to vector<512xbf16>
    lnbwd.yield %yr, %largest, %wide : vector<512xbf16>, f32, vector<512xf32>
  }
  return
}

// -----

// Nothing is carried where nothing is summed. Constants become parts.
// CHECK-LABEL: gpu.module @elementwise_kernels
// CHECK:         lane.for_rows %{{.*}} at %{{[0-9]+}} for %{{.*}} of %{{[0-9]+}} : !layout {
// CHECK:           %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<2x4xf32>
// CHECK:           arith.mulf %{{.*}}, %[[TWO]]
// CHECK-NOT:     combine_groups
// CHECK:         gpu.return
func.func @elementwise(%x: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %two = arith.constant dense<2.0> : vector<512xf32>
    %y = arith.mulf %xr, %two : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// A tile of the columns begins where the grid's second dimension says. Sums of a
// single workgroup are the results, added to what is there if so wanted.
// CHECK:       !layout = !lane.layout<row_length = 1000, lanes = 8, groups = 4, width = 4, columns = 32>
// CHECK-LABEL: gpu.module @tiles_kernels
// CHECK:         %[[TILE:.*]] = gpu.block_id y
// CHECK:         %[[BEGIN:.*]] = arith.muli %[[TILE]], %{{.*}} : index
// CHECK:         lane.layout from %[[BEGIN]] : !layout
// CHECK:         lane.store_sum %{{.*}}, %{{.*}} at %{{.*}} accumulate : !layout, vector<1x4xf32>, memref<1000xf32
func.func @tiles(%x: memref<?x1000xf32>, %s: memref<1000xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1000xf32>) outs(%s[n] add : memref<1000xf32>)
      attributes {accumulate, schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 4, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 32>} {
  ^bb0(%xr: vector<1000xf32>):
    lnbwd.yield %xr : vector<1000xf32>
  }
  return
}

// -----

// Columns and sums of groups of rows are columns and sums of memory that begins
// with the group's own, which the grid's third dimension numbers.
// CHECK-LABEL: gpu.module @groups_kernels
// CHECK:       gpu.func @k(%{{.*}}, %[[C:[a-z0-9]+]]: memref<512xf32, {{.*}}, %[[S:[a-z0-9]+]]: memref<1x512xf32,
// CHECK:         %[[GROUP:.*]] = gpu.block_id z
// CHECK:         %[[COLUMNS:.*]] = memref.reinterpret_cast %[[C]] {{.*}} to memref<512xf32, strided<[1], offset: ?>
// CHECK:         %[[SUMS:.*]] = memref.reinterpret_cast %[[S]] {{.*}} to memref<?x512xf32, strided<[512, 1], offset: ?>
// CHECK:         %[[W:.*]] = gpu.block_id x
// CHECK:         lane.load_columns %[[COLUMNS]]
// CHECK:         lane.for_rows {{.*}} sums(
// CHECK:         lane.store_sum %{{.*}}, %[[SUMS]][%[[W]]]
func.func @groups(%x: memref<?x?x512xf32>, %c: memref<?x512xf32>, %s: memref<?x?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>, %c[m0, n] : memref<?x512xf32>)
      outs(%s[m0, *, n] add : memref<?x?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %cr: vector<512xf32>):
    %y = arith.mulf %xr, %cr : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// Kernels are in the order of launches.
// CHECK-LABEL: gpu.module @in_order_kernels
// CHECK:         gpu.func @first
// CHECK:         gpu.func @second
// CHECK:         gpu.func @third
// CHECK-LABEL: func.func @in_order
// CHECK:         gpu.launch_func @in_order_kernels::@first
// CHECK:         gpu.launch_func @in_order_kernels::@second
// CHECK:         gpu.launch_func @in_order_kernels::@third
func.func @in_order(%x: memref<?x512xf32>) {
  lnbwd.rowwise @first domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @second domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @third domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// The index along a dimension of the domain: of rows from the row's number, of
// columns from the lane's.
// CHECK-LABEL: gpu.module @indices_kernels
// CHECK:           %[[ROW:.*]] = lane.row
// CHECK-DAG:       %[[NUMBER:.*]] = arith.index_cast %[[ROW]] : index to i32
// CHECK-DAG:       %[[T:.*]] = arith.remui %{{.*}}, %{{.*}} : i32
// CHECK-DAG:       lane.column_index %{{.*}} modulus 32 : !layout -> vector<2x4xi32>
func.func @indices(%y: memref<?x6x16x32xf32>) {
  lnbwd.rowwise @k domain(b, t | c, s) outs(%y[b, t, c, s] : memref<?x6x16x32xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
    %t = lnbwd.index 1 : i32
    %s = lnbwd.index 3 : vector<512xi32>
    %tv = vector.broadcast %t : i32 to vector<512xi32>
    %sum = arith.addi %s, %tv : vector<512xi32>
    %f = arith.uitofp %sum : vector<512xi32> to vector<512xf32>
    lnbwd.yield %f : vector<512xf32>
  }
  return
}

// -----

// Operands that lie in some rows of a dimension do not say how many it has.
// CHECK-LABEL: gpu.module @index_beside_windows_kernels
// CHECK-DAG:       %[[SIX:.*]] = arith.constant 6 : i32
// CHECK:           arith.remui %{{.*}}, %[[SIX]] : i32
func.func @index_beside_windows(%x: memref<2x2x256xf32>, %y: memref<2x4x256xf32>, %s: memref<2x6xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t + 2, n] : memref<2x2x256xf32>, %y[b, t + 2, n] : memref<2x4x256xf32>)
      outs(%s[b, t] : memref<2x6xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%xr: vector<256xf32>, %yr: vector<256xf32>):
    %two = arith.constant 2 : i32
    %t = lnbwd.index 1 : i32
    %is = arith.cmpi ult, %t, %two : i32
    %row = arith.select %is, %xr, %yr : vector<256xf32>
    %sum = vector.reduction <add>, %row : vector<256xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// With groups of rows, the first dimension is the group's.
// CHECK-LABEL: gpu.module @indices_of_groups_kernels
// CHECK:           %[[ROW:.*]] = lane.row
// CHECK-DAG:       arith.index_cast %[[ROW]] : index to i64
// CHECK-DAG:       %[[GROUP:.*]] = gpu.block_id z
// CHECK-DAG:       arith.index_cast %{{.*}} : index to i64
// CHECK-NOT:       arith.remui
func.func @indices_of_groups(%g: memref<?x512xf32>, %y: memref<?x?x512xf32>, %s: memref<?x?xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%g[b, n] : memref<?x512xf32>)
      outs(%y[b, t, n] : memref<?x?x512xf32>, %s[b, t] : memref<?x?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^row(%gr: vector<512xf32>):
    %b = lnbwd.index 0 : i64
    %t = lnbwd.index 1 : i64
    %sum = arith.addi %b, %t : i64
    %f = arith.uitofp %sum : i64 to f32
    lnbwd.yield %gr, %f : vector<512xf32>, f32
  }
  return
}

// -----

// Of no rows, the largest is -inf.
// CHECK-LABEL: gpu.module @maxima_kernels
// CHECK:         %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<2x4xf32>
// CHECK:         %[[LARGEST:.*]] = lane.for_rows {{.*}} sums(%[[BEFORE:.*]] = %[[LOWEST]])
// CHECK:           lane.accumulate maximum %[[BEFORE]], %{{.*}} : vector<2x4xf32>
// CHECK:         lane.combine_groups [#vector.kind<maximumf>] %[[LARGEST]] at
func.func @maxima(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] max : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
