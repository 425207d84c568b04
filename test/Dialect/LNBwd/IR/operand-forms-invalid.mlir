// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{expected operand_forms that follow from the maps and types, [#lnbwd.operand_form<access = row, rows = all, column_dims = 1, row_length = 8, row_stride = 8>, #lnbwd.operand_form<access = row, rows = all, column_dims = 1, row_length = 8, row_stride = 8>], got []}}
  "lnbwd.rowwise"(%x, %y) <{entry = "k", indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], num_row_dims = 1 : i64, operand_forms = [], operandSegmentSizes = array<i32: 1, 1>, reductions = [#lnbwd.reduction<none>]}> ({
  ^row(%r: vector<8xf32>):
    "lnbwd.yield"(%r) : (vector<8xf32>) -> ()
  }) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}

// -----

// expected-error@+1 {{expected five numbers for each term of an index, got array<i64: 4, 0>}}
#form = #lnbwd.operand_form<access = column, rows = none, column_dims = 1, row_length = 8, row_stride = 8, column_index = [4, 0]>

// -----

// expected-error@+1 {{expected three numbers of dimensions that a split sum keeps, got array<i64: 1, 2>}}
#form = #lnbwd.operand_form<access = column, rows = none, column_dims = 1, row_length = 8, row_stride = 8, split = true, kept = [1, 2]>
