// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_80 --emit=ptx | FileCheck %s -DCHIP=sm_80
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_80 --emit=isa | FileCheck %s -DCHIP=sm_80
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx | FileCheck %s -DCHIP=sm_90
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=isa | FileCheck %s -DCHIP=sm_90

// The plan is a comment before the first directive. Nothing is left to link.
// CHECK:     // lnbwd-plan: {"format":"lnbwd-plan","version":1,{{.*}}"chip":"[[CHIP]]","wave_size":32,{{.*}}}{{$}}
// CHECK:     .version
// CHECK:     .target [[CHIP]]
// CHECK-NOT: .extern .func
// CHECK:     .entry layer_norm_bwd(
// CHECK:     ld.global{{.*}}v{{[24]}}.b
// CHECK:     shfl.sync.bfly
// CHECK:     st.global
// CHECK:     ret;
// CHECK:     .entry layer_norm_bwd_finalize(
