// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected lanes to be at least 1, got 0}}
func.func private @f(!lane.layout<row_length = 64, lanes = 0, groups = 1, width = 4>)

// -----

// expected-error@+1 {{expected width to be a power of two, got 3}}
func.func private @f(!lane.layout<row_length = 63, lanes = 32, groups = 1, width = 3>)

// -----

// expected-error@+1 {{expected groups to be a power of two with across, got 6}}
func.func private @f(!lane.layout<row_length = 64, lanes = 32, groups = 6, width = 4, across = true>)

// -----

!layout = !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4>
!wider = !lane.layout<row_length = 64, lanes = 4, groups = 8, width = 8, across = true>
func.func @f(%layout: !layout, %wider: !wider, %x: vector<2x8xf32>) {
  // expected-error@+1 {{failed to verify that layouts differ in across alone}}
  %y = lane.convert_layout %x from %wider to %layout : !wider, !layout, vector<2x8xf32>
  return
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4>
!across = !lane.layout<row_length = 64, lanes = 8, groups = 8, width = 4, across = true>
func.func @f(%layout: !layout, %across: !across, %x: vector<4xf32>) {
  // expected-error@+1 {{failed to verify that it takes fragments by a layout}}
  %y = lane.convert_layout %x from %across to %layout : !across, !layout, vector<4xf32>
  return
}

// -----

// expected-error@+1 {{expected width to divide row_length, 63, got 2}}
func.func private @f(!lane.layout<row_length = 63, lanes = 32, groups = 1, width = 2>)

// -----

// expected-error@+1 {{expected columns to be 1 to row_length, 64, got 128}}
func.func private @f(!lane.layout<row_length = 64, lanes = 32, groups = 1, width = 2, columns = 128>)

// -----

// expected-error@+1 {{expected width to divide columns, 47, got 2}}
func.func private @f(!lane.layout<row_length = 100, lanes = 32, groups = 1, width = 2, columns = 47>)

// -----

func.func @f() {
  // expected-error@+1 {{failed to verify that there is a first column where the workgroup has some of a row's columns alone}}
  %layout = lane.layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2, columns = 64>
  return
}

// -----

func.func @f(%first: index) {
  // expected-error@+1 {{failed to verify that there is a first column where the workgroup has some of a row's columns alone}}
  %layout = lane.layout from %first : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>
  return
}

// -----

func.func @f(%m: memref<?x128xf32>, %row: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that results are a lane's fragments of the rows, or that access of each}}
  %x = lane.load %m[%row] at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, memref<?x128xf32> -> vector<4x2xf32>
  return
}

// -----

func.func @f(%m: memref<?x128xf32>, %row: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that results are a lane's fragments of the rows, or that access of each}}
  %x = lane.load %m[%row] at %layout access 2 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, memref<?x128xf32> -> vector<2xf32>
  return
}

// -----

func.func @f(%m: memref<?x128xf32>, %row: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that results are a lane's fragments of the rows, or that access of each}}
  %x:2 = lane.load %m[%row] at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, memref<?x128xf32> -> vector<2x2xf32>, vector<2x2xf32>
  return
}

// -----

func.func @f(%m: memref<?x64xf32>, %row: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that a memory is a memref of rank 2 whose last dimension is the layout's row_length}}
  %x = lane.load %m[%row] at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, memref<?x64xf32> -> vector<2x2xf32>
  return
}

// -----

func.func @f(%m: memref<128xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that there is a fragment of each memory, or all accesses of it}}
  %x:3 = lane.load_columns %m at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, memref<128xf32>
      -> vector<2xf32>, vector<2xf32>, vector<2xf32>
  return
}

// -----

func.func @f(%m: memref<?x128xf16>, %row: index, %x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that it stores a fragment, an access, or an element of accesses that lie side by side}}
  lane.store %x, %m[%row] at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2x2xf32>, memref<?x128xf16>
  return
}

// -----

func.func @f(%m: memref<?x128xf32>, %row: index, %x: vector<2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that it stores a fragment, an access, or an element of accesses that lie side by side}}
  lane.store %x, %m[%row] at %layout access 0 element 1 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2xf32>, memref<?x128xf32>
  return
}

// -----

func.func @f(%layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that access is below the accesses of a fragment}}
  %in_bounds = lane.in_bounds %layout access 2 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{attribute 'kinds' failed to satisfy constraint: array of #vector.kind<add> and <maximumf>}}
  %y = lane.fold [#vector.kind<mul>] %x at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2x2xf32> -> vector<2xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that there is a kind for each of its fragments}}
  %y = lane.fold [#vector.kind<add>, #vector.kind<add>] %x at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2x2xf32> -> vector<2xf32>
  return
}

// -----

func.func @f(%x: vector<4xf32>, %iteration: !lane.iteration, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that there is a number or an access, or with slices a number for each of them, of each sum}}
  %y = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<4xf32> -> f32
  return
}

