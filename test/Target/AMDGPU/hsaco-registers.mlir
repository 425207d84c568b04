// RUN: split-file %s %t
// RUN: lnbwd-opt %t/f32.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/f16.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/f32.mlir --lnbwd-pipeline=chip=gfx1201 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/f16.mlir --lnbwd-pipeline=chip=gfx1201 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/odd.mlir --lnbwd-pipeline=chip=gfx90a --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/odd.mlir --lnbwd-pipeline=chip=gfx1100 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/f32.mlir --lnbwd-pipeline=chip=gfx1250 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/f16.mlir --lnbwd-pipeline=chip=gfx1250 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/odd.mlir --lnbwd-pipeline=chip=gfx1250 --emit=hsaco | llvm-readelf --notes - | FileCheck %s
// RUN: lnbwd-opt %t/f32.mlir --lnbwd-pipeline="chip=gfx1250 schedule=threads_per_row=256,row_groups=1,prefetch=1,unroll=2" --emit=isa 2>&1 | FileCheck %s --check-prefix=BANK --implicit-check-not=s_set_vgpr_msb

// The model's estimate of registers holds for long rows and odd ones too.

// CHECK-NOT: spill_count: {{[1-9]}}
// CHECK-NOT: .private_segment_fixed_size: {{[1-9]}}
// CHECK:     .name: layer_norm_bwd{{$}}
// CHECK-NOT: spill_count: {{[1-9]}}
// CHECK-NOT: .private_segment_fixed_size: {{[1-9]}}
// CHECK:     amdhsa.target

// A kernel of gfx1250 that needs more registers than a bank has spills, and selects no other bank.

// BANK: warning: kernel @layer_norm_bwd spills
// BANK: .amdhsa_next_free_vgpr 256

//--- f32.mlir
func.func @layer_norm_bwd(%dy: memref<?x8192xf32>, %x: memref<?x8192xf32>, %g: memref<8192xf32>, %s: memref<?xf32>,
                          %dx: memref<?x8192xf32>, %dg: memref<8192xf32>, %db: memref<8192xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8192xf32>) x(%x : memref<?x8192xf32>) gamma(%g : memref<8192xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
      outs dx(%dx : memref<?x8192xf32>) dgamma(%dg : memref<8192xf32>) dbeta(%db : memref<8192xf32>)
  return
}

//--- f16.mlir
func.func @layer_norm_bwd(%dy: memref<?x4096xf16>, %x: memref<?x4096xf16>, %g: memref<4096xf16>, %s: memref<?xf32>,
                          %dx: memref<?x4096xf16>, %dg: memref<4096xf16>, %db: memref<4096xf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4096xf16>) x(%x : memref<?x4096xf16>) gamma(%g : memref<4096xf16>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
      outs dx(%dx : memref<?x4096xf16>) dgamma(%dg : memref<4096xf16>) dbeta(%db : memref<4096xf16>)
  return
}

//--- odd.mlir
func.func @layer_norm_bwd(%dy: memref<?x511xbf16>, %x: memref<?x511xbf16>, %g: memref<511xf32>, %s: memref<?xf32>,
                          %dx: memref<?x511xbf16>, %dg: memref<511xf32>, %db: memref<511xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x511xbf16>) x(%x : memref<?x511xbf16>) gamma(%g : memref<511xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
      outs dx(%dx : memref<?x511xbf16>) dgamma(%dg : memref<511xf32>) dbeta(%db : memref<511xf32>)
  return
}
