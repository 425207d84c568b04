// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=stages=2,prefetch=1,workgroups_per_compute_unit=4 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGES

// The channels of a batch, in pieces of 169 elements: each element has an
// address of its own, and no bulk copy takes them.
// CHECK: workgroups_per_compute_unit = 4, dependent_launch
// CHECK-NOT: stages
// STAGES: error: {{.*}}expected stages 0 for a program that reads no rows that lie together: a bulk copy takes neighbouring rows
func.func @channels(%x: memref<23x448x169xbf16, strided<[75712, 169, 1]>>, %y: memref<23x448x169xbf16, strided<[75712, 169, 1]>>) {
  lnbwd.rowwise @k domain(c | b, s) ins(%x[b, c, s] : memref<23x448x169xbf16, strided<[75712, 169, 1]>>)
      outs(%y[b, c, s] : memref<23x448x169xbf16, strided<[75712, 169, 1]>>) {
  ^bb0(%xr: vector<3887xbf16>):
    %wide = arith.extf %xr : vector<3887xbf16> to vector<3887xf32>
    %sum = vector.reduction <add>, %wide : vector<3887xf32> into f32
    %sums = vector.broadcast %sum : f32 to vector<3887xf32>
    %centred = arith.subf %wide, %sums : vector<3887xf32>
    %squares = arith.mulf %centred, %centred : vector<3887xf32>
    %square = vector.reduction <add>, %squares : vector<3887xf32> into f32
    %scale = math.rsqrt %square : f32
    %scales = vector.broadcast %scale : f32 to vector<3887xf32>
    %scaled = arith.mulf %centred, %scales : vector<3887xf32>
    %yr = arith.truncf %scaled : vector<3887xf32> to vector<3887xbf16>
    lnbwd.yield %yr : vector<3887xbf16>
  }
  return
}
