// RUN: lnbwd-opt %s --lnbwd-distribute-to-gpu=chip=gfx942 --canonicalize --cse --split-input-file | FileCheck %s

// A kernel takes bare pointers, each typed as the first row of its buffer, then
// the row count and the workgroup count; the function launches it.
// CHECK:       module attributes {gpu.container_module}
// CHECK-LABEL:   gpu.module @frame_kernels
// CHECK:           gpu.func @k(
// CHECK-SAME:        %{{[a-z0-9]+}}: memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<512xf32, #gpu.address_space<global>> {llvm.noalias, llvm.readonly},
// CHECK-SAME:        %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>> {llvm.noalias, llvm.readonly}, %{{[a-z0-9]+}}: memref<1x512xf32, #gpu.address_space<global>>,
// CHECK-SAME:        %{{[a-z0-9]+}}: i64, %{{[a-z0-9]+}}: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>,
// CHECK-SAME:        lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 512, schedule = <threads_per_row = 64, {{.*}}>>}
// CHECK:         func.func @frame(
// CHECK-SAME:      %[[X:[a-z0-9]+]]: memref<?x512xf32> {lnbwd.access = "read", lnbwd.kind = "row_block", lnbwd.name = "x"}
// CHECK-SAME:      memref<512xf32> {lnbwd.access = "read", lnbwd.kind = "column", lnbwd.name = "gamma"}
// CHECK-SAME:      memref<?xf32> {lnbwd.access = "read", lnbwd.kind = "row_scalar", lnbwd.name = "rstd"}
// CHECK-SAME:      memref<?x512xf32> {lnbwd.access = "write", lnbwd.kind = "row_block", lnbwd.name = "y"}
// CHECK-DAG:       %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-DAG:       %[[THREADS:[a-z0-9_]+]] = arith.constant 64 : index
// CHECK-DAG:       %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[X]]
// CHECK-DAG:       %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] schedule
// CHECK-NOT:       lnbwd.rowwise
// CHECK:           gpu.launch_func @frame_kernels::@k blocks in (%[[W]], %[[ONE]], %[[ONE]]) threads in (%[[THREADS]], %[[ONE]], %[[ONE]])
func.func @frame(%x: memref<?x512xf32>, %c: memref<512xf32>, %s: memref<?xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) columns(%c : memref<512xf32>) scalars(%s : memref<?xf32>)
      outs rows(%y : memref<?x512xf32>)
      attributes {operand_names = ["x", "gamma", "rstd", "y"], schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %cr: vector<512xf32>, %sr: f32):
    %scaled = arith.mulf %xr, %cr : vector<512xf32>
    %spread = vector.broadcast %sr : f32 to vector<512xf32>
    %yr = arith.mulf %scaled, %spread : vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}

// -----

// What an operand is follows from its place, not from its shape: statistics with
// a static last dimension, or of static rows, are no columns.
// CHECK-LABEL: gpu.module @leading_dimensions_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>>
// CHECK:       func.func @leading_dimensions(
// CHECK-SAME:    memref<?x4xf32> {lnbwd.access = "read", lnbwd.kind = "row_scalar"
func.func @leading_dimensions(%x: memref<?x4x512xf32>, %s: memref<?x4xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x4x512xf32>) scalars(%s : memref<?x4xf32>) outs rows(%x : memref<?x4x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %sr: f32):
    %spread = vector.broadcast %sr : f32 to vector<512xf32>
    lnbwd.yield %spread : vector<512xf32>
  }
  return
}

// -----

