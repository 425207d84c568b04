// RUN: not lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx942 few-rows=no" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx9" 2>&1 | FileCheck %s --check-prefix=CHIP

// MODE: error: loc("option few-rows (mode)"): expected few-rows (mode) to be auto, always or never, got 'no'
// CHIP: error: {{.*}}gfx9
module {}
