// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule > %t.first
// RUN: FileCheck %s --check-prefix=FIRST < %t.first
// RUN: sed -n "s/.*schedule = \(#lnbwd.schedule<[^>]*>\).*/s|{k = ..}|{k = [\1]}|/p" %t.first > %t.sed
// RUN: sed -f %t.sed %s > %t.mlir
// RUN: lnbwd-opt %t.mlir --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s --check-prefix=SECOND

// A schedule that has made a kernel spill is not chosen again for the program of that name.

// FIRST:       lnbwd.rowwise @k
// FIRST:         schedule = [[FIRST:#lnbwd.schedule<[^>]*>]]
// FIRST:       lnbwd.rowwise @other
// FIRST:         schedule = [[FIRST]]

// SECOND:      lnbwd.rejected_schedules = {k = [[[REJECTED:#lnbwd.schedule<[^>]*>]]]}
// SECOND:      lnbwd.rowwise @k
// SECOND-NOT:    schedule = [[REJECTED]]
// SECOND:      lnbwd.rowwise @other
// SECOND:        schedule = [[REJECTED]]

module attributes {lnbwd.rejected_schedules = {k = []}} {
  func.func @f(%x: memref<?x1024xf32>, %s: memref<1024xf32>) {
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>) {
    ^bb0(%xr: vector<1024xf32>):
      %sum = vector.reduction <add>, %xr : vector<1024xf32> into f32
      %spread = vector.broadcast %sum : f32 to vector<1024xf32>
      lnbwd.yield %spread : vector<1024xf32>
    }
    lnbwd.rowwise @other domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>) {
    ^bb0(%xr: vector<1024xf32>):
      %sum = vector.reduction <add>, %xr : vector<1024xf32> into f32
      %spread = vector.broadcast %sum : f32 to vector<1024xf32>
      lnbwd.yield %spread : vector<1024xf32>
    }
    return
  }
}
