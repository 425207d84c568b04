// RUN: rm -rf %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco --save-temps=%t/stages -o %t.hsaco
// RUN: ls %t/stages | FileCheck %s
// RUN: FileCheck %s --check-prefix=INPUT --input-file=%t/stages/01-input.mlir
// RUN: FileCheck %s --check-prefix=PROGRAM --input-file=%t/stages/02-lnbwd-lower-to-rowwise.mlir

// The stages, numbered in order; a pass that changes nothing leaves none.
// CHECK:     01-input.mlir
// CHECK:     02-lnbwd-lower-to-rowwise.mlir
// CHECK:     one-shot-bufferize.mlir
// CHECK-NOT: lnbwd-split-two-pass.mlir
// CHECK:     lnbwd-select-schedule.mlir
// CHECK:     lnbwd-finalize-column-sums.mlir
// CHECK:     lnbwd-distribute-rows.mlir
// CHECK:     nested-passes.mlir
// CHECK:     lnbwd-attach-launch-plan.mlir
// CHECK:     lnbwd-lower-subgroup-reduce.mlir
// CHECK:     kernel.ll
// CHECK:     kernel.s

// INPUT:     lnbwd.layer_norm_bwd
// PROGRAM:   lnbwd.rowwise
