// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-block-column-sums)))' | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>
!stages = !lane.stages<2 of f32>

// Staged rows: one loop, which counts the iterations of a block, and adds the
// sums to totals at the end of the last. What is carried after the stage's
// phase stays after.
// CHECK-LABEL: gpu.func @staged(
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK:         %[[LEFT:.*]]:6 = lane.for_rows {{.*}} carrying(%[[SUM:.*]] = %[[ZERO]], %[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[ITERATION:.*]] = %{{.*}}, %[[TOTAL:.*]] = %[[ZERO]], %[[AHEAD:.*]] = %{{.*}}) attributes {whole} :
// CHECK:           %[[ADDED:.*]] = lane.accumulate %[[SUM]],
// CHECK:           %[[NEXT:.*]] = arith.addi %[[ITERATION]], %{{.*}} : i32
// CHECK:           %[[IS_LAST:.*]] = arith.cmpi eq, %[[NEXT]], %{{.*}} : i32
// CHECK:           %[[NOW:.*]]:3 = scf.if %[[IS_LAST]] -> (vector<1x8xf32>, i32, vector<1x8xf32>) {
// CHECK:             %[[NONE:.*]] = arith.subf %[[ADDED]], %[[ADDED]]
// CHECK:             %[[MORE:.*]] = arith.addf %[[TOTAL]], %[[ADDED]] fastmath<contract>
// CHECK:             scf.yield %[[NONE]], %{{.*}}, %[[MORE]]
// CHECK:           } else {
// CHECK:             scf.yield %[[ADDED]], %[[NEXT]], %[[TOTAL]]
// CHECK:           }
// CHECK:           lane.yield %[[NOW]]#0, %[[STAGE]], %[[PHASE]], %[[NOW]]#1, %[[NOW]]#2, %[[AHEAD]]
// CHECK:         %[[RESULT:.*]] = arith.addf %[[LEFT]]#4, %[[LEFT]]#0 fastmath<contract>
// CHECK:         "test.use"(%[[RESULT]], %[[LEFT]]#5)
gpu.module @m {
  gpu.func @staged(%stages: !stages, %layout: !layout, %i: index, %p: i32, %m: f32) {
    %zero = arith.constant dense<0.0> : vector<1x8xf32>
    %left:4 = lane.for_rows %tile = %i to %i step %i at %layout sums(%sum = %zero) carrying(%stage = %i, %phase = %p, %ahead = %m)
        attributes {sum_block = 4 : i64, whole} : !layout, vector<1x8xf32>, index, i32, f32 {
      lane.await_stage %stages[%stage] phase %phase : !stages
      %x = lane.receive %tile from %stages[%stage] at %layout : !layout, !stages -> vector<1x8xf32>
      %added = lane.accumulate %sum, %x : vector<1x8xf32>
      lane.yield %added, %stage, %phase, %ahead : vector<1x8xf32>, index, i32, f32
    }
    "test.use"(%left#0, %left#3) : (vector<1x8xf32>, f32) -> ()
    gpu.return
  }
}
