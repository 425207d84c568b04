// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942" --emit=hsaco -o %t.hsaco 2>&1 | count 0
// RUN: sed s/1024/3072/g %s > %t.3072.mlir
// RUN: lnbwd-opt %t.3072.mlir --lnbwd-pipeline="chip=gfx942" --max-registers=72 --emit=hsaco --save-temps=%t.stages -o %t.hsaco 2>&1 | FileCheck %s --check-prefix=NEXT
// RUN: llvm-readelf --notes %t.hsaco | FileCheck %s --check-prefix=OBJECT
// RUN: cat %t.stages/*-lnbwd-select-schedule.mlir | FileCheck %s --check-prefix=STAGES
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 schedule=threads_per_row=64,row_groups=8,vector_width=4,rows_per_workgroup=16,workgroups_per_compute_unit=1,prefetch=1,unroll=2" --max-registers=64 --emit=hsaco -o %t.hsaco 2>&1 | FileCheck %s --check-prefix=FORCED --implicit-check-not=remark
// RUN: lnbwd-opt %t.3072.mlir --lnbwd-pipeline="chip=gfx942" --max-registers=8 --emit=hsaco -o %t.hsaco 2>&1 | FileCheck %s --check-prefix=NONE

// With fewer registers than the model has counted on, its choice spills and another one is taken.
// NEXT: .3072.mlir:[[#@LINE+21]]:{{[0-9]+}}: remark: kernel @layer_norm_bwd spills {{[0-9]+}} vector registers, {{[0-9]+}} bytes of scratch memory a lane with #lnbwd.schedule<threads_per_row = 256, {{.*}}>; taking another schedule
// NEXT-NOT: warning

// OBJECT: .name: layer_norm_bwd{{$}}
// OBJECT: .private_segment_fixed_size: 0
// OBJECT: .vgpr_spill_count: 0

// What was rejected is in the IR of the second choice.
// STAGES: lnbwd.rejected_schedules = {layer_norm_bwd = [#lnbwd.schedule<threads_per_row = 256,

// A schedule that somebody has set is kept.
// FORCED: warning: kernel @layer_norm_bwd spills {{.*}} with #lnbwd.schedule<threads_per_row = 64, row_groups = 8, {{.*}}>

// There is no third: of both, the one that spills less is kept.
// NONE:     remark: kernel @layer_norm_bwd spills {{.*}}; taking another schedule
// NONE:     warning: kernel @layer_norm_bwd spills
// NONE:     warning: kernel @layer_norm_bwd_finalize spills
// NONE-NOT: another

func.func @layer_norm_bwd(%dy: memref<?x1024xf32>, %x: memref<?x1024xf32>, %g: memref<1024xf32>, %s: memref<?xf32>,
                          %dx: memref<?x1024xf32>, %dg: memref<1024xf32>, %db: memref<1024xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x1024xf32>) x(%x : memref<?x1024xf32>) gamma(%g : memref<1024xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
      outs dx(%dx : memref<?x1024xf32>) dgamma(%dg : memref<1024xf32>) dbeta(%db : memref<1024xf32>)
  return
}