// CHECK-LABEL: gpu.module @static_rows_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>>,
// CHECK:       func.func @static_rows(
// CHECK-SAME:    memref<64xf32> {lnbwd.access = "write", lnbwd.kind = "row_scalar"
func.func @static_rows(%x: memref<64x512xf32>, %s: memref<64xf32>) {
  lnbwd.rowwise @k rows(%x : memref<64x512xf32>) outs scalars(%s : memref<64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// A row of rank 1 is one row.
// CHECK-LABEL: gpu.module @one_row_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    memref<1x512xf32, #gpu.address_space<global>>, %{{[a-z0-9]+}}: memref<1xf32, #gpu.address_space<global>>,
// CHECK:       func.func @one_row(
// CHECK-SAME:    memref<512xf32> {lnbwd.access = "read", lnbwd.kind = "row_block"
func.func @one_row(%x: memref<512xf32>, %s: memref<f32>) {
  lnbwd.rowwise @k rows(%x : memref<512xf32>) outs scalars(%s : memref<f32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// One 16-byte load and store for each lane.
// CHECK-LABEL: gpu.module @wide_accesses_kernels
// CHECK:       gpu.func @k(
// CHECK-COUNT-1: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK-NOT:     vector.load
// CHECK:         vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK:         gpu.return
func.func @wide_accesses(%x: memref<?x512xbf16>, %o: memref<?x512xbf16>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xbf16>) outs rows(%o : memref<?x512xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %sum = vector.reduction <add>, %wide : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %y = arith.addf %wide, %spread : vector<512xf32>
    %n = arith.truncf %y : vector<512xf32> to vector<512xbf16>
    lnbwd.yield %n : vector<512xbf16>
  }
  return
}

// -----

// A row of odd length is aligned to one element.
// CHECK-LABEL: gpu.module @narrow_accesses_kernels
// CHECK:       gpu.func @k(
// CHECK:         vector.load %{{.*}} {alignment = 2 : i64} : {{.*}}, vector<1xf16>
// CHECK:         gpu.return
func.func @narrow_accesses(%x: memref<?x63xf16>, %o: memref<?x63xf16>) {
  lnbwd.rowwise @k rows(%x : memref<?x63xf16>) outs rows(%o : memref<?x63xf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 1, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<63xf16>):
    %wide = arith.extf %xr : vector<63xf16> to vector<63xf32>
    %sum = vector.reduction <add>, %wide : vector<63xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<63xf32>
    %y = arith.addf %wide, %spread : vector<63xf32>
    %n = arith.truncf %y : vector<63xf32> to vector<63xf16>
    lnbwd.yield %n : vector<63xf16>
  }
  return
}

// -----

// A lane holds all its columns at once: 512 columns in accesses of 64 lanes x 4.
// CHECK-LABEL: gpu.module @two_chunks_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK-COUNT-2: vector.load %{{.*}} : {{.*}}, vector<4xf32>
// CHECK-NOT:     vector.load
// CHECK-COUNT-2: vector.store
// CHECK-NOT:     vector.store
// CHECK:         gpu.return
func.func @two_chunks(%x: memref<?x512xf32>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%o : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %y = arith.addf %xr, %spread : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// A row that fits a wave needs no barrier and no workgroup memory.
// CHECK-LABEL: gpu.module @one_wave_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     workgroup(
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.subgroup_reduce add %{{.*}} : (f32) -> f32
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @one_wave(%x: memref<?x512xf32>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%o : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %y = arith.addf %xr, %spread : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// Four rows to a wave: each sums over its own lanes.
// CHECK-LABEL: gpu.module @part_of_a_wave_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.subgroup_reduce add %{{.*}} cluster(size = 16) : (f32) -> f32
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @part_of_a_wave(%x: memref<?x64xf32>, %o: memref<?x64xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x64xf32>) outs rows(%o : memref<?x64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<64xf32>
    %y = arith.addf %xr, %spread : vector<64xf32>
    lnbwd.yield %y : vector<64xf32>
  }
  return
}

// -----

// A row of one lane is summed in its registers.
// CHECK-LABEL: gpu.module @one_lane_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     gpu.subgroup_reduce
// CHECK:         gpu.return
func.func @one_lane(%x: memref<?x8xf32>, %o: memref<?x8xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x8xf32>) outs rows(%o : memref<?x8xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 1, row_groups = 64, vector_width = 4, rows_per_workgroup = 64, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<8xf32>):
    %sum = vector.reduction <add>, %xr : vector<8xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<8xf32>
    %y = arith.addf %xr, %spread : vector<8xf32>
    lnbwd.yield %y : vector<8xf32>
  }
  return
}

// -----

// Waves exchange all sums of a phase with one barrier; what the slots held for
// the row before is in the other half.
// CHECK-LABEL: gpu.module @four_waves_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    workgroup(%[[SLOTS:[a-z0-9]+]] : memref<16xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.for
// CHECK-COUNT-2:   gpu.subgroup_reduce
// CHECK:           vector.store %{{.*}}, %[[SLOTS]][%{{.*}}] {alignment = 8 : i64} : {{.*}}, vector<2xf32>
// CHECK-COUNT-1:   amdgpu.lds_barrier
// CHECK-NOT:       amdgpu.lds_barrier
// CHECK-COUNT-4:   vector.load %[[SLOTS]][%{{.*}}] {alignment = 8 : i64} : {{.*}}, vector<2xf32>
// CHECK-NOT:       amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @four_waves(%x: memref<?x1024xf32>, %a: memref<?xf32>, %b: memref<?xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x1024xf32>) outs scalars(%a, %b : memref<?xf32>, memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<1024xf32>):
    %square = arith.mulf %xr, %xr : vector<1024xf32>
    %s1 = vector.reduction <add>, %xr : vector<1024xf32> into f32
    %s2 = vector.reduction <add>, %square : vector<1024xf32> into f32
    lnbwd.yield %s1, %s2 : f32, f32
  }
  return
}

