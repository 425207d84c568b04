// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s

// Row scalars are row scalars whatever their shape.
// CHECK-LABEL: gpu.module @leading_dimensions_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22kind\22:\22row_scalar\22,\22name\22:\22mean\22,\22row_length\22:1
func.func @leading_dimensions(%x: memref<?x4x512xf32>, %s: memref<?x4xf32>) {
  lnbwd.layer_norm_bwd dy(%x : memref<?x4x512xf32>) x(%x : memref<?x4x512xf32>)
      mean(%s : memref<?x4xf32>) rstd(%s : memref<?x4xf32>) outs dx(%x : memref<?x4x512xf32>)
  return
}

// -----

// CHECK-LABEL: gpu.module @static_rows_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22kind\22:\22row_scalar\22,\22name\22:\22mean\22,\22row_length\22:1
// CHECK-SAME:    {\22rows\22:true}
func.func @static_rows(%x: memref<64x512xf32>, %s: memref<64xf32>) {
  lnbwd.layer_norm_bwd dy(%x : memref<64x512xf32>) x(%x : memref<64x512xf32>)
      mean(%s : memref<64xf32>) rstd(%s : memref<64xf32>) outs dx(%x : memref<64x512xf32>)
  return
}

// -----

// An argument that is read and written is both.
// CHECK-LABEL: gpu.module @in_place_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    {\22access\22:\22read_write\22,\22element\22:\22f32\22,\22kind\22:\22row_block\22,\22name\22:\22dy\22
// CHECK-SAME:    {\22access\22:\22read\22,\22element\22:\22f32\22,\22kind\22:\22row_block\22,\22name\22:\22x\22
func.func @in_place(%dy: memref<?x512xf32>, %x: memref<?x512xf32>, %s: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x512xf32>) x(%x : memref<?x512xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>) outs dx(%dy : memref<?x512xf32>)
  return
}

// -----

// An argument that no kernel takes is in the plan all the same, by its name: a
// caller passes the function's arguments.
// CHECK-LABEL: gpu.module @unused_argument_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22name\22:\22x\22
// CHECK-SAME:    \22parameters\22:[{\22argument\22:1},
func.func @unused_argument(%u: memref<?x512xf32>, %dy: memref<?x512xf32>, %c: memref<512xf32>, %s: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x512xf32>) x(%u : memref<?x512xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>) outs dbeta(%c : memref<512xf32>)
  return
}

// -----

// Rows that lie apart say how far.
// CHECK-LABEL: gpu.module @strided_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22name\22:\22x\22,\22row_length\22:512,\22row_stride\22:640}
// CHECK-SAME:    \22name\22:\22y\22,\22row_length\22:512}
func.func @strided(%x: memref<?x2x512xf32, strided<[1280, 640, 1]>>, %y: memref<?x2x512xf32>) {
  lnbwd.rms_norm x(%x : memref<?x2x512xf32, strided<[1280, 640, 1]>>) outs y(%y : memref<?x2x512xf32>)
  return
}

// -----

// The stride of a dimension of size 1 says nothing.
// CHECK-LABEL: gpu.module @unit_dimension_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22name\22:\22x\22,\22row_length\22:512,\22row_stride\22:640}
func.func @unit_dimension(%x: memref<?x1x512xf32, strided<[640, 3, 1]>>, %y: memref<?x1x512xf32>) {
  lnbwd.rms_norm x(%x : memref<?x1x512xf32, strided<[640, 3, 1]>>) outs y(%y : memref<?x1x512xf32>)
  return
}

// -----

// The length of a row of several dimensions is their product.
// CHECK-LABEL: gpu.module @row_rank_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    \22kind\22:\22row_block\22,\22name\22:\22x\22,\22row_length\22:512}
// CHECK-SAME:    \22kind\22:\22column\22,\22name\22:\22gamma\22,\22row_length\22:512}
func.func @row_rank(%x: memref<?x4x128xf32>, %gamma: memref<4x128xf32>) {
  lnbwd.rms_norm x(%x : memref<?x4x128xf32>) gamma(%gamma : memref<4x128xf32>) outs y(%x : memref<?x4x128xf32>)
      {row_rank = 2 : i64}
  return
}

// -----

// Sums that are added to what is there are read and written.
// CHECK-LABEL: gpu.module @accumulate_kernels
// CHECK-NEXT:    llvm.mlir.global
// CHECK-SAME:    {\22access\22:\22read_write\22,\22element\22:\22f32\22,\22kind\22:\22column\22,\22name\22:\22dgamma\22
func.func @accumulate(%x: memref<?x512xf32>, %s: memref<?xf32>, %dgamma: memref<512xf32>) {
  lnbwd.rms_norm_bwd dy(%x : memref<?x512xf32>) x(%x : memref<?x512xf32>) rstd(%s : memref<?xf32>)
      outs dgamma(%dgamma : memref<512xf32>) {accumulate}
  return
}
