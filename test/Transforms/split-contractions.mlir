// RUN: lnbwd-opt %s --lnbwd-split-contractions --split-input-file | FileCheck %s

// An operand that is there is multiplied as it is, in its type; what has to be
// done to whole rows of the product is a row program.
// CHECK-LABEL: func @linear(
// CHECK:         %[[M:.*]] = lnbwd.row_count %[[X:.*]] : memref<?x64xbf16>
// CHECK:         %[[P:.*]] = memref.alloc(%[[M]]) : memref<?x96xf32>
// CHECK:         lnbwd.rowwise @k_matmul_0 {{.*}} ins(%[[X]][m, n0] : memref<?x64xbf16>, %{{.*}}[n1, n0] : memref<96x64xbf16>)
// CHECK-SAME:      outs(%[[P]][m, n1] : memref<?x96xf32>) attributes {operand_names = ["x", "w", "matmul_0"]}
// CHECK:           %[[V:.*]] = lnbwd.linear %{{.*}} : vector<64xbf16>, vector<96x64xbf16>
// CHECK-NEXT:      lnbwd.yield %[[V]]
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[P]][m, n] : memref<?x96xf32>, %{{[^ ]+}}[n] : memref<96xf32>)
// CHECK:         memref.dealloc %[[P]]
func.func @linear(%x: memref<?x64xbf16>, %b: memref<96xf32>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %b[n1] : memref<96xf32>, %w[n1, n0] : memref<96x64xbf16>)
      outs(%y[m, n1] : memref<?x96xf32>) attributes {operand_names = ["x", "b", "w", "y"]} {
  ^row(%xr: vector<64xbf16>, %br: vector<96xf32>, %wm: vector<96x64xbf16>):
    %wide = arith.extf %xr : vector<64xbf16> to vector<64xf32>
    %p = lnbwd.linear %wide, %wm : vector<64xf32>, vector<96x64xbf16>
    %sum = vector.reduction <add>, %p : vector<96xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<96xf32>
    %s = arith.addf %p, %spread : vector<96xf32>
    %yr = arith.addf %s, %br : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}

// -----

// A product reads rows: a column is written as such first.
// CHECK-LABEL: func @columns(
// CHECK:         lnbwd.rowwise @w_rows_0 {{.*}} ins(%[[B:.*]][n] : memref<96xf32>) outs(%[[R:.*]][m, n] : memref<?x96xf32>)
// CHECK:         lnbwd.rowwise @w_matmul_0 {{.*}} ins(%[[R]][m, n0] : memref<?x96xf32>, %[[X:.*]][m, n1] : memref<?x64xf32>)
// CHECK:         lnbwd.rowwise @y_rows_0 {{.*}} ins(%[[B]][n] : memref<96xf32>) outs(%[[R:.*]][m, n] : memref<?x96xf32>)
// CHECK:         lnbwd.rowwise @y domain{{.*}}%[[R]][m, n1] : memref<?x96xf32>
func.func @columns(%x: memref<?x64xf32>, %b: memref<96xf32>, %w: memref<64x96xf32>, %dw: memref<96x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @w domain(m | n0, n1) ins(%x[m, n1] : memref<?x64xf32>, %b[n0] : memref<96xf32>) outs(%dw[n0, n1] add : memref<96x64xf32>)
      attributes {operand_names = ["x", "b", "dw"]} {
  ^row(%xr: vector<64xf32>, %br: vector<96xf32>):
    %o = vector.outerproduct %br, %xr : vector<96xf32>, vector<64xf32>
    lnbwd.yield %o : vector<96x64xf32>
  }
  lnbwd.rowwise @y domain(m | n0, n1) ins(%x[m, n1] : memref<?x64xf32>, %b[n0] : memref<96xf32>, %w[n1, n0] : memref<64x96xf32>)
      outs(%y[m, n1] : memref<?x64xf32>) attributes {operand_names = ["x", "b", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %br: vector<96xf32>, %wm: vector<64x96xf32>):
    %p = lnbwd.linear %br, %wm : vector<96xf32>, vector<64x96xf32>
    %s = arith.addf %p, %xr : vector<64xf32>
    lnbwd.yield %s : vector<64xf32>
  }
  return
}

