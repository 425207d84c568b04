// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=isa | FileCheck %s -DCHIP=gfx942
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1201 --emit=isa | FileCheck %s -DCHIP=gfx1201
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1250 --emit=isa | FileCheck %s -DCHIP=gfx1250

// CHECK: .amdgcn_target "amdgcn-amd-amdhsa--[[CHIP]]"
// CHECK: .amdhsa_code_object_version 5
// CHECK: layer_norm_bwd:
// CHECK: global_load_{{dwordx4|b128}}
// CHECK: global_store_{{dwordx4|b128}}
// CHECK: s_endpgm
// CHECK: .amdhsa_kernel layer_norm_bwd
// CHECK: layer_norm_bwd_finalize:
