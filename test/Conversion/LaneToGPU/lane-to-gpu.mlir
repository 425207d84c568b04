// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize,cse)' --split-input-file --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_80},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize,cse)' --split-input-file --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,NVIDIA

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// Accesses of a lane lie 64 x 4 columns apart; their alignment is their size, at
// most 16 bytes.
// CHECK-LABEL: gpu.func @accesses(
// CHECK-SAME:    %[[X:.*]]: memref<?x512xf32>, %[[H:.*]]: memref<?x512xf16>, %[[S:.*]]: memref<?xf32>, %[[ROW:.*]]: index)
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[APART:.*]] = arith.constant 256 : index
// CHECK:         %[[LANE:.*]] = gpu.thread_id x
// CHECK:         %[[FIRST:.*]] = arith.muli %[[LANE]], %[[FOUR]] : index
// CHECK:         %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[APART]] : index
// CHECK:         %[[V:.*]] = vector.load %[[X]][%[[ROW]], %[[SECOND]]] {alignment = 16 : i64} : memref<?x512xf32>, vector<4xf32>
// CHECK:         %[[N:.*]] = vector.load %[[H]][%[[ROW]], %[[FIRST]]] {alignment = 8 : i64} : memref<?x512xf16>, vector<4xf16>
// CHECK:         vector.store %[[V]], %[[X]][%[[ROW]], %[[FIRST]]] {alignment = 16 : i64}
// CHECK:         %[[R:.*]] = memref.load %[[S]][%[[ROW]]]
// CHECK:         %[[IS_FIRST:.*]] = arith.cmpi eq, %[[LANE]], %{{.*}} : index
// CHECK:         scf.if %[[IS_FIRST]] {
// CHECK-NEXT:      memref.store %[[R]], %[[S]][%[[ROW]]]
// CHECK-NEXT:    }
// CHECK-NOT:     lane.
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @accesses(%x: memref<?x512xf32>, %h: memref<?x512xf16>, %s: memref<?xf32>, %row: index) {
    %layout = lane.layout : !layout
    %v = lane.load %x[%row] at %layout access 1 : !layout, memref<?x512xf32> -> vector<4xf32>
    %n = lane.load %h[%row] at %layout access 0 : !layout, memref<?x512xf16> -> vector<4xf16>
    "test.use"(%n) : (vector<4xf16>) -> ()
    lane.store %v, %x[%row] at %layout access 0 : !layout, vector<4xf32>, memref<?x512xf32>
    %r = lane.load_scalar %s[%row] : memref<?xf32>
    lane.store_scalar %r, %s[%row] at %layout : !layout, memref<?xf32>
    gpu.return
  }
}

// -----

