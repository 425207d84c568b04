// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 rows=512" --emit=report --rows=512 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 rows=512" --emit=report-json --rows=512 | %python -m json.tool | FileCheck %s --check-prefix=JSON
// RUN: env PATH=/nowhere CUDA_HOME=/nowhere %{lnbwd-opt} %s --lnbwd-pipeline="chip=sm_90 rows=512" --emit=report --rows=512 > %t.nvidia
// RUN: FileCheck %s --check-prefix=NVIDIA < %t.nvidia

// The sum over 512 rows in two parts, each of 108 tiles.
// CHECK:      @f for gfx942 {{.*}}, 512 rows of 2304
// CHECK:      kernel @f{{$}}
// CHECK-NEXT:   tiles                     108 of 128 x 128
// CHECK-NEXT:   loop                      8 iterations of 64 elements of the sum, in 2 parts
// CHECK-NEXT:   launch                    216 workgroups of 256 work-items
// CHECK:        spills                    none
// Either matrix once for each tile of the other, and the two parts.
// CHECK:        bytes by the plan         42467328
// 2 x 905969664 operations at 2048 a clock of 304 compute units of 2100 MHz, and
// 304 / 216 of that where the busiest has one of the 216 workgroups.
// CHECK:        least time, us {{.*}}, 1.95 for matrix instructions
// CHECK-NOT:    schedule

// CHECK:      kernel @f_parts{{$}}
// CHECK-NEXT:   tiles                     6912 of 1 x 256
// CHECK-NEXT:   adds                      2 partial results of each element
// CHECK:        bytes by the plan         21233664
// CHECK-NOT:    matrix instructions

// JSON:     "product": {
// JSON:       "tile_rows": 128,
// JSON:       "tile_columns": 128,
// JSON:       "tiles": 108,
// JSON:       "parts": 2,
// JSON:       "step": 64,
// JSON:       "iterations": 8,
// JSON:       "multiply_adds": 905969664,
// JSON:       "multiplied_as": "bf16"

// JSON:     "matrix_seconds": 1.95{{[0-9]*}}e-06,

// Workgroups take tile after tile.
// NVIDIA:     kernel @f{{$}}
// NVIDIA-NEXT:  tiles                     {{[0-9]+}} of {{[0-9]+}} x {{[0-9]+}}
// NVIDIA-NEXT:  loop                      8 iterations of 64 elements of the sum
// NVIDIA:       bytes by the plan         {{[0-9]+}}
// NVIDIA:       least time, us {{.*}} for matrix instructions
func.func @f(%x: memref<?x2304xbf16>, %z: memref<?x768xbf16>, %w: memref<2304x768xf32>) {
  lnbwd.product @f lhs(%x : memref<?x2304xbf16>) rhs(%z : memref<?x768xbf16>)
      outs(%w : memref<2304x768xf32>) attributes {lhs_transposed}
  return
}
