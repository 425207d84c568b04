// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=llvm | FileCheck %s
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1201 --emit=llvm | FileCheck %s
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=llvm | FileCheck %s

// LLVM IR after optimisation: one function a kernel, nothing left to call but
// intrinsics.
// CHECK:     define {{.*}} @layer_norm_bwd({{.*}}, i64 {{.*}}, i64 {{.*}})
// CHECK-NOT: alloca
// CHECK:     define {{.*}} @layer_norm_bwd_finalize(
// CHECK-NOT: alloca
// CHECK-NOT: declare {{.*}} @{{[^l]}}
