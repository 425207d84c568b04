// RUN: split-file %s %t
// DEFINE: %{chip} = gfx942
// DEFINE: %{file} = block
// DEFINE: %{lower} = lnbwd-opt %t/%{file}.mlir --pass-pipeline='builtin.module(lnbwd-set-chip{chip=%{chip}},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize)'
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=MFMA
// REDEFINE: %{chip} = gfx950
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=WIDE
// REDEFINE: %{chip} = gfx1100
// REDEFINE: %{file} = two-blocks
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=TWICE
// REDEFINE: %{chip} = sm_80
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=CUDA
// REDEFINE: %{chip} = gfx1250
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=DEEP
// REDEFINE: %{chip} = gfx1201
// REDEFINE: %{file} = half-rows
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=WMMA
// REDEFINE: %{chip} = gfx942
// REDEFINE: %{file} = float32
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=SINGLE
// REDEFINE: %{chip} = gfx1030
// REDEFINE: %{file} = elements
// RUN: %{lower} | FileCheck %t/%{file}.mlir --check-prefix=PLAIN

//--- block.mlir
gpu.module @kernels {
// A block is enough for several instructions. The matrices change places, but
// where two lanes have the same row.
// MFMA-LABEL:  gpu.func @narrow(
// MFMA-SAME:     %[[A:[^:]*]]: vector<8xbf16>, %[[B:[^:]*]]: vector<8xbf16>, %[[S:[^:]*]]: vector<4xf32>
// MFMA-DAG:      %[[AL:.*]] = vector.extract_strided_slice %[[A]] {offsets = [0], sizes = [4]
// MFMA-DAG:      %[[BL:.*]] = vector.extract_strided_slice %[[B]] {offsets = [0], sizes = [4]
// MFMA:          %[[N:.*]] = amdgpu.mfma 16x16x16 %[[BL]] * %[[AL]] + %[[S]]
// MFMA-DAG:      %[[AH:.*]] = vector.extract_strided_slice %[[A]] {offsets = [4], sizes = [4]
// MFMA-DAG:      %[[BH:.*]] = vector.extract_strided_slice %[[B]] {offsets = [4], sizes = [4]
// MFMA:          amdgpu.mfma 16x16x16 %[[BH]] * %[[AH]] + %[[N]]
// WIDE-LABEL:  gpu.func @narrow(
// WIDE-SAME:     %[[A:[^:]*]]: vector<8xbf16>, %[[B:[^:]*]]: vector<8xbf16>, %[[S:[^:]*]]: vector<4xf32>
// WIDE-NEXT:     amdgpu.mfma 16x16x32 %[[B]] * %[[A]] + %[[S]]
gpu.func @narrow(%a: vector<8xbf16>, %b: vector<8xbf16>, %sum: vector<4xf32>, %out: memref<vector<4xf32>>) kernel {
  %next = lane.multiply %a, %b, %sum : vector<8xbf16>, vector<4xf32>
  memref.store %next, %out[] : memref<vector<4xf32>>
  gpu.return
}
}

