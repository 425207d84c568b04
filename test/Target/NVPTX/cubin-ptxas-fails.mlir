// RUN: rm -f %t.cubin
// RUN: echo "#!/bin/sh" > %t.ptxas
// RUN: echo "echo ptxas fatal: out of luck; exit 3" >> %t.ptxas
// RUN: chmod +x %t.ptxas
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=cubin --ptxas=%t.ptxas -o %t.cubin 2>&1 | FileCheck %s
// RUN: not ls %t.cubin

// What the assembler says is passed on.
// CHECK: error: {{.*}}ptxas failed: {{.*}}ptxas fatal: out of luck
