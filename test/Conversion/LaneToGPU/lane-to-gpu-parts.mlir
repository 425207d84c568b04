// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-lane-to-gpu{chip=gfx942})))' --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// Which part of the kernel an operation is, its attribute says, or that of the
// operation around it: locations note it (include/lnbwd/Target/KernelPart.h),
// as 1 + kind, and 16 more for row scalars. An operation with a region is itself
// of the part around it. No attribute is left.
// CHECK-LABEL: gpu.func @parts
// CHECK-NOT:     lane.part
// CHECK:         memref.load {{.*}} loc(fused<18 : ui32>[
// CHECK:         scf.if
// CHECK:           vector.store {{.*}} loc(fused<7 : ui32>[
// CHECK-NEXT:    } loc(fused<1 : ui32>[
// CHECK:         scf.for
// CHECK:           vector.load {{.*}} loc(fused<6 : ui32>[
// CHECK:           vector.store {{.*}} loc(fused<3 : ui32>[
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @parts(%x: memref<?x256xf32>, %s: memref<?xf32>, %i: index, %c: i1, %v: vector<4xf32>) {
    %place = lane.place : !place
    %n = lane.load_scalar_within %s from %i count %i at %place {lane.part = #lane.part<first_load>} : !place, memref<?xf32>
    memref.store %n, %s[%i] : memref<?xf32>
    scf.if %c {
      lane.store %v, %x[%i] at %place access 0 : !place, vector<4xf32>, memref<?x256xf32>
    } {lane.part = #lane.part<tail>}
    lane.for_rows %set = %i to %i step %i at %place attributes {whole} : !place {
      %w = lane.load_within %x from %set count %i at %place access 0 {lane.part = #lane.part<next_load>} : !place, memref<?x256xf32> -> vector<4xf32>
      lane.store %w, %x[%set] at %place access 0 : !place, vector<4xf32>, memref<?x256xf32>
    }
    gpu.return
  }
}
