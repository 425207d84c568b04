// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=threads_per_row=64,row_groups=4,vector_width=8,rows_per_workgroup=32,workgroups_per_compute_unit=3" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline="chip=sm_90 schedule=threads_per_row=32,row_groups=4,vector_width=8,rows_per_workgroup=32,workgroups_per_compute_unit=3" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NVIDIA

// The plan is a constant: in a section of its own on AMD, in the format's own
// place on NVIDIA.

// CHECK-LABEL: gpu.module @layer_norm_kernels
// AMD:           llvm.mlir.global external protected constant @lnbwd_plan("{\22format\22:\22lnbwd-plan\22,\22version\22:1,
// NVIDIA:        llvm.mlir.global external constant @lnbwd_plan("{\22format\22:\22lnbwd-plan\22,\22version\22:1,
// CHECK-SAME:    \22name\22:\22layer_norm\22
// AMD-SAME:      \22chip\22:\22gfx942\22,\22wave_size\22:64,
// NVIDIA-SAME:   \22chip\22:\22sm_90\22,\22wave_size\22:32,

// Every argument with its role, as the row program knows it.
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22bf16\22,\22kind\22:\22row_block\22,\22name\22:\22dy\22,\22row_length\22:512}
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22bf16\22,\22kind\22:\22row_block\22,\22name\22:\22x\22,\22row_length\22:512}
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22f32\22,\22kind\22:\22column\22,\22name\22:\22gamma\22,\22row_length\22:512}
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22f32\22,\22kind\22:\22row_scalar\22,\22name\22:\22mean\22,\22row_length\22:1}
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22f32\22,\22kind\22:\22row_scalar\22,\22name\22:\22rstd\22,\22row_length\22:1}
// CHECK-SAME:    {\22access\22:\22write\22,\22element\22:\22bf16\22,\22kind\22:\22row_block\22,\22name\22:\22dx\22,\22row_length\22:512}
// CHECK-SAME:    {\22access\22:\22write\22,\22element\22:\22f32\22,\22kind\22:\22column\22,\22name\22:\22dgamma\22,\22row_length\22:512}

// CHECK-SAME:    \22workgroup_counts\22:[{\22rows_per_workgroup\22:32,\22workgroups_per_compute_unit\22:3}]
// CHECK-SAME:    \22workspace\22:[{\22element\22:\22f32\22,\22row_length\22:512,\22rows\22:{\22workgroup_count\22:0}}]

// AMD-SAME:      \22block\22:[256,1,1]
// NVIDIA-SAME:   \22block\22:[128,1,1]
// CHECK-SAME:    \22grid\22:[{\22workgroup_count\22:0},1,1],\22name\22:\22layer_norm_bwd\22
// CHECK-SAME:    \22parameters\22:[{\22argument\22:0},{\22argument\22:1},{\22argument\22:2},{\22argument\22:3},{\22argument\22:4},{\22argument\22:5},{\22workspace\22:0},{\22rows\22:true},{\22workgroup_count\22:0}]
// CHECK-SAME:    \22grid\22:[1,{{[0-9]+}},1],\22name\22:\22layer_norm_bwd_finalize\22
// CHECK-SAME:    \22parameters\22:[{\22workspace\22:0},{\22argument\22:6},{\22workgroup_count\22:0},{\22constant\22:1}]

// AMD-SAME:      \00") {addr_space = 4 : i32, alignment = 1 : i64, section = ".lnbwd.plan"}
// NVIDIA-SAME:   \00") {addr_space = 1 : i32, alignment = 1 : i64}
func.func @layer_norm(%dy: memref<?x512xbf16>, %x: memref<?x512xbf16>, %gamma: memref<512xf32>, %mean: memref<?xf32>,
                      %rstd: memref<?xf32>, %dx: memref<?x512xbf16>, %dgamma: memref<512xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x512xbf16>) x(%x : memref<?x512xbf16>) gamma(%gamma : memref<512xf32>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x512xbf16>) dgamma(%dgamma : memref<512xf32>)
  return
}
