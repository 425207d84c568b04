// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx90a --emit=hsaco | llvm-readelf -h --notes - | FileCheck %s -DCHIP=gfx90a
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco | llvm-readelf -h --notes - | FileCheck %s -DCHIP=gfx942
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx950 --emit=hsaco | llvm-readelf -h --notes - | FileCheck %s -DCHIP=gfx950
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1100 --emit=hsaco | llvm-readelf -h --notes - | FileCheck %s -DCHIP=gfx1100
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1201 --emit=hsaco | llvm-readelf -h --notes - | FileCheck %s -DCHIP=gfx1201
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1250 --emit=hsaco | llvm-readelf -h --notes - | FileCheck %s -DCHIP=gfx1250

// Every chip's code object says what it is for, and its kernels keep all in
// registers: no spills, no scratch memory.

// CHECK:     OS/ABI: AMDGPU - HSA
// CHECK:     Type: DYN
// CHECK:     Machine: EM_AMDGPU
// CHECK:     Flags: {{.*}}[[CHIP]]
// CHECK-NOT: error
// CHECK:     .name: layer_norm_bwd{{$}}
// CHECK:     .private_segment_fixed_size: 0{{$}}
// CHECK:     .sgpr_spill_count: 0{{$}}
// CHECK:     .uses_dynamic_stack: false
// CHECK:     .vgpr_spill_count: 0{{$}}
// CHECK:     .name: layer_norm_bwd_finalize{{$}}
// CHECK:     .private_segment_fixed_size: 0{{$}}
// CHECK:     .sgpr_spill_count: 0{{$}}
// CHECK:     .vgpr_spill_count: 0{{$}}
// CHECK:     amdhsa.target: amdgcn-amd-amdhsa--[[CHIP]]
