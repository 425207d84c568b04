// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s

// Scheduled row programs through all passes of the lane level: a row of one
// workgroup, its accesses and its sums.

// One 16-byte load and store for each lane.
// CHECK-LABEL: gpu.module @wide_accesses_kernels
// CHECK:       gpu.func @k(
// CHECK-COUNT-1: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK-NOT:     vector.load
// CHECK:         vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK:         gpu.return
func.func @wide_accesses(%x: memref<?x512xbf16>, %o: memref<?x512xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>) outs(%o[m, n] : memref<?x512xbf16>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x63xf16>) outs(%o[m, n] : memref<?x63xf16>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%o[m, n] : memref<?x512xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%o[m, n] : memref<?x512xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%o[m, n] : memref<?x64xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%o[m, n] : memref<?x8xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%a[m] : memref<?xf32>, %b[m] : memref<?xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%a[m] : memref<?xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x300xf32>) outs(%o[m, n] : memref<?x300xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%o[m, n] : memref<?x512xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x500xf32>) outs(%largest[m] : memref<?xf32>, %total[m] : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<500xf32>):
    %m = vector.reduction <maximumf>, %xr : vector<500xf32> into f32
    %s = vector.reduction <add>, %xr : vector<500xf32> into f32
    lnbwd.yield %m, %s : f32, f32
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%s[m] : memref<?xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>, %c[n] : memref<256xf32>) outs(%y[m, n] : memref<?x256xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>, %s[m] : memref<?xf32>) outs(%y[m, n] : memref<?x256xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>, %gamma[n] : memref<256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<256xf32>, %g: vector<256xf32>):
    %y = arith.mulf %xr, %g : vector<256xf32>
    lnbwd.yield %y : vector<256xf32>
  }
  return
}