// -----

// A row that is computed first goes to memory, in its type; an outer sum of
// float32 to its output.
// CHECK-LABEL: func @computed(
// CHECK:         lnbwd.rowwise @k_rows_0 {{.*}} outs(%[[R:.*]][m, n] : memref<?x64xf32>)
// CHECK:         lnbwd.rowwise @k_matmul_0 {{.*}} ins(%{{.*}} : memref<?x96xf32>, %[[R]][{{.*}}] : memref<?x64xf32>)
// CHECK-SAME:      outs(%{{.*}} add : memref<96x64xf32>)
// CHECK:           vector.outerproduct
// CHECK-NOT:     lnbwd.rowwise
func.func @computed(%dy: memref<?x96xf32>, %x: memref<?x64xf32>, %dw: memref<96x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %x[m, n1] : memref<?x64xf32>) outs(%dw[n0, n1] add : memref<96x64xf32>)
      attributes {operand_names = ["dy", "x", "dw"]} {
  ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>):
    %z = arith.addf %xr, %xr : vector<64xf32>
    %o = vector.outerproduct %dyr, %z : vector<96xf32>, vector<64xf32>
    lnbwd.yield %o : vector<96x64xf32>
  }
  return
}

// -----

// Several outer products, or rounding, take a program over the matrix' rows.
// CHECK-LABEL: func @several(
// CHECK:         lnbwd.rowwise @k_matmul_0 {{.*}} outs(%[[A:[a-z0-9_]+]][{{.*}}] add :
// CHECK:           arith.extf
// CHECK-NEXT:      vector.outerproduct %{{[^,]*}}, %{{[^,]*}} :
// CHECK:         lnbwd.rowwise @k_matmul_1 {{.*}} outs(%[[B:[a-z0-9_]+]][{{.*}}] add :
// CHECK:         lnbwd.rowwise @k_sum_0 domain(m | n) ins(%[[A]][m, n] : memref<96x64xf32>, %[[B]][m, n] : memref<96x64xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m, n] : memref<96x64xbf16>)
// CHECK-SAME:      own_rows
// CHECK:           arith.addf
// CHECK:           arith.truncf
func.func @several(%a: memref<?x96xbf16>, %b: memref<?x64xf32>, %c: memref<?x96xf32>, %dw: memref<96x64xbf16>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%a[m, n0] : memref<?x96xbf16>, %b[m, n1] : memref<?x64xf32>, %c[m, n0] : memref<?x96xf32>)
      outs(%dw[n0, n1] add : memref<96x64xbf16>) attributes {operand_names = ["a", "b", "c", "dw"]} {
  ^row(%ar: vector<96xbf16>, %br: vector<64xf32>, %cr: vector<96xf32>):
    %wide = arith.extf %ar : vector<96xbf16> to vector<96xf32>
    %p = vector.outerproduct %cr, %br : vector<96xf32>, vector<64xf32>
    %s = vector.outerproduct %wide, %br, %p {kind = #vector.kind<add>} : vector<96xf32>, vector<64xf32>
    lnbwd.yield %s : vector<96x64xf32>
  }
  return
}

// -----

// A row sum of another length is a number for each row, from a program of its own.
// CHECK-LABEL: func @two_lengths(
// CHECK:         %[[S:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar} : memref<?xf32>
// CHECK:         lnbwd.rowwise @k_row_sum_0 domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<?x96xf32>) outs(%[[S]][m] : memref<?xf32>)
// CHECK:         lnbwd.rowwise @k_of_64 {{.*}} %[[S]][m] : memref<?xf32>, {{.*}} outs(%{{[^ ]+}}[m, n1] : memref<?x64xf32>)
// CHECK:         lnbwd.rowwise @k_of_96 {{.*}} outs(%{{[^ ]+}}[n] add : memref<96xf32>)
func.func @two_lengths(%dy: memref<?x96xf32>, %w: memref<96x64xf32>, %dx: memref<?x64xf32>, %db: memref<96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %w[n0, n1] : memref<96x64xf32>)
      outs(%dx[m, n1] : memref<?x64xf32>, %db[n0] add : memref<96xf32>)
      attributes {operand_names = ["dy", "w", "dx", "db"]} {
  ^row(%dyr: vector<96xf32>, %wm: vector<96x64xf32>):
    %s = vector.reduction <add>, %dyr : vector<96xf32> into f32
    %ss = vector.broadcast %s : f32 to vector<64xf32>
    %dz = lnbwd.linear %dyr, %wm transposed : vector<96xf32>, vector<96x64xf32>
    %d = arith.addf %dz, %ss : vector<64xf32>
    lnbwd.yield %d, %dyr : vector<64xf32>, vector<96xf32>
  }
  return
}

