// RUN: not lnbwd-opt %s --lnbwd-select-tiling=chip=gfx12345 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %s --lnbwd-select-tiling="chip=gfx942 rows=-1" 2>&1 | FileCheck %s --check-prefix=ROWS

// CHIP: error: {{.*}}gfx12345
// ROWS: error: loc("option rows"): expected rows to be at least 0, got -1
module {}
