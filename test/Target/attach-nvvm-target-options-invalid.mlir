// RUN: not lnbwd-opt %s --lnbwd-attach-nvvm-target="chip=gfx942" 2>&1 | FileCheck %s --check-prefix=VENDOR
// RUN: not lnbwd-opt %s --lnbwd-attach-nvvm-target="chip=sm_9" 2>&1 | FileCheck %s --check-prefix=CHIP

// VENDOR: error: loc("option chip"): expected a chip of NVIDIA's, got gfx942; use rocdl-attach-target
// CHIP: error: {{.*}}sm_9
module {}
