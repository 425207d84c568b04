// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 rows=512" --emit=report --rows=512 | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 rows=512" --emit=report-json --rows=512 | %python -m json.tool | FileCheck %s --check-prefix=JSON
// RUN: env PATH=/nowhere CUDA_HOME=/nowhere %{lnbwd-opt} %s --lnbwd-pipeline="chip=sm_90 rows=512" --emit=report --rows=512 > %t.nvidia
// RUN: FileCheck %s --check-prefix=NVIDIA < %t.nvidia

// The sum over 512 rows in eight parts, each of 144 tiles.
// CHECK:      @f for gfx942 {{.*}}, 512 rows of 768
// CHECK:      kernel @f{{$}}
// CHECK-NEXT:   tiles                     144 of 64 x 64
// CHECK-NEXT:   loop                      8 iterations of 64 elements of the sum, in 8 parts
// CHECK-NEXT:   launch                    1152 workgroups of 256 work-items
// CHECK:        spills                    none
// Either matrix once for each tile of the other, and the eight parts.
// CHECK:        bytes by the plan         37748736
// 2 x 301989888 operations at 2048 a clock of 304 compute units of 2100 MHz, and
// 4 * 304 / 1152 of that where the busiest has four of the 1152 workgroups.
// CHECK:        least time, us {{.*}}, 0.49 for matrix instructions
// CHECK-NOT:    schedule

// CHECK:      kernel @f_finalize{{$}}
// CHECK-NEXT:   schedule                  #lnbwd.schedule<{{.*}}column_tile = 1024
// CHECK:        bytes by the plan         21233664
// CHECK-NOT:    matrix instructions

// JSON:     "product": {
// JSON:       "tile_rows": 64,
// JSON:       "tile_columns": 64,
// JSON:       "tiles": 144,
// JSON:       "parts": 8,
// JSON:       "step": 64,
// JSON:       "iterations": 8,
// JSON:       "multiply_adds": 301989888,
// JSON:       "multiplied_as": "bf16"

// JSON:     "matrix_seconds": 4.87{{[0-9]*}}e-07,

// Workgroups take tile after tile.
// NVIDIA:     kernel @f{{$}}
// NVIDIA-NEXT:  tiles                     {{[0-9]+}} of {{[0-9]+}} x {{[0-9]+}}
// NVIDIA-NEXT:  loop                      8 iterations of 64 elements of the sum
// NVIDIA:       bytes by the plan         {{[0-9]+}}
// NVIDIA:       least time, us {{.*}} for matrix instructions
func.func @f(%x: memref<?x768xbf16>, %z: memref<?x768xbf16>, %w: memref<768x768xf32>) {
  lnbwd.rowwise @f domain(m | n0, n1) ins(%x[m, n0] : memref<?x768xbf16>, %z[m, n1] : memref<?x768xbf16>)
      outs(%w[n0, n1] add : memref<768x768xf32>) {
  ^row(%xr: vector<768xbf16>, %zr: vector<768xbf16>):
    %xrw = arith.extf %xr : vector<768xbf16> to vector<768xf32>
    %zrw = arith.extf %zr : vector<768xbf16> to vector<768xf32>
    %p = vector.outerproduct %xrw, %zrw : vector<768xf32>, vector<768xf32>
    lnbwd.yield %p : vector<768x768xf32>
  }
  return
}
