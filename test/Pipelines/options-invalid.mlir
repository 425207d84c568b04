// RUN: not lnbwd-opt %s --lnbwd-pipeline 2>&1 | FileCheck %s "-DCHIPS=%{chips}" --check-prefix=NO-CHIP
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=sm_70 2>&1 | FileCheck %s "-DCHIPS=%{chips}" --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=sm_70 --emit=ptx 2>&1 | FileCheck %s "-DCHIPS=%{chips}" --check-prefix=EMIT
// RUN: not lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 rows=-1" --emit=hsaco 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not lnbwd-opt %s --lnbwd-pipeline=target=gfx942 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942:xnack 2>&1 | FileCheck %s --check-prefix=SETTING
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942: 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942:xnack+:xnack- 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx1100:xnack+ 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=lanes=64" 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 two-pass=never" 2>&1 | FileCheck %s --check-prefix=TOO-LONG

// NO-CHIP:  error: loc("option chip"): expected the option chip, one of: [[CHIPS]]
// CHIP:     error: loc("option chip"): unknown chip 'sm_70', expected one of: [[CHIPS]]
// No line of the source is at fault.
// EMIT-NOT: options-invalid.mlir
// EMIT:     {{^}}option 'chip': error: unknown chip 'sm_70', expected one of: [[CHIPS]]
// ROWS:     {{^}}option 'rows': error: expected rows to be at least 0, got -1
// SETTING:  error: loc("option chip"): target id 'gfx942:xnack': expected sramecc+, sramecc-, xnack+ or xnack- after gfx942, got 'xnack'
// EMPTY:    error: loc("option chip"): target id 'gfx942:': expected sramecc+, sramecc-, xnack+ or xnack- after gfx942, got ''
// TWICE:    error: loc("option chip"): target id 'gfx942:xnack+:xnack-': expected xnack once, got it twice
// NONE:     error: loc("option chip"): target id 'gfx1100:xnack+': expected no settings after gfx1100, got 'xnack+'
// OPTION:   no such option target
// FIELD:    error: {{.*}}unknown schedule field 'lanes', expected one of: threads_per_row,
// TOO-LONG: error: {{.*}}row length 1048576 does not fit the registers of gfx942 in one pass; run lnbwd-split-two-pass before

func.func @f(%dy: memref<?x1048576xf32>, %x: memref<?x1048576xf32>, %s: memref<?xf32>, %dx: memref<?x1048576xf32>,
             %dgamma: memref<1048576xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x1048576xf32>) x(%x : memref<?x1048576xf32>) mean(%s : memref<?xf32>)
      rstd(%s : memref<?xf32>) outs dx(%dx : memref<?x1048576xf32>) dgamma(%dgamma : memref<1048576xf32>)
  return
}