// -----

// A sum that needs another sum is a phase, and an exchange, of its own.
// CHECK-LABEL: gpu.module @two_phases_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK-COUNT-2:   amdgpu.lds_barrier
// CHECK-NOT:       amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @two_phases(%x: memref<?x1024xf32>, %a: memref<?xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x1024xf32>) outs scalars(%a : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<1024xf32>):
    %s1 = vector.reduction <add>, %xr : vector<1024xf32> into f32
    %spread = vector.broadcast %s1 : f32 to vector<1024xf32>
    %centered = arith.subf %xr, %spread : vector<1024xf32>
    %square = arith.mulf %centered, %centered : vector<1024xf32>
    %s2 = vector.reduction <add>, %square : vector<1024xf32> into f32
    lnbwd.yield %s2 : f32
  }
  return
}

// -----

// Beyond the row's end lanes read its last vector, add zero and write nothing.
// CHECK-LABEL: gpu.module @ragged_row_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     %[[LENGTH:[a-z0-9_]+]] = arith.constant 300 : index
// CHECK-DAG:     %[[LAST:[a-z0-9_]+]] = arith.constant 296 : index
// CHECK-DAG:     %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK:         %[[VALID:[a-z0-9_]+]] = arith.cmpi ult, %[[COLUMN:[a-z0-9_]+]], %[[LENGTH]]
// CHECK:         %[[CLAMPED:[a-z0-9_]+]] = arith.minui %[[COLUMN]], %[[LAST]]
// CHECK:         scf.for
// CHECK:           vector.load
// CHECK:           %[[X:[a-z0-9_]+]] = vector.load %{{.*}}[%{{.*}}, %[[CLAMPED]]]
// CHECK:           arith.select %[[VALID]], %[[X]], %[[ZERO]]
// CHECK:           vector.store
// CHECK:           scf.if %[[VALID]] {
// CHECK-NEXT:        vector.store %{{.*}}[%{{.*}}, %[[COLUMN]]]
// CHECK:         gpu.return
func.func @ragged_row(%x: memref<?x300xf32>, %o: memref<?x300xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x300xf32>) outs rows(%o : memref<?x300xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<300xf32>):
    %sum = vector.reduction <add>, %xr : vector<300xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<300xf32>
    %y = arith.addf %xr, %spread : vector<300xf32>
    lnbwd.yield %y : vector<300xf32>
  }
  return
}

// -----