// What is loaded nowhere has no value from the LLVM level on.
// CHECK-LABEL: gpu.func @no_row
// CHECK:         %[[PART:.*]] = llvm.mlir.poison : vector<4xf32>
// CHECK:         %[[NUMBER:.*]] = llvm.mlir.poison : f32
// CHECK:         "test.use"(%[[PART]], %[[NUMBER]])
gpu.module @m {
  gpu.func @no_row() {
    %part = lane.undefined_row : vector<4xf32>
    %number = lane.undefined_row : f32
    "test.use"(%part, %number) : (vector<4xf32>, f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 300, lanes = 64, groups = 1, width = 4>

// Beyond the row's end lanes read its last vector and write nothing; nor where
// the row does not exist.
// CHECK-LABEL: gpu.func @beyond_the_end
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 300 : index
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 296 : index
// CHECK:         %[[COLUMN:.*]] = arith.addi
// CHECK:         %[[VALID:.*]] = arith.cmpi ult, %[[COLUMN]], %[[LENGTH]] : index
// CHECK:         %[[CLAMPED:.*]] = arith.minui %[[COLUMN]], %[[LAST]] : index
// CHECK:         %[[V:.*]] = vector.load %{{.*}}[%{{.*}}, %[[CLAMPED]]]
// CHECK:         "test.use"(%[[VALID]])
// CHECK:         %[[BOTH:.*]] = arith.andi %[[VALID]], %{{.*}} : i1
// CHECK:         scf.if %[[BOTH]] {
// CHECK-NEXT:      vector.store %[[V]], %{{.*}}[%{{.*}}, %[[COLUMN]]]
gpu.module @m {
  gpu.func @beyond_the_end(%x: memref<?x300xf32>, %row: index, %in_bounds: i1) {
    %layout = lane.layout : !layout
    %v = lane.load %x[%row] at %layout access 1 : !layout, memref<?x300xf32> -> vector<4xf32>
    %e = lane.in_bounds %layout access 1 : !layout
    "test.use"(%e) : (i1) -> ()
    lane.store %v, %x[%row] at %layout access 1 if %in_bounds : !layout, vector<4xf32>, memref<?x300xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 2, width = 4>

// A wave's lanes are all of one group: AMD's code generator is told so. The first
// group reads the columns for both there; NVIDIA's caches serve each.
// CHECK-LABEL: gpu.func @groups
// AMD-SAME:      workgroup(%[[SHARED:[a-z0-9]+]] : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK:         %[[THREAD:.*]] = gpu.thread_id x
// CHECK:         arith.remui %[[THREAD]], %{{.*}} : index
// CHECK:         arith.divui %[[THREAD]], %{{.*}} : index
// AMD:           rocdl.readfirstlane
// AMD:           scf.if %{{.*}} {
// AMD:             vector.store %{{.*}}, %[[SHARED]]
// AMD:           amdgpu.lds_barrier
// AMD:           %[[G:.*]] = vector.load %[[SHARED]]
// NVIDIA-NOT:    readfirstlane
// NVIDIA:        %[[G:.*]] = vector.load %{{.*}} : memref<256xf32>
// CHECK:         %[[LOOP:.*]] = scf.for %[[SET:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}})
// CHECK:           %[[ROW:.*]] = arith.addi %[[SET]], %{{.*}} : index
// CHECK:           %[[ADDED:.*]] = arith.addf %[[SUM]], %[[G]] fastmath<contract>
// CHECK:           %[[KEPT:.*]] = arith.select %{{.*}}, %[[ADDED]], %[[SUM]]
// AMD:             amdgpu.lds_barrier
// NVIDIA:          gpu.barrier
// CHECK:           scf.yield %[[KEPT]]
gpu.module @m {
  gpu.func @groups(%g: memref<256xf32>, %begin: index, %end: index, %step: index, %in_bounds: i1) {
    %layout = lane.layout : !layout
    %c = lane.load_columns %g at %layout : !layout, memref<256xf32> -> vector<4xf32>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %sum = lane.for_rows %tile = %begin to %end step %step at %layout sums(%a = %zero) attributes {whole} : !layout, vector<4xf32> {
      %row = lane.row %tile at %layout : !layout
      "test.use"(%row) : (index) -> ()
      %b = lane.accumulate %a, %c if %in_bounds : vector<4xf32>
      lane.barrier
      lane.yield %b : vector<4xf32>
    }
    "test.use"(%sum) : (vector<4xf32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// Two levels of two. The first group has the totals, and writes them; they are
// rounded once.
// CHECK-LABEL: gpu.func @column_sums
// CHECK-SAME:    workgroup(%[[SLOTS:.*]] : memref<512xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.if
// CHECK:           vector.store %{{.*}}, %[[SLOTS]]
// AMD:           amdgpu.lds_barrier
// CHECK:         %[[A:.*]] = scf.if
// CHECK-COUNT-1:   vector.load %[[SLOTS]]
// AMD:           amdgpu.lds_barrier
// CHECK:         scf.if
// CHECK:           vector.store %[[A]], %[[SLOTS]]
// CHECK:         %[[B:.*]] = scf.if
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      %[[ROUNDED:.*]] = arith.truncf %[[B]] : vector<4xf32> to vector<4xf16>
// CHECK-NEXT:      vector.store %[[ROUNDED]], %{{.*}}[%{{.*}}] {alignment = 8 : i64}
gpu.module @m {
  gpu.func @column_sums(%s: vector<4xf32>, %o: memref<256xf16>) {
    %layout = lane.layout : !layout
    %total = lane.combine_groups [#vector.kind<add>] %s at %layout radix 2 : !layout, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0 : !layout, vector<4xf32>, memref<256xf16>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 8, groups = 1, width = 4, columns = 32>

// A workgroup that has 32 of the columns; a partial sum to which something is
// added goes to its row.
// CHECK-LABEL: gpu.func @tile(
// CHECK-SAME:    %[[S:.*]]: vector<4xf32>, %[[P:.*]]: memref<?x64xf32>, %[[FIRST:.*]]: index, %[[W:.*]]: index)
// CHECK:         %[[COLUMN:.*]] = arith.addi %[[FIRST]], %{{.*}} : index
// CHECK:         %[[BEFORE:.*]] = vector.load %[[P]][%[[W]], %[[COLUMN]]]
// CHECK:         %[[SUM:.*]] = arith.addf %[[S]], %[[BEFORE]]
// CHECK:         vector.store %[[SUM]], %[[P]][%[[W]], %[[COLUMN]]]
gpu.module @m {
  gpu.func @tile(%s: vector<4xf32>, %p: memref<?x64xf32>, %first: index, %w: index) {
    %layout = lane.layout from %first : !layout
    lane.store_sum %s, %p[%w] at %layout access 0 accumulate : !layout, vector<4xf32>, memref<?x64xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// A loop that is surely entered tests at its end.
// CHECK-LABEL: gpu.func @entered(
// CHECK-SAME:    %[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[STEP:.*]]: index, %[[SUM:.*]]: vector<4xf32>)
// CHECK:         %[[LOOP:.*]]:2 = scf.while (%[[SET:.*]] = %[[BEGIN]], %[[A:.*]] = %[[SUM]])
// CHECK:           %[[ADDED:.*]] = arith.addf %[[A]], %[[SUM]]
// CHECK:           %[[NEXT:.*]] = arith.addi %[[SET]], %[[STEP]] : index
// CHECK:           %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %[[END]] : index
// CHECK:           scf.condition(%[[MORE]]) %[[NEXT]], %[[ADDED]]
// CHECK:         "test.use"(%[[LOOP]]#1)
gpu.module @m {
  gpu.func @entered(%begin: index, %end: index, %step: index, %s: vector<4xf32>) {
    %layout = lane.layout : !layout
    %sum = lane.for_rows %tile = %begin to %end step %step at %layout sums(%a = %s) attributes {entered, whole} : !layout, vector<4xf32> {
      %b = lane.accumulate %a, %s : vector<4xf32>
      lane.yield %b : vector<4xf32>
    }
    "test.use"(%sum) : (vector<4xf32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// A workgroup for each tile: no loop, and what the iteration carries stays as
// it was where there is no tile.
// CHECK-LABEL: gpu.func @once
// CHECK-SAME:    %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{.*}}: index, %[[S:.*]]: vector<4xf32>
// CHECK-NOT:     scf.for
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %[[BEGIN]], %[[END]] {{.*}}: index
// CHECK:         %[[SUM:.*]] = scf.if %[[EXISTS]] -> (vector<4xf32>) {
// CHECK:           %[[NEXT:.*]] = arith.addf %[[S]], %[[S]]
// CHECK:           "test.use"(%[[BEGIN]])
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         } else {
// CHECK:           scf.yield %[[S]]
// CHECK:         "test.use"(%[[SUM]])
// CHECK:         scf.if %[[EXISTS]] {
// CHECK-NEXT:      "test.use"(%[[BEGIN]])
// CHECK-NEXT:    }
gpu.module @m {
  gpu.func @once(%begin: index, %end: index, %step: index, %s: vector<4xf32>) {
    %layout = lane.layout : !layout
    %sum = lane.for_rows %tile = %begin to %end step %step at %layout sums(%a = %s) attributes {once, whole} : !layout, vector<4xf32> {
      %b = lane.accumulate %a, %s : vector<4xf32>
      "test.use"(%tile) : (index) -> ()
      lane.yield %b : vector<4xf32>
    }
    "test.use"(%sum) : (vector<4xf32>) -> ()
    lane.for_rows %tile = %begin to %end step %step at %layout attributes {once, whole} : !layout {
      "test.use"(%tile) : (index) -> ()
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1208, lanes = 64, groups = 1, width = 4, columns = 304>

// A lane's second access may lie beyond the 304 columns of its workgroup, or,
// in the last one, which has 296, beyond the row.
// CHECK-LABEL: gpu.func @uneven(
// CHECK-SAME:    %[[S:.*]]: vector<4xf32>, %[[P:.*]]: memref<?x1208xf32>, %[[FIRST:.*]]: index, %[[W:.*]]: index)
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 1208 : index
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant 304 : index
// CHECK:         %[[BEHIND:.*]] = arith.addi %[[FIRST]], %[[COLUMNS]] : index
// CHECK:         %[[END:.*]] = arith.minui %[[BEHIND]], %[[LENGTH]] : index
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %[[END]] : index
// CHECK:         scf.if %[[EXISTS]] {
// CHECK-NEXT:      vector.store %[[S]], %[[P]]
gpu.module @m {
  gpu.func @uneven(%s: vector<4xf32>, %p: memref<?x1208xf32>, %first: index, %w: index) {
    %layout = lane.layout from %first : !layout
    lane.store_sum %s, %p[%w] at %layout access 1 : !layout, vector<4xf32>, memref<?x1208xf32>
    gpu.return
  }
}

// -----

!column_tile = !lane.layout<row_length = 700, lanes = 64, groups = 1, width = 4, columns = 256>

// What belongs to the row is written by the workgroup that has its first
// columns, what belongs to the workgroup's columns by each.
// CHECK-LABEL: gpu.func @tiles(
// CHECK-SAME:    %[[N:[a-z0-9]+]]: f32, %[[A:[a-z0-9]+]]: memref<?xf32>, %[[B:[a-z0-9]+]]: memref<?xf32>, %[[ROW:[a-z0-9]+]]: index, %[[FIRST:[a-z0-9]+]]: index)
// CHECK:         %[[TILE:.*]] = arith.cmpi eq, %[[FIRST]], %{{.*}} : index
// CHECK:         %[[BOTH:.*]] = arith.andi %{{.*}}, %[[TILE]] : i1
// CHECK:         scf.if %[[BOTH]] {
// CHECK-NEXT:      memref.store %[[N]], %[[A]][%[[ROW]]]
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      memref.store %[[N]], %[[B]][%[[ROW]]]
gpu.module @m {
  gpu.func @tiles(%n: f32, %a: memref<?xf32>, %b: memref<?xf32>, %row: index, %first: index) {
    %layout = lane.layout from %first : !column_tile
    lane.store_scalar %n, %a[%row] at %layout : !column_tile, memref<?xf32>
    lane.store_scalar %n, %b[%row] at %layout own_columns : !column_tile, memref<?xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 4>

// CHECK-LABEL: gpu.func @column_index(
// CHECK-DAG:     %[[STEPS:.*]] = arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
// CHECK-DAG:     %[[LANE:.*]] = gpu.thread_id x
// CHECK:         %[[FIRST:.*]] = arith.muli %[[LANE]], %{{.*}} : index
// CHECK:         %[[SECOND:.*]] = arith.addi %[[FIRST]], %{{.*}} : index
// CHECK:         %[[NARROW:.*]] = arith.index_cast %[[SECOND]] : index to i32
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[NARROW]] : i32 to vector<4xi32>
// CHECK:         arith.addi %[[SPREAD]], %[[STEPS]] : vector<4xi32>
gpu.module @m {
  gpu.func @column_index() {
    %layout = lane.layout : !layout
    %c = lane.column_index %layout access 1 : !layout -> vector<4xi32>
    "test.use"(%c) : (vector<4xi32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 768, lanes = 64, groups = 1, width = 4>

// One division for an access that has one digit, or the next one for each
// element; others divide each.
// CHECK-LABEL: gpu.func @digits(
// CHECK:         %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:         %[[PIECE:.*]] = arith.divui %[[FIRST]], %c12_i32 : i32
// CHECK:         %[[HALF:.*]] = arith.remui %[[PIECE]], %c2_i32 : i32
// CHECK:         vector.broadcast %[[HALF]] : i32 to vector<4xi32>
// CHECK:         %[[NEXT:.*]] = arith.remui %[[FIRST]], %c12_i32 : i32
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[NEXT]] : i32 to vector<4xi32>
// CHECK:         arith.addi %[[SPREAD]]
// CHECK:         arith.divui %{{.*}} : vector<4xi32>
gpu.module @m {
  gpu.func @digits() {
    %layout = lane.layout : !layout
    %0 = lane.column_index %layout access 1 divisor 12 modulus 2 : !layout -> vector<4xi32>
    %1 = lane.column_index %layout access 1 modulus 12 : !layout -> vector<4xi32>
    %2 = lane.column_index %layout access 1 divisor 6 : !layout -> vector<4xi32>
    "test.use"(%0, %1, %2) : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 16, width = 1, across = true>

// Lanes across rows: neighbouring work-items have neighbouring rows, and a wave
// does not have one row alone.
// CHECK-LABEL: gpu.func @across(
// CHECK-SAME:    %[[X:.*]]: memref<512x?xf32>, %[[TILE:.*]]: index)
// CHECK:         %[[THREAD:.*]] = gpu.thread_id x
// CHECK-DAG:     %[[GROUP:.*]] = arith.remui %[[THREAD]], %[[GROUPS:.*]] : index
// CHECK-DAG:     %[[LANE:.*]] = arith.divui %[[THREAD]], %[[GROUPS]] : index
// CHECK-NOT:     readfirstlane
// CHECK:         %[[ROW:.*]] = arith.addi %[[TILE]], %[[GROUP]] : index
// CHECK:         "test.use"(%[[ROW]], %[[LANE]])
gpu.module @m {
  gpu.func @across(%x: memref<512x?xf32>, %tile: index) {
    %layout = lane.layout : !layout
    %row = lane.row %tile at %layout : !layout
    %lane = lane.lane %layout : !layout
    "test.use"(%row, %lane) : (index, index) -> ()
    gpu.return
  }
}

// -----

// What other groups do not have is -inf.
// CHECK-LABEL: gpu.func @maxima(
// CHECK:         %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<4xf32>
// CHECK:         arith.maximumf
// CHECK:         %[[THERE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LOWEST]] : vector<4xf32>
// CHECK-NEXT:    arith.maximumf %{{.*}}, %[[THERE]] : vector<4xf32>
gpu.module @m {
  gpu.func @maxima(%s: vector<4xf32>, %x: vector<4xf32>, %o: memref<256xf32>) {
    %layout = lane.layout : !lane.layout<row_length = 256, lanes = 64, groups = 3, width = 4>
    %larger = lane.accumulate maximum %s, %x : vector<4xf32>
    %total = lane.combine_groups [#vector.kind<maximumf>] %larger at %layout radix 2
        : !lane.layout<row_length = 256, lanes = 64, groups = 3, width = 4>, vector<4xf32> -> vector<4xf32>
    lane.store_sum %total, %o at %layout access 0
        : !lane.layout<row_length = 256, lanes = 64, groups = 3, width = 4>, vector<4xf32>, memref<256xf32>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @elements(
// CHECK-SAME:    %[[T:.*]]: memref<100xf32>, %[[I:.*]]: vector<2xi32>)
// CHECK:         %[[FIRST:.*]] = vector.extract %[[I]][0]
// CHECK:         %[[AT:.*]] = arith.index_castui %[[FIRST]] : i32 to index
// CHECK:         %[[A:.*]] = memref.load %[[T]][%[[AT]]]
// CHECK:         %[[B:.*]] = memref.load %[[T]]
// CHECK:         vector.from_elements %[[A]], %[[B]] : vector<2xf32>
gpu.module @m {
  gpu.func @elements(%t: memref<100xf32>, %i: vector<2xi32>) {
    %e = lane.load_elements %t[%i] : memref<100xf32>, vector<2xi32> -> vector<2xf32>
    "test.use"(%e) : (vector<2xf32>) -> ()
    gpu.return
  }
}