// -----

// What the program of the rows has of the row scalars among the outputs, it
// writes: nothing reads the rows again for them. What is made of them alone is
// no more work; a row sum that the rows do not need is.
// CHECK-LABEL: func @statistics(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x64xf32>, %{{.*}}: memref<96x64xf32>, %[[Y:[a-z0-9]+]]: memref<?x96xf32>, %[[A:[a-z0-9]+]]: memref<?xf32>, %[[B:[a-z0-9]+]]: memref<?xf32>, %[[C:[a-z0-9]+]]: memref<?xf32>
// CHECK:         lnbwd.rowwise @k_rows_0 domain(m | n) ins(%[[X]][m, n] : {{[^,]*}}) outs(%[[R:.*]][m, n] : memref<?x64xf32>, %[[A]][m] : memref<?xf32>, %[[B]][m] : memref<?xf32>)
// CHECK:           %[[SUM:.*]] = vector.reduction <add>
// CHECK-NOT:       vector.reduction
// CHECK:           %[[HALF:.*]] = arith.mulf %[[SUM]]
// CHECK:           lnbwd.yield %{{.*}}, %[[SUM]], %[[HALF]]
// CHECK:         lnbwd.rowwise @k_of_96 {{.*}} ins(%[[R]][m, {{.*}} outs(%[[Y]][m, n1]
// CHECK:           lnbwd.linear
// CHECK:         lnbwd.rowwise @k_of_64 domain({{.*}}) ins(%[[X]][m, n] : {{[^,]*}}) outs(%[[C]][m] : memref<?xf32>)
func.func @statistics(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>, %a: memref<?xf32>,
                      %b: memref<?xf32>, %c: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>, %a[m] : memref<?xf32>, %b[m] : memref<?xf32>, %c[m] : memref<?xf32>)
      attributes {operand_names = ["x", "w", "y", "a", "b", "c"]} {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %over = arith.constant 5.000000e-01 : f32
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<64xf32>
    %z = arith.subf %xr, %spread : vector<64xf32>
    %p = lnbwd.linear %z, %wm : vector<64xf32>, vector<96x64xf32>
    %yr = arith.addf %p, %p : vector<96xf32>
    %half = arith.mulf %sum, %over : f32
    %squares = arith.mulf %xr, %xr : vector<64xf32>
    %square = vector.reduction <add>, %squares : vector<64xf32> into f32
    lnbwd.yield %yr, %sum, %half, %square : vector<96xf32>, f32, f32, f32
  }
  return
}

// -----

// With no row sum left to write, there is one program of the product's rows,
// which has the name.
// CHECK-LABEL: func @all_statistics(
// CHECK:         lnbwd.rowwise @k_rows_0 {{.*}}[m] :
// CHECK:         lnbwd.rowwise @k domain
// CHECK:           lnbwd.linear
// CHECK-NOT:     lnbwd.rowwise
func.func @all_statistics(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>, %a: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>, %a[m] : memref<?xf32>)
      attributes {operand_names = ["x", "w", "y", "a"]} {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<64xf32>
    %z = arith.subf %xr, %spread : vector<64xf32>
    %p = lnbwd.linear %z, %wm : vector<64xf32>, vector<96x64xf32>
    %yr = arith.addf %p, %p : vector<96xf32>
    lnbwd.yield %yr, %sum : vector<96xf32>, f32
  }
  return
}