// A row that the lanes cover exactly has no masks.
// CHECK-LABEL: gpu.module @whole_row_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     arith.select
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
func.func @whole_row(%x: memref<?x512xf32>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%o : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %y = arith.addf %xr, %spread : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// Rows that fill no set of four come after the loop, which has no masks.
// CHECK-LABEL: gpu.module @tail_rows_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     %[[FOUR:[a-z0-9_]+]] = arith.constant 4 : index
// CHECK-DAG:     %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-DAG:     %[[ROWS:[a-z0-9_]+]] = arith.index_cast %arg2 : i64 to index
// CHECK-DAG:     %[[WORKGROUPS:[a-z0-9_]+]] = arith.index_cast %arg3 : i64 to index
// CHECK:         arith.divui %[[ROWS]], %[[FOUR]]
// CHECK:         scf.for
// CHECK-NOT:       scf.if
// CHECK:           vector.store
// CHECK:         %[[BEHIND:[a-z0-9_]+]] = arith.addi %block_id_x, %[[ONE]]
// CHECK:         arith.cmpi eq, %[[BEHIND]], %[[WORKGROUPS]]
// CHECK:         scf.if
// CHECK:           %[[LAST:[a-z0-9_]+]] = arith.subi %[[ROWS]], %[[ONE]]
// CHECK:           %[[VALID:[a-z0-9_]+]] = arith.cmpi ult, %[[ROW:[a-z0-9_]+]], %[[ROWS]]
// CHECK:           arith.minui %[[ROW]], %[[LAST]]
// CHECK:           scf.if %[[VALID]] {
// CHECK-NEXT:        vector.store
// CHECK:         gpu.return
func.func @tail_rows(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%o : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Row by row there is no tail.
// CHECK-LABEL: gpu.module @no_tail_kernels
// CHECK:       gpu.func @k(
// CHECK-NOT:     arith.remui
// CHECK:         scf.for
// CHECK-NOT:     scf.if
// CHECK:         gpu.return
func.func @no_tail(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%o : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// The next row is loaded while this one is worked on.
// CHECK-LABEL: gpu.module @prefetch_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[FIRST:[a-z0-9_]+]] = vector.load {{.*}}#amdgpu.address_space<fat_raw_buffer>
// CHECK:         scf.for {{.*}} iter_args({{.*}}%[[NOW:[a-z0-9_]+]] = %[[FIRST]])
// CHECK:           %[[EXISTS:[a-z0-9_]+]] = arith.cmpi ult
// CHECK:           %[[COUNT:[a-z0-9_]+]] = arith.select %[[EXISTS]], %c1, %c0
// CHECK:           arith.muli %[[COUNT]], %c256
// CHECK:           amdgpu.fat_raw_buffer_cast {{.*}} validBytes({{.*}}) resetOffset
// CHECK:           %[[NEXT:[a-z0-9_]+]] = vector.load
// CHECK:           rocdl.sched.barrier 0
// CHECK:           arith.addf %[[NOW]],
// CHECK:           scf.yield {{.*}}%[[NEXT]] :
// CHECK:         gpu.return
func.func @prefetch(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%o : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Two rows a turn: each is loaded behind the work that frees its registers, for
// the next turn, and nothing is copied.
// CHECK-LABEL: gpu.module @unroll_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.if
// CHECK:           %[[FIRST:[a-z0-9_]+]] = vector.load
// CHECK:           rocdl.sched.barrier 0
// CHECK:           %[[SECOND:[a-z0-9_]+]] = vector.load
// CHECK:           rocdl.sched.barrier 0
// CHECK:           scf.while ({{.*}}%[[A:[a-z0-9_]+]] = %[[FIRST]], %[[B:[a-z0-9_]+]] = %[[SECOND]])
// CHECK:             arith.addf %[[A]],
// CHECK:             %[[NEXTA:[a-z0-9_]+]] = vector.load
// CHECK:             rocdl.sched.barrier 0
// CHECK:             scf.if
// CHECK-NOT:           vector.load
// CHECK:               arith.addf %[[B]],
// CHECK:             %[[NEXTB:[a-z0-9_]+]] = vector.load
// CHECK:             rocdl.sched.barrier 0
// CHECK:             scf.condition({{.*}}, %[[NEXTA]], %[[NEXTB]] :
// CHECK:         gpu.return
func.func @unroll(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%o : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<256xf32>
    %y = arith.addf %xr, %spread : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// Scalars that several phases need are computed ahead of their loops.
// CHECK-LABEL: gpu.module @reload_scalar_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK:           %[[MINUS:[a-z0-9_]+]] = arith.negf
// CHECK:           scf.for
// CHECK:             vector.broadcast %[[MINUS]]
// CHECK:           scf.for
// CHECK:             vector.broadcast %[[MINUS]]
// CHECK:         gpu.return
func.func @reload_scalar(%x: memref<?x4096xf32>, %m: memref<?xf32>, %o: memref<?x4096xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x4096xf32>) scalars(%m : memref<?xf32>) outs rows(%o : memref<?x4096xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, reload = true>} {
  ^bb0(%xr: vector<4096xf32>, %mean: f32):
    %minus = arith.negf %mean : f32
    %spread = vector.broadcast %minus : f32 to vector<4096xf32>
    %c = arith.addf %xr, %spread : vector<4096xf32>
    %sum = vector.reduction <add>, %c : vector<4096xf32> into f32
    %all = vector.broadcast %sum : f32 to vector<4096xf32>
    %y = arith.mulf %c, %all : vector<4096xf32>
    lnbwd.yield %y : vector<4096xf32>
  }
  return
}

// -----

// Groups side by side share what the first of them reads of the columns, and
// know their row in a scalar register.
// CHECK-LABEL: gpu.module @shared_columns_kernels
// CHECK:       gpu.func @k({{.*}}%[[GAMMA:[a-z0-9]+]]: memref<256xf32, #gpu.address_space<global>> {llvm.noalias, llvm.readonly}
// CHECK:         rocdl.readfirstlane
// CHECK:         scf.if
// CHECK:           %[[READ:[a-z0-9_]+]] = vector.load %[[GAMMA]]
// CHECK-NEXT:      vector.store %[[READ]], %[[SHARED:[a-z0-9_]+]][
// CHECK:         amdgpu.lds_barrier
// CHECK-NEXT:    vector.load %[[SHARED]][
// CHECK:         gpu.return
func.func @shared_columns(%x: memref<?x256xf32>, %gamma: memref<256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) columns(%gamma : memref<256xf32>) outs rows(%o : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>, %g: vector<256xf32>):
    %y = arith.mulf %xr, %g : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}

// -----

// A row that does not stay in registers is read once a phase.
// CHECK-LABEL: gpu.module @reload_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK:           %[[PARTIAL:[a-z0-9_]+]] = scf.for {{.*}} iter_args(%[[ACC:[a-z0-9_]+]] =
// CHECK:             %[[X:[a-z0-9_]+]] = vector.load
// CHECK:             %[[ADDED:[a-z0-9_]+]] = arith.addf %[[ACC]], %[[X]]
// CHECK:             scf.yield %[[ADDED]]
// CHECK:           amdgpu.lds_barrier
// CHECK:           scf.for
// CHECK-NOT:       iter_args
// CHECK:             vector.load
// CHECK:             vector.store
// CHECK:         gpu.return
func.func @reload(%x: memref<?x65536xf32>, %o: memref<?x65536xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x65536xf32>) outs rows(%o : memref<?x65536xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, reload = true>} {
  ^bb0(%xr: vector<65536xf32>):
    %sum = vector.reduction <add>, %xr : vector<65536xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<65536xf32>
    %y = arith.addf %xr, %spread : vector<65536xf32>
    lnbwd.yield %y : vector<65536xf32>
  }
  return
}

// -----

// Column sums stay in registers over all rows, those of a block of 8 turns
// beside the totals; each workgroup writes its own row.
// CHECK-LABEL: gpu.module @partial_sums_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.0
// CHECK:         %[[WORKGROUP:[a-z0-9_]+]] = gpu.block_id x
// CHECK:         %[[STEP:[0-9]+]] = arith.muli %{{.*}}, %c8
// CHECK:         %[[SUM:[a-z0-9_]+]]:{{[0-9]+}} = scf.for %[[FIRST:[a-z0-9_]+]] = {{.*}} step %[[STEP]] iter_args(%[[TOTAL:[a-z0-9_]+]] = %[[ZERO]],
// CHECK:           %[[NEXT:[0-9]+]] = arith.addi %[[FIRST]], %[[STEP]]
// CHECK:           %[[END:[0-9]+]] = arith.minui %[[NEXT]],
// CHECK:           %[[BLOCK:[0-9]+]]:2 = scf.for {{.*}} = %[[FIRST]] to %[[END]] step %{{[a-z0-9_]+}} iter_args(%{{.*}} = %[[ZERO]], 
// CHECK:             arith.addf
// CHECK:           }
// CHECK:           arith.addf %[[TOTAL]], %[[BLOCK]]#0
// CHECK-NOT:       vector.store
// CHECK:         }
// CHECK:         vector.store %[[SUM]]#{{[0-9]}}, %{{.*}}[%[[WORKGROUP]], %{{.*}}]
// CHECK:         gpu.return
func.func @partial_sums(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs column_sums(%p : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// No totals where rows of 16 bits round the sums more coarsely,
// CHECK-LABEL: gpu.module @sums_of_narrow_rows_kernels
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
func.func @sums_of_narrow_rows(%x: memref<?x512xbf16>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xbf16>) outs column_sums(%p : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    lnbwd.yield %wide : vector<512xf32>
  }
  return
}

// -----

// where the registers of a compute unit are taken by its workgroups,
// CHECK-LABEL: gpu.module @sums_without_room_kernels
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
func.func @sums_without_room(%x: memref<?x4096xf32>, %p: memref<?x4096xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x4096xf32>) outs column_sums(%p : memref<?x4096xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 8>} {
  ^bb0(%xr: vector<4096xf32>):
    lnbwd.yield %xr : vector<4096xf32>
  }
  return
}

// -----

// and for partial sums, of which a lane has a few.
// CHECK-LABEL: gpu.module @sums_of_partial_sums_kernels
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
func.func @sums_of_partial_sums(%p: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k rows(%p : memref<?x512xf32>) outs column_sums(%s : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 32, unroll = 4>} {
  ^bb0(%pr: vector<512xf32>):
    lnbwd.yield %pr : vector<512xf32>
  }
  return
}

// -----

// In the paired loop a block is 4 turns, of 2 sets, and is entered if there is a first.
// CHECK-LABEL: gpu.module @paired_blocks_kernels
// CHECK:         %[[STEP:[0-9]+]] = arith.muli %{{.*}}, %c8
// CHECK:         scf.while
// CHECK:           scf.while
// CHECK:             scf.condition
// CHECK:           arith.addf
// CHECK:           scf.condition
// CHECK:         gpu.return
func.func @paired_blocks(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%y : memref<?x512xf32>) column_sums(%p : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Three of four row groups leave their sums to the first, which adds them by
// pairs: one barrier.
// CHECK-LABEL: gpu.module @groups_combined_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    workgroup(%[[MEMORY:[a-z0-9]+]] : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.for
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         vector.store %{{.*}}, %[[MEMORY]]
// CHECK:         amdgpu.lds_barrier
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         %[[SECOND:[0-9]+]] = vector.load %[[MEMORY]]
// CHECK:         %[[THIRD:[0-9]+]] = vector.load %[[MEMORY]]
// CHECK:         %[[FOURTH:[0-9]+]] = vector.load %[[MEMORY]]
// CHECK-NEXT:    %[[ONE_PAIR:[0-9]+]] = arith.addf %{{[0-9]+}}, %[[SECOND]]
// CHECK-NEXT:    %[[OTHER_PAIR:[0-9]+]] = arith.addf %[[THIRD]], %[[FOURTH]]
// CHECK-NEXT:    %[[ALL:[0-9]+]] = arith.addf %[[ONE_PAIR]], %[[OTHER_PAIR]]
// CHECK-NEXT:    scf.yield %[[ALL]]
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @groups_combined(%x: memref<?x256xf32>, %p: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs column_sums(%p : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// One workgroup for all rows rounds the sums once and writes them itself.
// CHECK-LABEL: gpu.module @final_sums_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK:         %[[ROUNDED:[a-z0-9_]+]] = arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK:         vector.store %[[ROUNDED]], %arg1[%{{[a-z0-9_]+}}] {alignment = 8 : i64}
// CHECK:         gpu.return
// CHECK:       func.func @final_sums
// CHECK:         %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK:         gpu.launch_func {{.*}} blocks in (%[[ONE]], %[[ONE]], %[[ONE]])
func.func @final_sums(%x: memref<?x256xf32>, %p: memref<256xbf16>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs column_sums(%p : memref<256xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// Sixteen row groups add up their sums in two steps, of eight each.
// CHECK-LABEL: gpu.module @many_groups_combined_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK:         amdgpu.lds_barrier
// CHECK-COUNT-7: arith.addf %{{[0-9]+}}, %{{[0-9]+}}
// CHECK-NOT:     arith.addf
// CHECK-COUNT-2: amdgpu.lds_barrier
// CHECK:         %[[OTHER:[0-9]+]] = vector.load %{{.*}} : memref<{{[0-9]+}}xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:    arith.addf %{{[0-9]+}}, %[[OTHER]]
// CHECK-NOT:     amdgpu.lds_barrier
// CHECK:         gpu.return
func.func @many_groups_combined(%x: memref<?x64xf32>, %p: memref<?x64xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x64xf32>) outs column_sums(%p : memref<?x64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 16, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<64xf32>):
    lnbwd.yield %xr : vector<64xf32>
  }
  return
}

// -----

// Rows that wait for nothing are loaded before the first of them is worked on;
// those beyond the last are masked, so that nothing is left for after the loop.
// CHECK-LABEL: gpu.module @independent_rows_kernels
// CHECK:       gpu.func @k(
// CHECK:         scf.for
// CHECK-COUNT-4: vector.load %{{.*}} : memref<?xf32, #amdgpu.address_space<fat_raw_buffer>>
// CHECK-NOT:     vector.load
// CHECK-COUNT-4: arith.select
// CHECK-NOT:     scf.for
// CHECK:         gpu.return
func.func @independent_rows(%x: memref<?x256xf32>, %p: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs column_sums(%p : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, unroll = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// A row is shared by workgroups, one for each tile.
// CHECK-LABEL: gpu.module @column_tiles_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[TILE:[a-z0-9_]+]] = gpu.block_id y
// CHECK:         arith.muli %[[TILE]], %{{.*}}
// CHECK:         gpu.return
// CHECK:       func.func @column_tiles
// CHECK-DAG:     %[[FOUR:[a-z0-9_]+]] = arith.constant 4 : index
// CHECK-DAG:     %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK:         gpu.launch_func {{.*}} blocks in (%{{[a-z0-9_]+}}, %[[FOUR]], %[[ONE]])
func.func @column_tiles(%x: memref<?x1024xf32>, %p: memref<?x1024xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x1024xf32>) outs column_sums(%p : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, column_tile = 256>} {
  ^bb0(%xr: vector<1024xf32>):
    lnbwd.yield %xr : vector<1024xf32>
  }
  return
}

// -----

// A row scalar is written by the first lane alone.
// CHECK-LABEL: gpu.module @row_scalar_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-DAG:     %[[LANE:[a-z0-9_]+]] = gpu.thread_id x
// CHECK:         %[[SUM:[a-z0-9_]+]] = gpu.subgroup_reduce
// CHECK:         %[[FIRST:[a-z0-9_]+]] = arith.cmpi eq, %[[LANE]], %[[ZERO]]
// CHECK:         scf.if %[[FIRST]] {
// CHECK-NEXT:      memref.store %[[SUM]]
func.func @row_scalar(%x: memref<?x256xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs scalars(%s : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    %sum = vector.reduction <add>, %xr : vector<256xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// What is the same in all rows is read once, before the loop.
// CHECK-LABEL: gpu.module @column_operand_kernels
// CHECK:       gpu.func @k(
// CHECK:         %[[GAMMA:[a-z0-9_]+]] = vector.load %arg1[
// CHECK:         scf.for
// CHECK-COUNT-1:   vector.load
// CHECK-NOT:       vector.load
// CHECK:           arith.mulf %{{.*}}, %[[GAMMA]]
// CHECK:         gpu.return
func.func @column_operand(%x: memref<?x256xf32>, %c: memref<256xf32>, %y: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) columns(%c : memref<256xf32>) outs rows(%y : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>, %cr: vector<256xf32>):
    %scaled = arith.mulf %xr, %cr : vector<256xf32>
    lnbwd.yield %scaled : vector<256xf32>
  }
  return
}

// -----

// Splat constants and scalar operations of the region come along.
// CHECK-LABEL: gpu.module @constants_and_scalars_kernels
// CHECK:       gpu.func @k(
// CHECK-DAG:     arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK-DAG:     math.rsqrt %{{.*}} : f32
// CHECK-DAG:     math.exp %{{.*}} : vector<4xf32>
func.func @constants_and_scalars(%x: memref<?x256xf32>, %s: memref<?xf32>, %y: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) scalars(%s : memref<?xf32>) outs rows(%y : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>, %sr: f32):
    %two = arith.constant dense<2.0> : vector<256xf32>
    %r = math.rsqrt %sr : f32
    %spread = vector.broadcast %r : f32 to vector<256xf32>
    %e = math.exp %xr : vector<256xf32>
    %f = vector.fma %e, %two, %spread : vector<256xf32>
    lnbwd.yield %f : vector<256xf32>
  }
  return
}

// -----

// Kernels of equal names get names of their own.
// CHECK-LABEL: gpu.module @two_programs_kernels
// CHECK:         gpu.func @k(
// CHECK:         gpu.func @[[SECOND:[a-z0-9_]+]](
// CHECK:       func.func @two_programs
// CHECK:         gpu.launch_func @two_programs_kernels::@k
// CHECK:         gpu.launch_func @two_programs_kernels::@[[SECOND]]
func.func @two_programs(%x: memref<?x256xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%x : memref<?x256xf32>) attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  lnbwd.rowwise @k rows(%x : memref<?x256xf32>) outs rows(%x : memref<?x256xf32>) attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// A function without row programs stays as it is.
// CHECK-LABEL: func.func @nothing_to_do
// CHECK-NEXT:    return
// CHECK-NOT:   gpu.module
func.func @nothing_to_do() {
  return
}

// -----

// A row's largest element: columns that do not exist count as minus infinity,
// and sums and maxima of one phase travel through one exchange.
// CHECK-LABEL: gpu.module @maximum_kernels
// CHECK-DAG:     %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<4xf32>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK-DAG:     arith.select %{{.*}}, %{{.*}}, %[[LOWEST]]
// CHECK-DAG:     arith.select %{{.*}}, %{{.*}}, %[[ZERO]]
// CHECK-DAG:     gpu.subgroup_reduce maximumf
// CHECK-DAG:     gpu.subgroup_reduce add
// CHECK:         amdgpu.lds_barrier
// CHECK-DAG:     arith.maximumf %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK-DAG:     arith.addf %{{.*}}, %{{.*}} : vector<2xf32>
func.func @maximum(%x: memref<?x500xf32>, %largest: memref<?xf32>, %total: memref<?xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x500xf32>) outs scalars(%largest, %total : memref<?xf32>, memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<500xf32>):
    %m = vector.reduction <maximumf>, %xr : vector<500xf32> into f32
    %s = vector.reduction <add>, %xr : vector<500xf32> into f32
    lnbwd.yield %m, %s : f32, f32
  }
  return
}

// -----

// Where rows are read again in each phase, nothing is written before the last
// one: an output may lie over an input. Row scalars are written all the same.
// CHECK-LABEL: gpu.module @reload_in_place_kernels
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-NOT:         vector.store
// CHECK:           gpu.subgroup_reduce
// CHECK:           scf.for
// CHECK:             vector.store
// CHECK:             vector.store
// CHECK:           memref.store
func.func @reload_in_place(%x: memref<?x512xf32>, %r: memref<?x512xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k rows(%x, %r : memref<?x512xf32>, memref<?x512xf32>)
      outs rows(%r, %x : memref<?x512xf32>, memref<?x512xf32>) scalars(%s : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, reload = true>} {
  ^bb0(%xr: vector<512xf32>, %rr: vector<512xf32>):
    %t = arith.addf %xr, %rr : vector<512xf32>
    %sum = vector.reduction <add>, %t : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %y = arith.mulf %t, %spread : vector<512xf32>
    lnbwd.yield %t, %y, %sum : vector<512xf32>, vector<512xf32>, f32
  }
  return
}

// -----

// Rows that lie apart.
// CHECK-LABEL: gpu.module @strided_kernels
// CHECK:         gpu.func @k(%[[X:[a-z0-9]+]]: memref<1x512xf32, #gpu.address_space<global>>
// CHECK:         memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%{{.*}}, 512], strides: [640, 1]
func.func @strided(%x: memref<?x512xf32, strided<[640, 1]>>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32, strided<[640, 1]>>) outs rows(%y : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Column sums that accumulate are added to what is there.
// CHECK-LABEL: gpu.module @accumulate_kernels
// CHECK:         gpu.func @k(%{{.*}}: memref<1x128xf32{{.*}}>, %[[S:[a-z0-9]+]]: memref<128xf32
// CHECK:         %[[OLD:.*]] = vector.load %[[S]]
// CHECK:         %[[NEW:.*]] = arith.addf %{{.*}}, %[[OLD]]
// CHECK:         vector.store %[[NEW]], %[[S]]
func.func @accumulate(%x: memref<?x128xf32>, %s: memref<128xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x128xf32>) outs column_sums(%s : memref<128xf32>)
      attributes {accumulate, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0>} {
  ^bb0(%xr: vector<128xf32>):
    lnbwd.yield %xr : vector<128xf32>
  }
  return
}
