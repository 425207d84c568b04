// RUN: rm -rf %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx --save-temps=%t/stages -o %t.ptx
// RUN: ls %t/stages | FileCheck %s --check-prefix=PTX

// Each pass runs alone, and so has to load the dialects that it writes.
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942 order=canonical" --emit=isa --save-temps=%t/canonical -o %t.s
// RUN: cat %t/canonical/*-lnbwd-lower-row-reductions.mlir | FileCheck %s --check-prefix=CANONICAL

// The stages stay when a pass fails: that is when they are wanted.
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942 schedule=row_groups=0" --save-temps=%t/failed 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: ls %t/failed | FileCheck %s --check-prefix=FAILED

// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco --save-temps=%t.ptx/stages -o %t.none 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// RUN: not ls %t.none

// PTX:       kernel.ll
// PTX:       kernel.ptx
// CANONICAL: amdgpu.dpp
// ERROR:     error: {{.*}}expected row_groups to be at least 1, got 0
// FAILED:    01-input.mlir
// FAILED-NOT: select-schedule
// NO-FOLDER: error: cannot create the folder '{{.*}}stages': Not a directory
