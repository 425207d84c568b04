// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-convert-parts-to-locations)))' --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Locations note the part that an operation's attribute names, or that of the
// operation around it. An operation with a region is itself of the part around
// it. No attribute is left.
// CHECK-LABEL: gpu.func @parts
// CHECK-NOT:     lane.part =
// CHECK:         arith.addi {{.*}} loc(fused<#lane.part<setup>>[
// CHECK:         memref.load {{.*}} loc(fused<#lane.part<first_load, scalars>>[
// CHECK:         scf.for
// CHECK:           memref.load {{.*}} loc(fused<#lane.part<row, scalars>>[
// CHECK:           scf.for
// CHECK:             memref.store {{.*}} loc(fused<#lane.part<row, reload>>[
// CHECK-NEXT:      } loc(fused<#lane.part<row>>[
// CHECK:           scf.if
// CHECK:             memref.store {{.*}} loc(fused<#lane.part<second_row, groups = 2>>[
// CHECK-NEXT:      } loc(fused<#lane.part<row>>[
// CHECK-NEXT:    } loc(fused<#lane.part<setup>>[
// CHECK:         gpu.return {{.*}}#lane.part<setup>
gpu.module @m {
  gpu.func @parts(%s: memref<?xf32>, %i: index, %c: i1) {
    %j = arith.addi %i, %i : index
    %m = memref.load %s[%i] {lane.part = #lane.part<first_load, scalars>} : memref<?xf32>
    scf.for %row = %i to %j step %i {
      %n = memref.load %s[%row] {lane.part = #lane.part<scalars>} : memref<?xf32>
      scf.for %column = %i to %j step %i {
        memref.store %n, %s[%column] : memref<?xf32>
      } {lane.part = #lane.part<reload>}
      scf.if %c {
        memref.store %m, %s[%row] : memref<?xf32>
      } {lane.part = #lane.part<groups = 2, second_row>}
    } {lane.part = #lane.part<row>}
    gpu.return
  }
}
