// RUN: lnbwd-opt %s --lnbwd-split-two-pass=mode=always --split-input-file | FileCheck %s --check-prefixes=CHECK,ALWAYS
// RUN: lnbwd-opt %s --lnbwd-split-two-pass=mode=never --split-input-file | FileCheck %s --check-prefixes=CHECK,NEVER
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-two-pass --split-input-file | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-split-two-pass=rows=256 --split-input-file | FileCheck %s --check-prefix=FEW
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-split-two-pass="rows=256 schedule=row_groups=2" --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-split-two-pass=rows=65536 --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-split-two-pass --split-input-file | FileCheck %s --check-prefix=MANY

// Each half reads what it needs.
// CHECK-LABEL: func @short_rows(
// ALWAYS-SAME:     %[[X:[a-z0-9_]+]]: memref<?x512xf32>, %[[Y:[a-z0-9_]+]]: memref<?x512xf32>, %[[C:[a-z0-9_]+]]: memref<512xf32>, %[[S:[a-z0-9_]+]]: memref<512xf32>)
// ALWAYS-NEXT:   lnbwd.rowwise @k_columns domain(m | n) ins(%[[X]][m, n] : memref<?x512xf32>)
// ALWAYS-SAME:     outs(%[[S]][n] add : memref<512xf32>) attributes {operand_names = ["x", "sum"]} {
// ALWAYS-NEXT:   ^bb0(%[[XR:[a-z0-9_]+]]: vector<512xf32>):
// ALWAYS-NEXT:     lnbwd.yield %[[XR]]
// ALWAYS:        lnbwd.rowwise @k_rows domain(m | n) ins(%[[X]][m, n] : memref<?x512xf32>, %[[C]][n] : memref<512xf32>)
// ALWAYS-SAME:     outs(%[[Y]][m, n] : memref<?x512xf32>) attributes {independent, operand_names = ["x", "gamma", "y"]} {
// ALWAYS:          arith.mulf
// NEVER:         lnbwd.rowwise @k domain(m | n) ins(
// NEVER-NOT:     lnbwd.rowwise
// AUTO:          lnbwd.rowwise @k domain(m | n) ins(
// AUTO-NOT:      lnbwd.rowwise
// CHECK:         return
func.func @short_rows(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %c: memref<512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %c[n] : memref<512xf32>)
      outs(%y[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>)
      attributes {operand_names = ["x", "gamma", "y", "sum"]} {
  ^bb0(%xr: vector<512xf32>, %cr: vector<512xf32>):
    %scaled = arith.mulf %xr, %cr : vector<512xf32>
    lnbwd.yield %scaled, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// By default only rows that no workgroup can hold are read twice.
// CHECK-LABEL: func @long_rows(
// ALWAYS:        lnbwd.rowwise @k_columns
// ALWAYS:        lnbwd.rowwise @k_rows
// NEVER:         lnbwd.rowwise @k domain(m | n) ins(
// AUTO:          lnbwd.rowwise @k_columns
// AUTO:          lnbwd.rowwise @k_rows
func.func @long_rows(%x: memref<?x1048576xf32>, %y: memref<?x1048576xf32>, %s: memref<1048576xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xf32>)
      outs(%y[m, n] : memref<?x1048576xf32>, %s[n] add : memref<1048576xf32>) {
  ^bb0(%xr: vector<1048576xf32>):
    %sum = vector.reduction <add>, %xr : vector<1048576xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1048576xf32>
    lnbwd.yield %spread, %xr : vector<1048576xf32>, vector<1048576xf32>
  }
  return
}

// -----

// Columns read the row sums that the program before them has just written.
// CHECK-LABEL: func @independent(
// ALWAYS:        lnbwd.rowwise @k_statistics {{.*}} attributes {independent
// ALWAYS:        lnbwd.rowwise @k_columns
// ALWAYS-NOT:      independent
// ALWAYS:        lnbwd.rowwise @k_rows {{.*}} attributes {independent
func.func @independent(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
      outs(%y[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>) attributes {independent} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %scaled = arith.mulf %xr, %spread : vector<512xf32>
    lnbwd.yield %xr, %scaled : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Row scalars go with the row blocks.
// CHECK-LABEL: func @row_scalars(
// ALWAYS:        lnbwd.rowwise @k_columns {{.*}} outs({{.*}} add :
// ALWAYS:        lnbwd.rowwise @k_rows {{.*}} outs(%{{[^ ]+}}[m] :
// NEVER:         lnbwd.rowwise @k domain(m | n) ins(
// AUTO:          lnbwd.rowwise @k domain(m | n) ins(
func.func @row_scalars(%x: memref<?x512xf32>, %t: memref<?xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%t[m] : memref<?xf32>, %s[n] add : memref<512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum, %xr : f32, vector<512xf32>
  }
  return
}

// -----

// A program with one kind of output has no halves.
// CHECK-LABEL: func @one_kind(
// CHECK:         lnbwd.rowwise @rows_only
// CHECK:         lnbwd.rowwise @columns_only
func.func @one_kind(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @rows_only domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @columns_only domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[n] add : memref<512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// A program that is scheduled already stays whole.
// CHECK-LABEL: func @scheduled(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(
func.func @scheduled(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Rows may be written over rows that both halves read: the columns come first.
// CHECK-LABEL: func @in_place(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xf32>
// ALWAYS:        lnbwd.rowwise @k_columns {{.*}} ins(%[[X]]
// ALWAYS:        lnbwd.rowwise @k_rows {{.*}} ins(%[[X]]{{.*}} outs(%[[X]]
func.func @in_place(%x: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %twice = arith.addf %xr, %xr : vector<512xf32>
    lnbwd.yield %twice, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Row sums that the columns need are computed first, by a program of their own,
// and both halves read them.
// CHECK-LABEL: func @row_sums(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x4x512xf32>
// ALWAYS:        %[[M:.*]] = memref.dim %[[X]], %{{.*}}
// ALWAYS:        %[[SUM:.*]] = memref.alloc(%[[M]]) {lnbwd.row_scalar} : memref<?x4xf32>
// ALWAYS:        lnbwd.rowwise @k_statistics domain({{.*}}) ins(%[[X]][m0, m1, n] : {{.*}}) outs(%[[SUM]][m0, m1] : memref<?x4xf32>)
// ALWAYS-SAME:     operand_names = ["x", "row_sum_0"]
// ALWAYS:          vector.reduction <add>, %x
// ALWAYS:        lnbwd.rowwise @k_columns domain({{.*}}) ins(%[[X]][m0, m1, n] : {{.*}}, %[[SUM]][m0, m1] : {{.*}}) outs(
// ALWAYS-SAME:     fixed_workgroups = 7
// ALWAYS-NOT:      vector.reduction
// ALWAYS:        lnbwd.rowwise @k_rows domain({{.*}}) ins(%[[X]][m0, m1, n] : {{.*}}, %[[SUM]][m0, m1] : {{.*}}) outs(
// ALWAYS:          vector.reduction
// ALWAYS-NOT:      vector.reduction
// ALWAYS:        memref.dealloc %[[SUM]]
func.func @row_sums(%x: memref<?x4x512xf32>, %y: memref<?x4x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x4x512xf32>) outs(%y[m0, m1, n] : memref<?x4x512xf32>, %s[n] add : memref<512xf32>)
      attributes {fixed_workgroups = 7 : i64, operand_names = ["x", "y", "s"]} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %v = vector.broadcast %sum : f32 to vector<512xf32>
    %p = arith.mulf %xr, %v : vector<512xf32>
    %rest = vector.reduction <add>, %p : vector<512xf32> into f32
    %rv = vector.broadcast %rest : f32 to vector<512xf32>
    lnbwd.yield %rv, %p : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Each half keeps its groups, as long as it has an operand of them.
// CHECK-LABEL: func @groups(
// ALWAYS:        lnbwd.rowwise @k_columns domain(m0, m1 | n) ins(%{{[^ ]+}}[m0, m1, n] : memref<?x?x512xf32>) outs(%{{[^ ]+}}[m0, n] add : memref<?x512xf32>)
// ALWAYS:        lnbwd.rowwise @k_rows domain(m0, m1 | n) ins(%{{[^ ]+}}[m0, m1, n] : memref<?x?x512xf32>, %{{[^ ]+}}[m0, n] : memref<?x512xf32>) outs(
// NEVER:         lnbwd.rowwise @k domain(m0, m1 | n) ins(
// AUTO:          lnbwd.rowwise @k domain(m0, m1 | n) ins(
func.func @groups(%x: memref<?x?x512xf32>, %y: memref<?x?x512xf32>, %g: memref<?x512xf32>, %s: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>, %g[m0, n] : memref<?x512xf32>)
      outs(%y[m0, m1, n] : memref<?x?x512xf32>, %s[m0, n] add : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>, %gr: vector<512xf32>):
    %scaled = arith.mulf %xr, %gr : vector<512xf32>
    lnbwd.yield %scaled, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Column sums alone are one half, which row sums that they need are taken out of.
// CHECK-LABEL: func @sums_alone(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xf32>
// ALWAYS:        %[[SUM:.*]] = memref.alloc({{.*}}) {lnbwd.row_scalar} : memref<?xf32>
// ALWAYS:        lnbwd.rowwise @k_statistics domain({{.*}}) ins(%[[X]][m, n] : {{.*}}) outs(%[[SUM]][m] : memref<?xf32>)
// ALWAYS:        lnbwd.rowwise @k_columns domain({{.*}}) ins(%[[X]][m, n] : {{.*}}, %[[SUM]][m] : {{.*}}) outs(
// ALWAYS-NOT:      vector.reduction
// ALWAYS:        memref.dealloc %[[SUM]]
// ALWAYS-NOT:    lnbwd.rowwise
// NEVER:         lnbwd.rowwise @k domain(m | n) ins(
// AUTO:          lnbwd.rowwise @k domain(m | n) ins(
// CHECK:         return
func.func @sums_alone(%x: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[n] add : memref<512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<512xf32>
    %scaled = arith.mulf %xr, %spread : vector<512xf32>
    lnbwd.yield %scaled : vector<512xf32>
  }
  return
}

// -----

// So are those of rows that are too long for a workgroup's registers.
// CHECK-LABEL: func @long_sums_alone(
// AUTO:          lnbwd.rowwise @k_statistics
// AUTO:          lnbwd.rowwise @k_columns
func.func @long_sums_alone(%x: memref<?x1048576xf32>, %s: memref<1048576xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048576xf32>) outs(%s[n] add : memref<1048576xf32>) {
  ^bb0(%xr: vector<1048576xf32>):
    %sum = vector.reduction <add>, %xr : vector<1048576xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1048576xf32>
    %scaled = arith.mulf %xr, %spread : vector<1048576xf32>
    lnbwd.yield %scaled : vector<1048576xf32>
  }
  return
}

// -----

// A cache holds few rows, whose columns are read again from there, unless
// fields are set for a whole program.
// FEW-LABEL:  func @few_rows(
// FEW:          lnbwd.rowwise @k_columns
// FEW:          lnbwd.rowwise @k_rows {{.*}} attributes {independent
// MANY-LABEL: func @few_rows(
// MANY:         lnbwd.rowwise @k domain(m | n) ins(
func.func @few_rows(%x: memref<?x1024xbf16>, %y: memref<?x1024xbf16>, %s: memref<1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>)
      outs(%y[m, n] : memref<?x1024xbf16>, %s[n] add : memref<1024xf32>) {
  ^bb0(%xr: vector<1024xbf16>):
    %wide = arith.extf %xr : vector<1024xbf16> to vector<1024xf32>
    %sum = vector.reduction <add>, %wide : vector<1024xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<1024xf32>
    %scaled = arith.mulf %wide, %spread : vector<1024xf32>
    %narrow = arith.truncf %scaled : vector<1024xf32> to vector<1024xbf16>
    lnbwd.yield %narrow, %wide : vector<1024xbf16>, vector<1024xf32>
  }
  return
}

// -----

// Rows of 32 bits are few with fewer bytes: here 6 MiB, and 8 below.
// FEW-LABEL:  func @few_wide_rows(
// FEW:          lnbwd.rowwise @k_columns
func.func @few_wide_rows(%x: memref<?x6144xf32>, %y: memref<?x6144xf32>, %s: memref<6144xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x6144xf32>)
      outs(%y[m, n] : memref<?x6144xf32>, %s[n] add : memref<6144xf32>) {
  ^bb0(%xr: vector<6144xf32>):
    %sum = vector.reduction <add>, %xr : vector<6144xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<6144xf32>
    %scaled = arith.mulf %xr, %spread : vector<6144xf32>
    lnbwd.yield %scaled, %xr : vector<6144xf32>, vector<6144xf32>
  }
  return
}

// -----

// FEW-LABEL:  func @more_wide_rows(
// FEW:          lnbwd.rowwise @k domain(m | n) ins(
func.func @more_wide_rows(%x: memref<?x8192xf32>, %y: memref<?x8192xf32>, %s: memref<8192xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8192xf32>)
      outs(%y[m, n] : memref<?x8192xf32>, %s[n] add : memref<8192xf32>) {
  ^bb0(%xr: vector<8192xf32>):
    %sum = vector.reduction <add>, %xr : vector<8192xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<8192xf32>
    %scaled = arith.mulf %xr, %spread : vector<8192xf32>
    lnbwd.yield %scaled, %xr : vector<8192xf32>, vector<8192xf32>
  }
  return
}