// -----

func.func @f(%x: f32, %iteration: !lane.iteration, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{attribute 'phase' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %y = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase -1 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, f32 -> f32
  return
}

// -----

func.func @f(%x: f32, %iteration: !lane.iteration, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  %y = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, f32 -> f32
  // expected-error@+1 {{failed to verify that the block has a lane.reduce of the phase before}}
  %z = lane.reduce [#vector.kind<add>] %y at %layout iteration %iteration phase 7 : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, f32 -> f32
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{attribute 'radix' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 2 whose value is a power of two > 0}}
  %y = lane.combine_groups [#vector.kind<add>] %x at %layout radix 1 : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, vector<2x2xf32> -> vector<2x2xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{attribute 'radix' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 2 whose value is a power of two > 0}}
  %y = lane.combine_groups [#vector.kind<add>] %x at %layout radix 3 : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, vector<2x2xf32> -> vector<2x2xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that there is a kind for each of its sums, of which all have as many accesses}}
  %y = lane.combine_groups [#vector.kind<add>, #vector.kind<add>] %x at %layout radix 2 : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, vector<2x2xf32> -> vector<2x2xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>,
             %shared: !lane.layout<row_length = 128, lanes = 128, groups = 1, width = 1>) {
  // expected-error@+1 {{failed to verify that the lanes of its layouts are as many, and have the same columns of a row}}
  %y = lane.share_sums [#vector.kind<add>] %x at %layout to %shared : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, !lane.layout<row_length = 128, lanes = 128, groups = 1, width = 1>, vector<2x2xf32> -> vector<1x1xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>,
             %shared: !lane.layout<row_length = 128, lanes = 64, groups = 1, width = 1>) {
  // expected-error@+1 {{failed to verify that there is a total for each of its sums, a fragment of the shared layout}}
  %y = lane.share_sums [#vector.kind<add>] %x at %layout to %shared : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, !lane.layout<row_length = 128, lanes = 64, groups = 1, width = 1>, vector<2x2xf32> -> vector<2x2xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %leaf: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that there is a total for each of its sums, of its type}}
  %y = lane.add_leaves [#vector.kind<add>] %x leaf %leaf at %layout levels 1 : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, vector<2x2xf32> -> vector<4xf32>
  return
}

// -----

func.func @f(%x: vector<2x2xf32>, %m: memref<?x128xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that its memory is a memref of rank 1, or with a row 2, whose last dimension is the layout's row_length}}
  lane.store_sum %x, %m at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, vector<2x2xf32>, memref<?x128xf32>
  return
}

// -----

func.func @f(%m: memref<128xf32>, %rows: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that a memory is a memref of rank 2 whose last dimension is the layout's row_length}}
  lane.discard %m rows %rows at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, memref<128xf32>
  return
}

// -----

func.func @f(%rows: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that there are memories}}
  "lane.discard"(%rows, %layout) : (index, !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) -> ()
  return
}

// -----

func.func @f(%m: memref<?x64xf32>, %rows: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that a memory is a memref of rank 2 whose last dimension is the layout's row_length}}
  lane.prefetch_rows %m from %rows below %rows at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>, memref<?x64xf32>
  return
}

// -----

func.func @f(%rows: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that there are memories}}
  "lane.prefetch_rows"(%rows, %rows, %layout) : (index, index, !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) -> ()
  return
}

// -----

func.func @f(%i: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2>) {
  // expected-error@+1 {{failed to verify that it is said which workgroup of how many it is for where the last tile may be partial}}
  lane.for_rows %tile = %i to %i step %i at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 2, width = 2> {
  }
  return
}

// -----

func.func @f(%i: index, %zero: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{expected its sums to be used by lane.accumulate alone, got arith.negf}}
  %s = lane.for_rows %tile = %i to %i step %i at %layout sums(%a = %zero) : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2x2xf32> {
    %n = arith.negf %a : vector<2x2xf32>
    %b = lane.accumulate %a, %n : vector<2x2xf32>
    lane.yield %b : vector<2x2xf32>
  }
  return
}

// -----

func.func @f(%i: index, %zero: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  %s = lane.for_rows %tile = %i to %i step %i at %layout sums(%a = %zero) : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2x2xf32> {
    // expected-error@+1 {{expected a sum to be yielded as lane.accumulate left it}}
    lane.yield %zero : vector<2x2xf32>
  }
  return
}

// -----

func.func @f(%i: index, %t: !lane.iteration, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{0-th region iter_arg and 0-th yielded value have different type: '!lane.iteration' != 'index'}}
  %s = lane.for_rows %tile = %i to %i step %i at %layout carrying(%a = %t) : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, !lane.iteration {
    lane.yield %tile : index
  }
  return
}

// -----

func.func @f(%i: index, %t: !lane.iteration, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{expected 2 types, of the layout and of what goes from iteration to iteration, got 1}}
  %s = lane.for_rows %tile = %i to %i step %i at %layout carrying(%a = %t) : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2> {
  }
  return
}

