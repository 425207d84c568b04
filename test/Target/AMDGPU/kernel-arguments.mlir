// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx90a --emit=hsaco | llvm-readelf --notes - | FileCheck %s

// The plan's parameters and nothing else: five buffers, the row count and the
// workgroup count, eight bytes each, and no hidden arguments.
// CHECK:         .args:
// CHECK-COUNT-5:   .value_kind: global_buffer
// CHECK-COUNT-2:   .value_kind: by_value
// CHECK-NOT:       .value_kind:
// CHECK:         .kernarg_segment_size: 56
func.func @f(%dy: memref<?x64xf32>, %x: memref<?x64xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x64xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x64xf32>) x(%x : memref<?x64xf32>) mean(%mean : memref<?xf32>)
      rstd(%rstd : memref<?xf32>) outs dx(%dx : memref<?x64xf32>)
  return
}
