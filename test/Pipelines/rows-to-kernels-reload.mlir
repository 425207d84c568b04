// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s

// Scheduled row programs through all passes of the lane level: rows that are
// read again in each phase.

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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x65536xf32>) outs(%o[m, n] : memref<?x65536xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>, %m[m] : memref<?xf32>) outs(%o[m, n] : memref<?x4096xf32>)
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
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %r[m, n] : memref<?x512xf32>)
      outs(%r[m, n] : memref<?x512xf32>, %x[m, n] : memref<?x512xf32>, %s[m] : memref<?xf32>)
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
