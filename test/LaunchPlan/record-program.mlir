// RUN: lnbwd-opt %s --lnbwd-record-program --split-input-file -o %t.mlir
// RUN: sed 's/\\22/"/g' %t.mlir | FileCheck %s
// RUN: lnbwd-opt %t.mlir --lnbwd-record-program --split-input-file | diff %t.mlir -

// Every kind of operand, values by their numbers, and what an operation's name
// and type leave open.
// CHECK-LABEL: func.func @kinds(
// CHECK-SAME:    lnbwd.operation = "[{"accumulate":true,
// CHECK-SAME:    "inputs":[{"argument":0,"kind":"row_block","type":"8xbf16"},{"argument":1,"kind":"row_block","type":"8xi8"},
// CHECK-SAME:    {"argument":2,"kind":"column","type":"8xf32"},{"argument":3,"kind":"group_column","type":"8xf32"},
// CHECK-SAME:    {"argument":4,"kind":"row_scalar","type":"f32"}],"name":"k",
// CHECK-SAME:    "operations":{{\[\[}}"arith.constant","8xi8",{"value":0}],["arith.constant","8xf32",{"value":"-inf"}],
// CHECK-SAME:    ["arith.extf","8xf32",0],["arith.cmpi","8xi1",1,5,{"predicate":"ne"}],["arith.select","8xf32",8,7,6],
// CHECK-SAME:    ["vector.reduction","f32",9,{"kind":"maximumf"}],["math.exp","8xf32",3,{"approximate":true}],
// CHECK-SAME:    ["vector.fma","8xf32",2,11,7],["arith.addf","f32",10,4],["arith.truncf","8xbf16",12]],
// CHECK-SAME:    "outputs":[{"argument":5,"kind":"row_block","type":"8xbf16","value":14},
// CHECK-SAME:    {"argument":6,"kind":"row_scalar","type":"f32","value":13},
// CHECK-SAME:    {"argument":7,"kind":"column","type":"8xf32","value":12},
// CHECK-SAME:    {"argument":8,"kind":"group_column","type":"8xf32","value":11}]}]"
func.func @kinds(%x: memref<?x?x8xbf16>, %m: memref<?x?x8xi8>, %c: memref<8xf32>, %g: memref<?x8xf32>, %s: memref<?x?xf32>,
                 %y: memref<?x?x8xbf16>, %t: memref<?x?xf32>, %cs: memref<8xf32>, %gs: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x8xbf16>, %m[m0, m1, n] : memref<?x?x8xi8>, %c[n] : memref<8xf32>,
      %g[m0, n] : memref<?x8xf32>, %s[m0, m1] : memref<?x?xf32>)
      outs(%y[m0, m1, n] : memref<?x?x8xbf16>, %t[m0, m1] : memref<?x?xf32>, %cs[n] add : memref<8xf32>,
      %gs[m0, n] add : memref<?x8xf32>) attributes {accumulate} {
  ^row(%xr: vector<8xbf16>, %mr: vector<8xi8>, %cr: vector<8xf32>, %gr: vector<8xf32>, %sr: f32):
    %zero = arith.constant dense<0> : vector<8xi8>
    %none = arith.constant dense<0xFF800000> : vector<8xf32>
    %wide = arith.extf %xr : vector<8xbf16> to vector<8xf32>
    %tile = arith.cmpi ne, %mr, %zero : vector<8xi8>
    %chosen = arith.select %tile, %wide, %none : vector<8xi1>, vector<8xf32>
    %largest = vector.reduction <maximumf>, %chosen : vector<8xf32> into f32
    %e = math.exp %gr fastmath<afn> : vector<8xf32>
    %f = vector.fma %cr, %e, %wide : vector<8xf32>
    %u = arith.addf %largest, %sr : f32
    %o = arith.truncf %f : vector<8xf32> to vector<8xbf16>
    lnbwd.yield %o, %u, %f, %e : vector<8xbf16>, f32, vector<8xf32>, vector<8xf32>
  }
  return
}

// -----

// An allocation is a buffer, which the next program reads; a matrix and an outer
// sum have two sizes.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    {"argument":1,"kind":"column","type":"6x8xf32"}],"name":"first","operations":{{\[\[}}"lnbwd.linear","6xf32",0,1]],
// CHECK-SAME:    "outputs":[{"buffer":0,"kind":"row_block","type":"6xf32","value":2}]},
// CHECK-SAME:    {"inputs":[{"buffer":0,"kind":"row_block","type":"6xf32"},{"argument":0,"kind":"row_block","type":"8xf32"}],
// CHECK-SAME:    "name":"second","operations":{{\[\[}}"vector.outerproduct","6x8xf32",0,1]],
// CHECK-SAME:    "outputs":[{"argument":2,"kind":"column","type":"6x8xf32","value":2}]}]"
func.func @chain(%x: memref<4x8xf32>, %w: memref<6x8xf32>, %dw: memref<6x8xf32>) {
  %h = memref.alloc() : memref<4x6xf32>
  lnbwd.rowwise @first domain(m | n0, n1) ins(%x[m, n0] : memref<4x8xf32>, %w[n1, n0] : memref<6x8xf32>) outs(%h[m, n1] : memref<4x6xf32>) {
  ^row(%xr: vector<8xf32>, %wm: vector<6x8xf32>):
    %p = lnbwd.linear %xr, %wm : vector<8xf32>, vector<6x8xf32>
    lnbwd.yield %p : vector<6xf32>
  }
  lnbwd.rowwise @second domain(m | n0, n1) ins(%h[m, n0] : memref<4x6xf32>, %x[m, n1] : memref<4x8xf32>) outs(%dw[n0, n1] add : memref<6x8xf32>) {
  ^row(%hr: vector<6xf32>, %xr: vector<8xf32>):
    %o = vector.outerproduct %hr, %xr : vector<6xf32>, vector<8xf32>
    lnbwd.yield %o : vector<6x8xf32>
  }
  memref.dealloc %h : memref<4x6xf32>
  return
}

