// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx908 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX908
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx90a --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX90A
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx950 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX950
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1030 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1030
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1102 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1102
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1150 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1150
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1100 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1100
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1101 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1101
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1151 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1151
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1200 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1200
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx1201 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,GFX1201
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_80 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,SM80
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_86 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,SM86
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_89 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,SM89
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_100 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,SM100
// RUN: lnbwd-opt %S/select-schedule-picks.mlir --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_120 --lnbwd-split-two-pass --lnbwd-select-schedule | FileCheck %s --check-prefixes=PICK,SM120

// What the trees pick by themselves on the chips that were not trained for, for the programs
// of select-schedule-picks.mlir, which says what a changed line asks for. Chips that pick the same
// share a prefix. Where rows are too long for one pass there is a line for each program: the column
// sums', then the rows'.

// PICK-LABEL: func.func @backward_bf16_8192x4096(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 8, workgroups_per_row = 2, prefetch = 1, stages = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_65536x768(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 2, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 2, prefetch = 1, stages = 4, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 2, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_49152x640(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 2, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, stages = 4, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_20480x3072(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 2, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 384, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 2, prefetch = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 384, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 3, prefetch = 1, stages = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 384, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_524288x128(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 64, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 64, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 64, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 64, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 2, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 3, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 4, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 4, prefetch = 1, stages = 3, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_297904x136(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 3, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 3, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 16, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 3, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 2, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 8, vector_width = 2, rows_per_workgroup = 16, workgroups_per_compute_unit = 3, prefetch = 1, unroll = 2>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 8, vector_width = 2, rows_per_workgroup = 16, workgroups_per_compute_unit = 3, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 4, row_groups = 32, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 16, prefetch = 1, stages = 6, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 16, vector_width = 2, rows_per_workgroup = 32, workgroups_per_compute_unit = 3, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_4096x4093(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 320, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 1, rows_per_workgroup = 4, workgroups_per_compute_unit = 4, workgroups_per_row = 2, prefetch = 1, stages = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 1, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_bf16_1024x16384(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 256, unroll = 4, combine_radix = 2>
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 4, prefetch = 1>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 2, prefetch = 1>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 704, row_groups = 1, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 704, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 704, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 704, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 704, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 256, unroll = 2, combine_radix = 2>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 64, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128, unroll = 2, combine_radix = 2>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 4, workgroups_per_row = 8, prefetch = 1, stages = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 64, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128, unroll = 2, dependent_launch = true, combine_radix = 2>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>

// PICK-LABEL: func.func @backward_bf16_512x4096(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 2, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 4, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 4, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 4, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 4, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, combine_radix = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 3, workgroups_per_row = 4, prefetch = 1, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @backward_f32_4096x8192(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, sum_block = 4>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, sum_block = 4>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 704, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, workgroups_per_row = 8, prefetch = 1, stages = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, dependent_launch = true>

// PICK-LABEL: func.func @backward_f32_65536x2048(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, sum_block = 4>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, sum_block = 4>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2, sum_block = 4>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 4, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 2, prefetch = 1>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, sum_block = 8>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, sum_block = 8>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 3, prefetch = 1, stages = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 1, prefetch = 1, stages = 2, dependent_launch = true>

// PICK-LABEL: func.func @forward_bf16_65536x768(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 0>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 0, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 4, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>

// PICK-LABEL: func.func @forward_bf16_1344x640(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 3, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 0>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 8, rows_per_workgroup = 4, workgroups_per_compute_unit = 0, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 96, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>

// PICK-LABEL: func.func @forward_f32_12136x2560(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 3, prefetch = 1, unroll = 2>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 4, vector_width = 4, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 320, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 320, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 320, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 160, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 640, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1, stages = 4, dependent_launch = true, prefetch_before_dependency = true>

// PICK-LABEL: func.func @forward_bf16_8192x4096(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 64, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 16, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 256, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, late_columns = true>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 512, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>

// PICK-LABEL: func.func @backward_bf16_7559x33800(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 256, unroll = 8, combine_radix = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 1024, unroll = 8, combine_radix = 2>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 64, unroll = 8>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1, column_tile = 128, unroll = 4>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 864, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 864, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 864, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 864, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 8, rows_per_workgroup = 256, workgroups_per_compute_unit = 2, column_tile = 128, unroll = 8>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 864, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 128, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2, combine_radix = 2>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 128, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2, combine_radix = 2>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 256, unroll = 2, combine_radix = 2>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 192, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 2, workgroups_per_row = 8, prefetch = 1, stages = 4, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 128, vector_width = 8, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2, dependent_launch = true, combine_radix = 2>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, dependent_launch = true, reload = true>

// PICK-LABEL: func.func @backward_f16_2387x30596(
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128, unroll = 8>
// GFX908:  schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 512, unroll = 8>
// GFX90A:  schedule = #lnbwd.schedule<threads_per_row = 768, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 2>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 32, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128, unroll = 8>
// GFX950:  schedule = #lnbwd.schedule<threads_per_row = 768, row_groups = 1, vector_width = 4, rows_per_workgroup = 16, workgroups_per_compute_unit = 1>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 512, unroll = 8>
// GFX1030: schedule = #lnbwd.schedule<threads_per_row = 640, row_groups = 1, vector_width = 4, rows_per_workgroup = 16, workgroups_per_compute_unit = 2>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 8>
// GFX1102: schedule = #lnbwd.schedule<threads_per_row = 768, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 2>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 16, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128, unroll = 8>
// GFX1150: schedule = #lnbwd.schedule<threads_per_row = 640, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 2>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 512, unroll = 8>
// GFX1100: schedule = #lnbwd.schedule<threads_per_row = 960, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 128, unroll = 8>
// GFX1101: schedule = #lnbwd.schedule<threads_per_row = 960, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 2, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 8>
// GFX1151: schedule = #lnbwd.schedule<threads_per_row = 960, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 8>
// GFX1200: schedule = #lnbwd.schedule<threads_per_row = 960, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 512, unroll = 8>
// GFX1201: schedule = #lnbwd.schedule<threads_per_row = 960, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 1, prefetch = 1>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64>
// SM80:    schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2>
// SM86:    schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2>
// SM89:    schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, reload = true>
// SM100:   schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 2, workgroups_per_row = 8, prefetch = 1, stages = 3, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 32, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 64, unroll = 2, dependent_launch = true>
// SM120:   schedule = #lnbwd.schedule<threads_per_row = 1024, row_groups = 1, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, dependent_launch = true, reload = true>
