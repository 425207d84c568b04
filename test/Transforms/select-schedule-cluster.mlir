// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule --split-input-file | FileCheck %s

// Rows whose column sums no workgroup has the registers for are shared by the
// workgroups of a cluster.
// CHECK-LABEL: func.func @f
// CHECK: schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, {{.*}}workgroups_per_row = 8, {{.*}}stages = {{[2-4]}}
func.func @f(%x: memref<?x16384xbf16>, %y: memref<?x16384xbf16>, %s: memref<16384xf32>, %t: memref<16384xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x16384xbf16>, %y[m, n] : memref<?x16384xbf16>)
      outs(%y[m, n] : memref<?x16384xbf16>, %s[n] add : memref<16384xf32>, %t[n] add : memref<16384xf32>) {
  ^bb0(%xr: vector<16384xbf16>, %yr: vector<16384xbf16>):
    %wide = arith.extf %xr : vector<16384xbf16> to vector<16384xf32>
    %other = arith.extf %yr : vector<16384xbf16> to vector<16384xf32>
    %sum = vector.reduction <add>, %wide : vector<16384xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<16384xf32>
    %narrow = arith.truncf %spread : vector<16384xf32> to vector<16384xbf16>
    lnbwd.yield %narrow, %wide, %other : vector<16384xbf16>, vector<16384xf32>, vector<16384xf32>
  }
  return
}

// -----

// So are those whose accesses no number of workgroups divides: 17768 is eight
// times an odd number.
// CHECK-LABEL: func.func @ragged
// CHECK: schedule = #lnbwd.schedule<{{.*}}vector_width = 8, {{.*}}workgroups_per_row = 8, {{.*}}stages = {{[2-5]}}
func.func @ragged(%x: memref<?x17768xbf16>, %y: memref<?x17768xbf16>, %s: memref<17768xf32>, %t: memref<17768xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x17768xbf16>, %y[m, n] : memref<?x17768xbf16>)
      outs(%y[m, n] : memref<?x17768xbf16>, %s[n] add : memref<17768xf32>, %t[n] add : memref<17768xf32>) {
  ^bb0(%xr: vector<17768xbf16>, %yr: vector<17768xbf16>):
    %wide = arith.extf %xr : vector<17768xbf16> to vector<17768xf32>
    %other = arith.extf %yr : vector<17768xbf16> to vector<17768xf32>
    %sum = vector.reduction <add>, %wide : vector<17768xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<17768xf32>
    %narrow = arith.truncf %spread : vector<17768xf32> to vector<17768xbf16>
    lnbwd.yield %narrow, %wide, %other : vector<17768xbf16>, vector<17768xf32>, vector<17768xf32>
  }
  return
}

// -----

// Few rows are shared so that fewer workgroups leave partial sums.
// CHECK-LABEL: func.func @few
// CHECK: schedule = #lnbwd.schedule<{{.*}}workgroups_per_row = 4
func.func @few(%x: memref<512x4096xbf16>, %y: memref<512x4096xbf16>, %s: memref<4096xf32>, %t: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<512x4096xbf16>, %y[m, n] : memref<512x4096xbf16>)
      outs(%y[m, n] : memref<512x4096xbf16>, %s[n] add : memref<4096xf32>, %t[n] add : memref<4096xf32>) {
  ^bb0(%xr: vector<4096xbf16>, %yr: vector<4096xbf16>):
    %wide = arith.extf %xr : vector<4096xbf16> to vector<4096xf32>
    %other = arith.extf %yr : vector<4096xbf16> to vector<4096xf32>
    %sum = vector.reduction <add>, %wide : vector<4096xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<4096xf32>
    %narrow = arith.truncf %spread : vector<4096xf32> to vector<4096xbf16>
    lnbwd.yield %narrow, %wide, %other : vector<4096xbf16>, vector<4096xf32>, vector<4096xf32>
  }
  return
}

// -----

