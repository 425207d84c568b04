// RUN: rm -f %t.cubin
// RUN: env PATH=/nowhere CUDA_HOME=/nowhere %{lnbwd-opt} %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=cubin -o %t.cubin > %t.log 2>&1 || true
// RUN: FileCheck %s < %t.log
// RUN: not ls %t.cubin

// CHECK: error: {{.*}}cannot be emitted as cubin: ptxas was not found in PATH or $CUDA_HOME/bin; install the CUDA toolkit, or emit ptx
