// RUN: rm -rf %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco --save-temps=%t/stages -o %t.hsaco
// RUN: ls %t/stages | FileCheck %s
// RUN: FileCheck %s --check-prefix=INPUT --input-file=%t/stages/01-input.mlir
// RUN: FileCheck %s --check-prefix=PROGRAM --input-file=%t/stages/03-lnbwd-lower-to-rowwise.mlir

// A pass of a kernel leaves the whole module, as if it had run on all kernels
// before the next: a stage is what the next pass takes.
// RUN: lnbwd-opt %t/stages/11-lnbwd-distribute-rows.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-pipeline-rows)))' -o %t.pipelined.mlir
// RUN: diff %t.pipelined.mlir %t/stages/12-lnbwd-pipeline-rows.mlir
// RUN: lnbwd-opt %t/stages/12-lnbwd-pipeline-rows.mlir --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-split-fragments)))' -o %t.split.mlir
// RUN: diff %t.split.mlir %t/stages/13-lnbwd-split-fragments.mlir

// The stages, numbered in order; a pass that changes nothing leaves none.
// CHECK:     01-input.mlir
// CHECK:     02-lnbwd-set-chip.mlir
// CHECK:     03-lnbwd-lower-to-rowwise.mlir
// CHECK:     one-shot-bufferize.mlir
// CHECK-NOT: lnbwd-split-two-pass.mlir
// CHECK:     lnbwd-select-schedule.mlir
// CHECK:     lnbwd-finalize-column-sums.mlir
// CHECK:     lnbwd-distribute-rows.mlir
// CHECK:     lnbwd-pipeline-rows.mlir
// CHECK:     lnbwd-split-fragments.mlir
// CHECK:     lnbwd-lower-row-reductions.mlir
// CHECK:     lnbwd-convert-lane-to-gpu.mlir
// CHECK:     lnbwd-attach-launch-plan.mlir
// CHECK:     lnbwd-expand-for-chip.mlir
// CHECK:     kernel.ll
// CHECK:     kernel.s

// INPUT:     lnbwd.layer_norm_bwd
// PROGRAM:   lnbwd.rowwise