// And those that do not begin where a copy can: each workgroup's copies begin
// before its part.
// CHECK-LABEL: func.func @odd
// CHECK: schedule = #lnbwd.schedule<{{.*}}vector_width = 1, {{.*}}workgroups_per_row = {{[48]}}, {{.*}}stages = {{[2-5]}}
func.func @odd(%x: memref<2828x14113xf16>, %y: memref<2828x14113xf16>, %s: memref<14113xf32>, %t: memref<14113xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<2828x14113xf16>, %y[m, n] : memref<2828x14113xf16>)
      outs(%y[m, n] : memref<2828x14113xf16>, %s[n] add : memref<14113xf32>, %t[n] add : memref<14113xf32>) {
  ^bb0(%xr: vector<14113xf16>, %yr: vector<14113xf16>):
    %wide = arith.extf %xr : vector<14113xf16> to vector<14113xf32>
    %other = arith.extf %yr : vector<14113xf16> to vector<14113xf32>
    %sum = vector.reduction <add>, %wide : vector<14113xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<14113xf32>
    %narrow = arith.truncf %spread : vector<14113xf32> to vector<14113xf16>
    lnbwd.yield %narrow, %wide, %other : vector<14113xf16>, vector<14113xf32>, vector<14113xf32>
  }
  return
}

// -----

// So do rows of four times an odd number of elements, with accesses of 8 bytes.
// CHECK-LABEL: func.func @half
// CHECK: schedule = #lnbwd.schedule<{{.*}}vector_width = 4, {{.*}}workgroups_per_row = {{[48]}}, {{.*}}stages = {{[2-4]}}
func.func @half(%x: memref<2387x30596xf16>, %y: memref<2387x30596xf16>, %s: memref<30596xf32>, %t: memref<30596xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<2387x30596xf16>, %y[m, n] : memref<2387x30596xf16>)
      outs(%y[m, n] : memref<2387x30596xf16>, %s[n] add : memref<30596xf32>, %t[n] add : memref<30596xf32>) {
  ^bb0(%xr: vector<30596xf16>, %yr: vector<30596xf16>):
    %wide = arith.extf %xr : vector<30596xf16> to vector<30596xf32>
    %other = arith.extf %yr : vector<30596xf16> to vector<30596xf32>
    %sum = vector.reduction <add>, %wide : vector<30596xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<30596xf32>
    %narrow = arith.truncf %spread : vector<30596xf32> to vector<30596xf16>
    lnbwd.yield %narrow, %wide, %other : vector<30596xf16>, vector<30596xf32>, vector<30596xf32>
  }
  return
}

// -----

// Rows too long for a cluster's registers by the estimate are shared where they
// leave registers.
// CHECK-LABEL: func.func @long
// CHECK: schedule = #lnbwd.schedule<threads_per_row = 512, {{.*}}workgroups_per_row = 8, dependent_launch = true>
func.func @long(%x: memref<?x256000xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256000xf32>)
      outs(%s[m] : memref<?xf32>) {
  ^bb0(%row: vector<256000xf32>):
    %most = vector.reduction <maximumf>, %row : vector<256000xf32> into f32
    %spread = vector.broadcast %most : f32 to vector<256000xf32>
    %difference = arith.subf %row, %spread : vector<256000xf32>
    %exp = math.exp %difference : vector<256000xf32>
    %sum = vector.reduction <add>, %exp : vector<256000xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// Those that leave none are read again for each sum.
// CHECK-LABEL: func.func @longer
// CHECK: schedule = #lnbwd.schedule<{{.*}}reload = true>
func.func @longer(%x: memref<?x300000xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x300000xf32>)
      outs(%s[m] : memref<?xf32>) {
  ^bb0(%row: vector<300000xf32>):
    %most = vector.reduction <maximumf>, %row : vector<300000xf32> into f32
    %spread = vector.broadcast %most : f32 to vector<300000xf32>
    %difference = arith.subf %row, %spread : vector<300000xf32>
    %exp = math.exp %difference : vector<300000xf32>
    %sum = vector.reduction <add>, %exp : vector<300000xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