// -----

// Partial sums are no result.
// CHECK-LABEL: func.func @partial(
// CHECK-SAME:    lnbwd.operation = "[{"unsupported":"partial sums"}]"
func.func @partial(%x: memref<?x8xf32>, %s: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%s[*, n] add : memref<?x8xf32>) {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

// -----

// Who names an operation has a formula; other functions have no program.
// CHECK-LABEL: func.func @named(
// CHECK-NOT:     lnbwd.operation = "
func.func @named(%x: memref<?x8xf32>, %y: memref<?x8xf32>)
    attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm", epsilon = 1.0e-5 : f64>} {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}
func.func private @declared(%x: memref<?x8xf32>)
func.func @nothing(%x: memref<?x8xf32>) {
  return
}

// -----

// Where an operand that lacks dimensions has its elements.
// CHECK-LABEL: func.func @places(
// CHECK-SAME:    {"argument":1,"column":{{.*}}4,0,1{{.*}},"kind":"column","row":{{.*}}1,8,2{{.*}},"row_length":16,"type":"8xf32"}
func.func @places(%x: memref<?x8x2x4xf32>, %g: memref<8x2xf32>) {
  lnbwd.rowwise @k domain(b, g | c, s) ins(%x[b, g, c, s] : memref<?x8x2x4xf32>, %g[g, c] : memref<8x2xf32>)
      outs(%x[b, g, c, s] : memref<?x8x2x4xf32>) {
  ^row(%xr: vector<8xf32>, %gr: vector<8xf32>):
    %y = arith.mulf %xr, %gr : vector<8xf32>
    lnbwd.yield %y : vector<8xf32>
  }
  return
}

// -----

// A table, and the row that an index says.
// CHECK-LABEL: func.func @table(
// CHECK-SAME:    {"argument":1,"kind":"column","type":"50x8xf32"}],"name":"k","operations":{{\[\[}}"lnbwd.gather","8xf32",1,0]],
func.func @table(%i: memref<?xi64>, %t: memref<50x8xf32>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%i[m] : memref<?xi64>, %t[*, n] : memref<50x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%ir: i64, %tr: vector<50x8xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<50x8xf32>, i64
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

// Heads in another order, and a slice of a table: from the first element to the
// last.
// CHECK-LABEL: func.func @strided(
// CHECK-SAME:    {"argument":0,"kind":"column","row":{{.*}}1,3,40{{.*}}3,5,8{{.*}}15,0,120{{.*}},"row_length":240,"type":"8xf32"}
// CHECK-SAME:    {"argument":1,"column":{{.*}}1,0,3{{.*}},"kind":"column","row":{{.*}}3,5,100{{.*}},"row_length":422,"type":"8xf32"}
func.func @strided(%x: memref<2x3x5x8xf32>, %t: memref<5x8xf32, strided<[100, 3]>>, %y: memref<2x5x3x8xf32>) {
  lnbwd.rowwise @k domain(b, t, h | d)
      ins(%x[b, h, t, d] : memref<2x3x5x8xf32>, %t[t, d] : memref<5x8xf32, strided<[100, 3]>>)
      outs(%y[b, t, h, d] : memref<2x5x3x8xf32>) {
  ^row(%xr: vector<8xf32>, %tr: vector<8xf32>):
    %z = arith.mulf %xr, %tr : vector<8xf32>
    lnbwd.yield %z : vector<8xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @maxima(
// CHECK-SAME:    "outputs":[{"argument":1,"kind":"column","maximum":true,"type":"8xf32","value":0}]}]"
func.func @maxima(%x: memref<?x8xf32>, %m: memref<8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%m[n] max : memref<8xf32>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r : vector<8xf32>
  }
  return
}

// -----

// It says which of the sums a row belongs to, and is not written row by row.
// CHECK-LABEL: func.func @last(
// CHECK-SAME:    "outputs":[{"argument":1,"kind":"column","row":{{\[\[}}1,4,1,0,0]],"row_length":4,"sum":true,"type":"f32","value":1}]}]"
func.func @last(%x: memref<?x4x8xf32>, %s: memref<4xf32>) {
  lnbwd.rowwise @last domain(b, t | n) ins(%x[b, t, n] : memref<?x4x8xf32>) outs(%s[t] add : memref<4xf32>) {
  ^bb0(%xr: vector<8xf32>):
    %r = vector.reduction <add>, %xr : vector<8xf32> into f32
    lnbwd.yield %r : f32
  }
  return
}
