// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=32,row_groups=4,rows_per_workgroup=4,workgroups_per_compute_unit=0 | FileCheck %s --check-prefix=APART
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=32,row_groups=4,workgroups_per_compute_unit=4 | FileCheck %s --check-prefix=STAY
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=threads_per_row=32,row_groups=4,workgroups_per_compute_unit=4,prefetch_before_dependency=0 | FileCheck %s --check-prefix=SAID

// Where single fields are set by hand, whether rows come early goes by the schedule that this makes, as it does
// for one that the model chose.
// APART-LABEL: func.func @wave(
// APART:         threads_per_row = 32, {{.*}}workgroups_per_compute_unit = 0, dependent_launch = true>
// STAY-LABEL:  func.func @wave(
// STAY:          threads_per_row = 32, {{.*}}workgroups_per_compute_unit = 4, {{.*}}prefetch_before_dependency = true>
// SAID-LABEL:  func.func @wave(
// SAID:          threads_per_row = 32, {{.*}}workgroups_per_compute_unit = 4, {{.*}}dependent_launch = true>
func.func @wave(%x: memref<65536x768xbf16>, %y: memref<65536x768xbf16>, %rstd: memref<65536xf32>) {
  lnbwd.rms_norm x(%x : memref<65536x768xbf16>) outs y(%y : memref<65536x768xbf16>) rstd(%rstd : memref<65536xf32>) {epsilon = 1.0e-5 : f64}
  return
}
