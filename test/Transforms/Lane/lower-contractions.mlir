// DEFINE: %{chip} = gfx942
// DEFINE: %{lower} = lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=%{chip}},gpu.module(gpu.func(lnbwd-lower-contractions)),canonicalize)'
// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,MFMA
// REDEFINE: %{chip} = gfx950
// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,WIDE
// REDEFINE: %{chip} = gfx1201
// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,WMMA
// REDEFINE: %{chip} = sm_80
// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,CUDA

#lhs = affine_map<(i, j, k, l) -> (i, k, l)>
#rhs = affine_map<(i, j, k, l) -> (j, k, l)>
#sum = affine_map<(i, j, k, l) -> (i, j)>
#rows = affine_map<(i) -> (i, 0)>
#columns = affine_map<(i) -> (0, i)>
gpu.module @kernels {

// A fragment of the result for each 16 rows and 16 columns. With 64 lanes each
// has four neighbours of a row; the matrices change places.
// CHECK-LABEL: gpu.func @fragments(
// MFMA:          %[[SUM:.*]]:2 = scf.for {{.*}} iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}) -> (vector<4xf32>, vector<4xf32>) {
// MFMA:            %[[A0:.*]] = vector.load %{{.*}} {alignment = 16 : i64} : memref<4096xbf16, {{.*}}>, vector<8xbf16>
// MFMA:            %[[A1:.*]] = vector.load
// MFMA:            %[[B0:.*]] = vector.load
// MFMA-NOT:        vector.load
// MFMA-DAG:        %[[AL:.*]] = vector.extract_strided_slice %[[A0]] {offsets = [0], sizes = [4]
// MFMA-DAG:        %[[BL:.*]] = vector.extract_strided_slice %[[B0]] {offsets = [0], sizes = [4]
// MFMA:            %[[N0:.*]] = amdgpu.mfma 16x16x16 %[[BL]] * %[[AL]] + %[[S0]]
// MFMA:            %[[M0:.*]] = amdgpu.mfma 16x16x16 %{{.*}} * %{{.*}} + %[[N0]]
// MFMA-COUNT-2:    amdgpu.mfma 16x16x16
// MFMA:            scf.yield %[[M0]], %{{.*}} : vector<4xf32>, vector<4xf32>
// WIDE-COUNT-2:    amdgpu.mfma 16x16x32
// WMMA:          scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>) {
// WMMA-COUNT-2:    amdgpu.wmma 16x16x16 {{.*}} : vector<8xbf16>, vector<8xbf16>, vector<8xf32>
// CUDA:          scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CUDA-COUNT-6:    vector.load
// CUDA-COUNT-8:    nvvm.mma.sync
// CUDA:            scf.yield
// What there is not of the result is not stored.
// CHECK:         scf.if
// CHECK-NEXT:      vector.store
gpu.func @fragments(%n: index, %row: index, %out: memref<?x16xf32>)
    workgroup(%a: memref<4096xbf16, #gpu.address_space<workgroup>>, %b: memref<4096xbf16, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : vector<32x16xf32>
  %sums = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (vector<32x16xf32>) {
    %x = lane.load_tile %a[%row], 0 : memref<4096xbf16, #gpu.address_space<workgroup>> -> vector<32x4x8xbf16>
    %y = lane.load_tile %b[%c0], 0 : memref<4096xbf16, #gpu.address_space<workgroup>> -> vector<16x4x8xbf16>
    %next = vector.contract {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"],
        kind = #vector.kind<add>} %x, %y, %s : vector<32x4x8xbf16>, vector<16x4x8xbf16> into vector<32x16xf32>
    scf.yield %next : vector<32x16xf32>
  }
  vector.transfer_write %sums, %out[%row, %c0] : vector<32x16xf32>, memref<?x16xf32>
  gpu.return
}

// Elementwise operations are done to each fragment. Reads stay within memory.
// CHECK-LABEL: gpu.func @elementwise(
// CHECK-SAME:    %{{.*}}: index, %[[SCALARS:[^:]*]]: memref<?xf32>, %[[COLUMNS:[^:]*]]: memref<24xf32>
// CHECK:         arith.minsi
// CHECK:         memref.load %[[SCALARS]]
// CHECK:         arith.minsi
// MFMA:          vector.load %[[COLUMNS]]{{.*}}, vector<4xf32>
// MFMA:          arith.mulf %{{.*}} : vector<4xf32>
// MFMA:          arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// MFMA:          vector.store %{{.*}} : memref<?x24xbf16>, vector<4xbf16>
// CUDA:          vector.load %[[COLUMNS]]{{.*}}, vector<2xf32>
// CUDA:          arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
// CUDA:          vector.store %{{.*}} : memref<?x24xbf16>, vector<2xbf16>
gpu.func @elementwise(%row: index, %scalars: memref<?xf32>, %columns: memref<24xf32>, %out: memref<?x24xbf16>)
    workgroup(%a: memref<4096xbf16, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  %x = lane.load_tile %a[%row], 0 : memref<4096xbf16, #gpu.address_space<workgroup>> -> vector<16x4x8xbf16>
  %sum = vector.contract {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"],
      kind = #vector.kind<add>} %x, %x, %zero : vector<16x4x8xbf16>, vector<16x4x8xbf16> into vector<16x16xf32>
  %r = vector.transfer_read %scalars[%row], %pad {permutation_map = #rows, in_bounds = [false, true]} : memref<?xf32>, vector<16x16xf32>
  %c = vector.transfer_read %columns[%c0], %pad {permutation_map = #columns, in_bounds = [true, false]} : memref<24xf32>, vector<16x16xf32>
  %scaled = arith.mulf %sum, %r : vector<16x16xf32>
  %moved = arith.addf %scaled, %c : vector<16x16xf32>
  %narrow = arith.truncf %moved : vector<16x16xf32> to vector<16x16xbf16>
  vector.transfer_write %narrow, %out[%row, %c0] : vector<16x16xbf16>, memref<?x24xbf16>
  gpu.return
}

// Kernels of rows have fragments of their own.
// CHECK-LABEL: gpu.func @rows(
// CHECK-NEXT:    arith.addf %{{.*}} : vector<2x4xf32>
gpu.func @rows(%x: vector<2x4xf32>, %out: memref<vector<2x4xf32>>) kernel {
  %y = arith.addf %x, %x : vector<2x4xf32>
  memref.store %y, %out[] : memref<vector<2x4xf32>>
  gpu.return
}
}