//--- two-blocks.mlir
gpu.module @kernels {
// TWICE-LABEL: gpu.func @two_blocks(
// TWICE-SAME:    %[[A:[^:]*]]: vector<16xbf16>, %[[B:[^:]*]]: vector<16xbf16>, %[[S:[^:]*]]: vector<8xf32>
// TWICE-NEXT:    amdgpu.wmma 16x16x16 %[[A]] * %[[B]] + %[[S]] : vector<16xbf16>, vector<16xbf16>, vector<8xf32>
// DEEP-LABEL:  gpu.func @two_blocks(
// DEEP-SAME:     %[[A:[^:]*]]: vector<16xbf16>, %[[B:[^:]*]]: vector<16xbf16>, %[[S:[^:]*]]: vector<8xf32>
// DEEP-NEXT:     amdgpu.wmma 16x16x32 %[[B]] * %[[A]] + %[[S]] : vector<16xbf16>, vector<16xbf16>, vector<8xf32>
// The rows 8 apart of A, and two times 8 columns.
// CUDA-LABEL:  gpu.func @two_blocks(
// CUDA-SAME:     %[[A:[^:]*]]: vector<16xbf16>, %[[B:[^:]*]]: vector<16xbf16>, %[[S:[^:]*]]: vector<8xf32>
// CUDA:          %[[A0V:.*]] = vector.extract_strided_slice %[[A]] {offsets = [0], sizes = [2]
// CUDA:          %[[A0:.*]] = llvm.bitcast %[[A0V]] : vector<2xbf16> to i32
// CUDA:          %[[A2V:.*]] = vector.extract_strided_slice %[[A]] {offsets = [2], sizes = [2]
// CUDA:          %[[A2:.*]] = llvm.bitcast %[[A2V]]
// CUDA:          %[[A1V:.*]] = vector.extract_strided_slice %[[A]] {offsets = [8], sizes = [2]
// CUDA:          %[[A1:.*]] = llvm.bitcast %[[A1V]]
// CUDA:          %[[A3V:.*]] = vector.extract_strided_slice %[[A]] {offsets = [10], sizes = [2]
// CUDA:          %[[A3:.*]] = llvm.bitcast %[[A3V]]
// CUDA:          %[[B0V:.*]] = vector.extract_strided_slice %[[B]] {offsets = [0], sizes = [2]
// CUDA:          %[[B0:.*]] = llvm.bitcast %[[B0V]]
// CUDA:          %[[B1V:.*]] = vector.extract_strided_slice %[[B]] {offsets = [2], sizes = [2]
// CUDA:          %[[B1:.*]] = llvm.bitcast %[[B1V]]
// CUDA:          %[[SUMS:.*]]:8 = vector.to_elements %[[S]]
// CUDA:          %[[N:.*]] = nvvm.mma.sync A[%[[A0]], %[[A1]], %[[A2]], %[[A3]]] B[%[[B0]], %[[B1]]] C[%[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[SUMS]]#3]
// CUDA:          %[[N0:.*]] = llvm.extractvalue %[[N]][0]
// CUDA:          nvvm.mma.sync {{.*}} C[%[[N0]],
// CUDA:          nvvm.mma.sync {{.*}} C[%[[SUMS]]#4,
// CUDA:          nvvm.mma.sync
// CUDA:          vector.from_elements {{.*}} : vector<8xf32>
gpu.func @two_blocks(%a: vector<16xbf16>, %b: vector<16xbf16>, %sum: vector<8xf32>, %out: memref<vector<8xf32>>) kernel {
  %next = lane.multiply %a, %b, %sum : vector<16xbf16>, vector<8xf32>
  memref.store %next, %out[] : memref<vector<8xf32>>
  gpu.return
}
}

//--- half-rows.mlir
gpu.module @kernels {
// WMMA-LABEL:  gpu.func @half_rows(
// WMMA-SAME:     %[[A:[^:]*]]: vector<8xf16>, %[[B:[^:]*]]: vector<8xf16>, %[[S:[^:]*]]: vector<8xf32>
// WMMA-NEXT:     amdgpu.wmma 16x16x16 %[[B]] * %[[A]] + %[[S]] : vector<8xf16>, vector<8xf16>, vector<8xf32>
gpu.func @half_rows(%a: vector<8xf16>, %b: vector<8xf16>, %sum: vector<8xf32>, %out: memref<vector<8xf32>>) kernel {
  %next = lane.multiply %a, %b, %sum : vector<8xf16>, vector<8xf32>
  memref.store %next, %out[] : memref<vector<8xf32>>
  gpu.return
}
}

//--- float32.mlir
gpu.module @kernels {
// float32 has an instruction on CDNA alone.
// SINGLE-LABEL:  gpu.func @wide(
// SINGLE-COUNT-4:  amdgpu.mfma 16x16x4 {{.*}} : f32, f32, vector<4xf32>
gpu.func @wide(%a: vector<4xf32>, %b: vector<4xf32>, %sum: vector<4xf32>, %out: memref<vector<4xf32>>) kernel {
  %next = lane.multiply %a, %b, %sum : vector<4xf32>, vector<4xf32>
  memref.store %next, %out[] : memref<vector<4xf32>>
  gpu.return
}
}

//--- elements.mlir
gpu.module @kernels {
// Elsewhere there are multiply-adds, one after another.
// PLAIN-LABEL: gpu.func @elements(
// PLAIN-SAME:    %[[A:[^:]*]]: vector<4xf32>, %[[B:[^:]*]]: vector<4xf32>, %[[S:[^:]*]]: vector<1xf32>
// PLAIN-DAG:     %[[AS:.*]]:4 = vector.to_elements %[[A]]
// PLAIN-DAG:     %[[BS:.*]]:4 = vector.to_elements %[[B]]
// PLAIN-DAG:     %[[S0:.*]] = vector.extract %[[S]][0]
// PLAIN:         %[[N:.*]] = math.fma %[[AS]]#0, %[[BS]]#0, %[[S0]] : f32
// PLAIN:         math.fma %[[AS]]#1, %[[BS]]#1, %[[N]]
// PLAIN-COUNT-2: math.fma
gpu.func @elements(%a: vector<4xf32>, %b: vector<4xf32>, %sum: vector<1xf32>, %out: memref<vector<1xf32>>) kernel {
  %next = lane.multiply %a, %b, %sum : vector<4xf32>, vector<1xf32>
  memref.store %next, %out[] : memref<vector<1xf32>>
  gpu.return
}
}
