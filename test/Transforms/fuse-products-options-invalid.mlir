// RUN: not lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 epilogues=no" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=on" 2>&1 | FileCheck %s --check-prefix=PROLOGUES
// RUN: not lnbwd-opt %s --lnbwd-fuse-products="chip=gfx9" 2>&1 | FileCheck %s --check-prefix=CHIP

// MODE: error: loc("option epilogues"): expected epilogues to be auto, always or never, got 'no'
// PROLOGUES: error: loc("option prologues"): expected prologues to be auto, always or never, got 'on'
// CHIP: error: {{.*}}gfx9
module {}
