// RUN: split-file %s %t
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/syntax.json" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/format.json" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/version.json" 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/no-entries.json" 2>&1 | FileCheck %s --check-prefix=NO-ENTRIES
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/chip.json" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/key.json" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/program.json" 2>&1 | FileCheck %s --check-prefix=PROGRAM
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/range.json" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/number.json" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/field.json" 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/bad-schedule.json" 2>&1 | FileCheck %s --check-prefix=BAD-SCHEDULE
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/unfit.json" 2>&1 | FileCheck %s --check-prefix=UNFIT
// RUN: not lnbwd-opt %t/f.mlir --lnbwd-select-schedule="chip=sm_90 tuned-schedules=%t/none.json" 2>&1 | FileCheck %s --check-prefix=NONE

// What is wrong with a table is said with the file and the place in it.

// SYNTAX: error: {{.*}}tuned schedules '{{.*}}syntax.json': {{\[}}{{[0-9]+}}:{{.*}}: Unexpected EOF
// FORMAT: error: {{.*}}{{.*}}format.json': expected "lnbwd-tuned-schedules" at {{.*}}format
// VERSION: error: {{.*}}{{.*}}version.json': expected version 1 at {{.*}}version
// NO-ENTRIES: error: {{.*}}expected a value, got none at {{.*}}entries
// CHIP: error: {{.*}}unknown chip at {{.*}}entries{{\[}}1].chip: expected one of: gfx908,
// KEY: error: {{.*}}unknown key at {{.*}}entries{{\[}}0].stages
// PROGRAM: error: {{.*}}expected a value, got none at {{.*}}entries{{\[}}0].program.rows
// RANGE: error: {{.*}}expected 1 <= least <= most at {{.*}}entries{{\[}}0].n
// NUMBER: error: {{.*}}expected a number or [least, most] at {{.*}}entries{{\[}}0].n
// FIELD: error: {{.*}}invalid schedule at {{.*}}entries{{\[}}0].schedule: {{.*}}warps
// BAD-SCHEDULE: error: {{.*}}invalid schedule at {{.*}}entries{{\[}}0].schedule: expected row_groups to be at least 1, got 0
// UNFIT: error: {{.*}}'lnbwd.rowwise' op tuned schedules '{{.*}}unfit.json', entries{{\[}}1]: expected at most 1024 threads
// NONE: error: loc("option tuned-schedules"): cannot read the tuned schedules '{{.*}}none.json': No such file

//--- f.mlir
func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

//--- syntax.json
{"format": 

//--- format.json
{"format": "other", "version": 1, "entries": []}

//--- version.json
{"format": "lnbwd-tuned-schedules", "version": 2, "entries": []}

//--- no-entries.json
{"format": "lnbwd-tuned-schedules", "version": 1}

//--- chip.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 7, "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}, {"chip": "sm_12", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 512, "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}]}

//--- key.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 512, "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1", "stages": 2}]}

//--- program.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32"}, "n": 512, "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}]}

//--- range.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": [9, 3], "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}]}

//--- number.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": "512", "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}]}

//--- field.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 512, "schedule": "warps = 3"}]}

//--- bad-schedule.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 512, "schedule": "threads_per_row = 32, row_groups = 0, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}]}

//--- unfit.json
{"format": "lnbwd-tuned-schedules", "version": 1, "entries": [{"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 7, "schedule": "threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}, {"chip": "sm_90", "program": {"element": "f32", "rows": 1, "row_outs": 1, "columns": 0, "column_sums": 0, "row_sums": 0}, "n": 512, "schedule": "threads_per_row = 2048, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1"}]}