// -----

func.func @f(%m: memref<?x128xf32>, %i: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that results are a lane's fragments of the rows, or that access of each}}
  %x = lane.load_predicated %m from %i count %i at %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, memref<?x128xf32> -> vector<2xf32>
  return
}

// -----

func.func @f(%i: index, %zero: vector<2x2xf32>, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, %in_bounds: i1) {
  %s = lane.for_rows %tile = %i to %i step %i at %layout sums(%a = %zero) : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>, vector<2x2xf32> {
    %c = scf.if %in_bounds -> (vector<2x2xf32>) {
      scf.yield %zero : vector<2x2xf32>
    } else {
      scf.yield %a : vector<2x2xf32>
    }
    // expected-error@+1 {{expected a sum to be yielded as lane.accumulate left it}}
    lane.yield %c : vector<2x2xf32>
  }
  return
}

// -----

func.func @f(%i: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that once is without entered and sum_block, which are of loops with several iterations}}
  lane.for_rows %tile = %i to %i step %i at %layout attributes {entered, once} : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2> {
  }
  return
}

// -----

func.func @f(%i: index, %layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that once is without entered and sum_block, which are of loops with several iterations}}
  lane.for_rows %tile = %i to %i step %i at %layout attributes {once, sum_block = 8 : i64} : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2> {
  }
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{must be a lane's fragment of a row, an access of it or a row scalar, but got 'index'}}
  %none = lane.undefined_row : index
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{must be a lane's fragment of a row, an access of it or a row scalar, but got 'vector<2x2x4xf32>'}}
  %none = lane.undefined_row : vector<2x2x4xf32>
  return
}

// -----

func.func @f(%layout: !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2>) {
  // expected-error@+1 {{failed to verify that the result has the shape of a fragment, or of an access}}
  %columns = lane.column_index %layout : !lane.layout<row_length = 128, lanes = 32, groups = 1, width = 2> -> vector<2xi32>
  return
}

// -----

func.func @f(%m: memref<8xf32>) {
  // expected-error@+1 {{failed to verify that a view has the elements and the memory space of its memory}}
  %v = lane.view %m : memref<8xf32> to memref<64xbf16, affine_map<(d0) -> (d0 floordiv 8)>>
  return
}

// -----

func.func @f(%m: memref<8xf32>) {
  // expected-error@+1 {{failed to verify that a view has a layout without symbols that gives the indices of its memory}}
  %v = lane.view %m : memref<8xf32> to memref<?x64xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 8)>>
  return
}

// -----

// expected-error@+1 {{expected span to be a multiple of width, and at least row_length + width - 1, 66, got 64}}
func.func private @f(!lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 64>)

// -----

// expected-error@+1 {{expected columns to be 1 to span, 68, got 72}}
func.func private @f(!lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, columns = 72, span = 68>)

// -----

func.func @f(%layout: !lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 68>) {
  // expected-error@+1 {{failed to verify that there is a row where rows are aligned, and none where columns are those of any}}
  %i = lane.column_index %layout : !lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 68> -> vector<1x4xi32>
  return
}

// -----

func.func @f(%layout: !lane.layout<row_length = 64, lanes = 32, groups = 1, width = 4>, %row: index) {
  // expected-error@+1 {{failed to verify that there is a row where rows are aligned, and none where columns are those of any}}
  %i = lane.column_index %layout row %row : !lane.layout<row_length = 64, lanes = 32, groups = 1, width = 4> -> vector<1x4xi32>
  return
}

// -----

func.func @f(%layout: !lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 68>, %v: vector<1x4xf32>) {
  // expected-error@+1 {{failed to verify that there is a row where rows are aligned, and none where columns are those of any}}
  %sum = lane.fold [#vector.kind<add>] %v at %layout : !lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 68>, vector<1x4xf32> -> vector<4xf32>
  return
}

// -----

func.func @f(%layout: !lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 68>, %row: index, %v: vector<1x4xf32>) {
  // expected-error@+1 {{failed to verify that rows that have slices are not aligned}}
  %sum = lane.fold [#vector.kind<add>] %v at %layout row %row slices 1 : !lane.layout<row_length = 63, lanes = 32, groups = 1, width = 4, span = 68>, vector<1x4xf32> -> f32
  return
}
