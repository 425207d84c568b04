// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942" --emit=report | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942" --emit=report --rows=4096 | FileCheck %s --check-prefix=ROWS
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 reproducible=true schedule=workgroups_per_compute_unit=1" --emit=report --rows=100000 | FileCheck %s --check-prefix=FIXED
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942" --emit=report-json | %python -m json.tool | FileCheck %s --check-prefix=JSON
// RUN: env PATH=/nowhere CUDA_HOME=/nowhere %{lnbwd-opt} %s --lnbwd-pipeline="chip=sm_90" --emit=report > %t.nvidia
// RUN: FileCheck %s --check-prefix=NVIDIA < %t.nvidia

// The number of rows is that of the row blocks, or the option's.
// CHECK:      @layer_norm_bwd for gfx942 (AMD Instinct MI300X, 304 compute units), 2048 rows of 512
// CHECK:      kernel @layer_norm_bwd{{$}}
// CHECK-NEXT:   schedule                  #lnbwd.schedule<
// CHECK-NEXT:   launch                    {{[0-9]+}} workgroups of {{[0-9]+}} work-items
// CHECK-NEXT:   vector registers          {{[0-9]+}}
// CHECK-NEXT:   scalar registers          {{[0-9]+}}
// CHECK-NEXT:   spills                    none
// CHECK-NEXT:   shared memory             {{[0-9]+}} bytes
// CHECK-NEXT:   occupancy                 {{[0-9]+}} workgroups, {{[0-9]+}} waves {{.*}}, limited by {{threads|registers|shared memory}}
// CHECK:        least time, us            {{[0-9.]+}} for memory
// CHECK:        bound by                  memory
// CHECK:      kernel @layer_norm_bwd_finalize
// CHECK:      all kernels
// CHECK:        share of peak bandwidth   {{[0-9.]+}} % of 5300 GB/s at most

// ROWS: 4096 rows of 512

// The plan bounds the workgroups by a number, whatever the device.
// FIXED:      kernel @layer_norm_bwd{{$}}
// FIXED:        launch                    304 workgroups of

// Three row blocks of 2048 * 512 f32, two row scalars, three columns.
// JSON:     "rows": 2048,
// JSON:     "minimal_bytes": 12605440,
// JSON:     "name": "layer_norm_bwd",
// JSON:     "spilled_vector_registers": 0,
// JSON:     "bound": "memory"

// What only ptxas knows is left out.
// NVIDIA:     kernel @layer_norm_bwd{{$}}
// NVIDIA-NOT: vector registers
// NVIDIA:       bytes by the plan         {{[0-9]+}}
// NVIDIA:     bound by                  memory

func.func @layer_norm_bwd(%dy: memref<2048x512xf32>, %x: memref<2048x512xf32>, %g: memref<512xf32>, %s: memref<2048xf32>,
                          %t: memref<2048xf32>, %dx: memref<2048x512xf32>, %dg: memref<512xf32>, %db: memref<512xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<2048x512xf32>) x(%x : memref<2048x512xf32>) gamma(%g : memref<512xf32>)
      mean(%s : memref<2048xf32>) rstd(%t : memref<2048xf32>)
      outs dx(%dx : memref<2048x512xf32>) dgamma(%dg : memref<512xf32>) dbeta(%db : memref<512xf32>)
  return
}
