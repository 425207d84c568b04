// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-lower-contractions)))' --verify-diagnostics

#lhs = affine_map<(i, j, k, l) -> (i, k, l)>
#rhs = affine_map<(i, j, k, l) -> (j, k, l)>
#sum = affine_map<(i, j, k, l) -> (j, i)>
gpu.module @kernels {
gpu.func @transposed(%row: index, %out: memref<?x16xf32>)
    workgroup(%a: memref<4096xbf16, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  %x = lane.load_tile %a[%row], 0 : memref<4096xbf16, #gpu.address_space<workgroup>> -> vector<16x4x8xbf16>
  // expected-error@+1 {{failed to legalize operation 'vector.contract'}}
  %sum = vector.contract {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction", "reduction"],
      kind = #vector.kind<add>} %x, %x, %zero : vector<16x4x8xbf16>, vector<16x4x8xbf16> into vector<16x16xf32>
  vector.transfer_write %sum, %out[%row, %c0] : vector<16x16xf32>, memref<?x16xf32>
  gpu.return
}
}
