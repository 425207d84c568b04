// RUN: rm -rf %t.cubin %t.bin
// RUN: mkdir %t.bin
// RUN: echo "#!/bin/sh" > %t.bin/ptxas
// RUN: echo "echo ptxas fatal: out of luck; exit 3" >> %t.bin/ptxas
// RUN: chmod +x %t.bin/ptxas
// RUN: env PATH=%t.bin %{lnbwd-opt} %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=cubin -o %t.cubin > %t.log 2>&1 || true
// RUN: FileCheck %s < %t.log
// RUN: not ls %t.cubin

// What the assembler says is passed on.
// CHECK: error: {{.*}}ptxas failed: {{.*}}ptxas fatal: out of luck
