// REQUIRES: ptxas
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_80 --emit=cubin | llvm-readelf -h -s - | FileCheck %s
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=cubin | llvm-readelf -h -s - | FileCheck %s

// CHECK:     Machine: {{.*CUDA}}
// CHECK-DAG: OBJECT GLOBAL {{.*}} lnbwd_plan
// CHECK-DAG: FUNC GLOBAL {{.*}} layer_norm_bwd{{$}}
// CHECK-DAG: FUNC GLOBAL {{.*}} layer_norm_bwd_finalize
