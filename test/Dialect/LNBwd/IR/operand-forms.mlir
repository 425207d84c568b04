// RUN: lnbwd-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt --mlir-print-op-generic | FileCheck %s

// What each operand is to the kernel, which the custom syntax derives from maps and types.

// CHECK-LABEL: sym_name = "kinds"
// CHECK:         operand_forms = [
// CHECK-SAME:      #lnbwd.operand_form<access = row, rows = all, column_dims = 1, row_length = 512, row_stride = 512>,
// CHECK-SAME:      #lnbwd.operand_form<access = column, rows = none, column_dims = 1, row_length = 512, row_stride = 512>,
// CHECK-SAME:      #lnbwd.operand_form<access = scalar, rows = all, column_dims = 0, row_length = 1, row_stride = 1>,
// CHECK-SAME:      #lnbwd.operand_form<access = scalar, rows = none, column_dims = 0, row_length = 1, row_stride = 1>,
// CHECK-SAME:      #lnbwd.operand_form<access = table, rows = none, column_dims = 1, row_length = 512, row_stride = 512>,
// CHECK-SAME:      #lnbwd.operand_form<access = column, rows = none, column_dims = 1, row_length = 512, row_stride = 512, parts = -1>]
func.func @kinds(%x: memref<?x512xf32>, %g: memref<512xf32>, %t: memref<?xf32>, %c: memref<f32>,
                 %table: memref<9x512xf32>, %s: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n)
      ins(%x[m, n] : memref<?x512xf32>, %g[n] : memref<512xf32>, %t[m] : memref<?xf32>, %c[] : memref<f32>,
          %table[*, n] : memref<9x512xf32>)
      outs(%s[*, n] add : memref<?x512xf32>) {
  ^row(%xr: vector<512xf32>, %gr: vector<512xf32>, %tr: f32, %cr: f32, %v: vector<9x512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// Groups have columns of their own; rows that they share are found within a group.
// CHECK-LABEL: sym_name = "groups"
// CHECK:         operand_forms = [
// CHECK-SAME:      #lnbwd.operand_form<access = row, rows = all, column_dims = 1, row_length = 512, row_stride = 512>,
// CHECK-SAME:      #lnbwd.operand_form<access = row, rows = within_group, column_dims = 1, row_length = 512, row_stride = 512, split = true>,
// CHECK-SAME:      #lnbwd.operand_form<access = group_column, rows = of_group, column_dims = 1, row_length = 512, row_stride = 512>]
func.func @groups(%x: memref<?x?x512xf32>, %p: memref<?x512xf32>, %s: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(b, m | n) ins(%x[b, m, n] : memref<?x?x512xf32>, %p[m, n] : memref<?x512xf32>)
      outs(%s[b, n] add : memref<?x512xf32>) {
  ^row(%xr: vector<512xf32>, %pr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// Rows of a transposed operand, and columns that repeat or are moved, are found by their numbers.
// CHECK-LABEL: sym_name = "indices"
// CHECK:         operand_forms = [
// CHECK-SAME:      #lnbwd.operand_form<access = row, rows = some, column_dims = 1, row_length = 32, row_stride = 32, strided = true, row_index = [1, 0, 1, 0, 0], column_index = [1, 0, 16, 0, 0]>,
// CHECK-SAME:      #lnbwd.operand_form<access = row, rows = some, column_dims = 1, row_length = 32, row_stride = 32, strided = true, row_index = [1, 0, 32, 0, 0], column_index = [1, 0, 1, 8, 32]>,
// CHECK-SAME:      #lnbwd.operand_form<access = row, rows = all, column_dims = 1, row_length = 32, row_stride = 64>]
func.func @indices(%x: memref<32x16xf32>, %r: memref<16x32xf32>, %y: memref<16x32xf32, strided<[64, 1]>>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[n, m] : memref<32x16xf32>, %r[m, n + 8] : memref<16x32xf32>)
      outs(%y[m, n] : memref<16x32xf32, strided<[64, 1]>>) {
  ^row(%xr: vector<32xf32>, %rr: vector<32xf32>):
    %s = arith.addf %xr, %rr : vector<32xf32>
    lnbwd.yield %s : vector<32xf32>
  }
  return
}

// A program that is given parts of sums has as many of each row.
// CHECK-LABEL: sym_name = "parts"
// CHECK:         #lnbwd.operand_form<access = column, rows = none, column_dims = 1, row_length = 4, row_stride = 4, split = true, kept = [1, 2, 3], column_index = [8, 0, 1, 0, 0]>,
// CHECK-SAME:    #lnbwd.operand_form<access = scalar, rows = all, column_dims = 0, row_length = 1, row_stride = 1, parts = 3>,
func.func @parts(%x: memref<?x4x8xf32>, %c: memref<4xf32>, %p: memref<?x3xf32>) {
  lnbwd.rowwise @k domain(m | c, s)
      ins(%x[m, c, s] : memref<?x4x8xf32>, %c[c] : memref<4xf32>, %p[m, *] : memref<?x3xf32>)
      outs(%x[m, c, s] : memref<?x4x8xf32>) {
  ^row(%xr: vector<32xf32>, %cr: vector<32xf32>, %pr: f32):
    %s = arith.addf %xr, %cr : vector<32xf32>
    lnbwd.yield %s : vector<32xf32>
  }
  return
}
