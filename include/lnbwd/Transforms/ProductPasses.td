//===- ProductPasses.td - Products of matrices as kernels --*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes what takes row programs with matrices apart. Their products become
// kernels by lnbwd-convert-products-to-gpu (Conversion/Passes.td).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_PRODUCTPASSES_TD
#define LNBWD_TRANSFORMS_PRODUCTPASSES_TD

include "mlir/Pass/PassBase.td"

def SplitContractionsPass : Pass<"lnbwd-split-contractions"> {
  let summary = "Take products of matrices out of row programs";
  let description = [{
    A row program with matrices or outer sums becomes products, each a kernel of
    its own (`lnbwd.product`), and row programs without either: those that make
    the rows which are multiplied (`<entry>_rows_0`), those that make row sums
    which programs of another row length need (`<entry>_row_sum_0`), and one for
    each row length among the outputs (`<entry>_of_64`, where there are several).
    Between them are allocations of one row, or one number, for each row. An
    outer sum that is no single outer product of float32 is added and rounded by
    a further program over the rows of the matrix.

    This is right and not yet fast: nothing is fused, and rows go to memory and
    back around each product. Expects memrefs and no schedule. Fails on row blocks
    that have more than two dimensions, on outer sums that accumulate, and on
    outputs that are inputs as well.

    Before:

    ```mlir
    lnbwd.rowwise @k rows(%x : memref<?x64xf32>) columns(%b : memref<96xf32>)
        matrices(%w : memref<96x64xf32>) outs rows(%y : memref<?x96xf32>) {
    ^row(%xr: vector<64xf32>, %br: vector<96xf32>, %wm: vector<96x64xf32>):
      %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
      %yr = arith.addf %p, %br : vector<96xf32>
      lnbwd.yield %yr : vector<96xf32>
    }
    ```

    After:

    ```mlir
    %m = lnbwd.row_count %x : memref<?x64xf32>
    %p = memref.alloc(%m) : memref<?x96xf32>
    lnbwd.product @k_matmul_0 lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>)
        outs(%p : memref<?x96xf32>) attributes {rhs_transposed, ...}
    lnbwd.rowwise @k rows(%p : memref<?x96xf32>) columns(%b : memref<96xf32>)
        outs rows(%y : memref<?x96xf32>) {
    ^row(%pr: vector<96xf32>, %br: vector<96xf32>):
      %yr = arith.addf %pr, %br : vector<96xf32>
      lnbwd.yield %yr : vector<96xf32>
    }
    memref.dealloc %p : memref<?x96xf32>
    ```
  }];
  let dependentDialects = ["::lnbwd::LNBwdDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "Row programs split">,
    Statistic<"numProducts", "products", "Products taken out">,
  ];
}

#endif // LNBWD_TRANSFORMS_PRODUCTPASSES_TD
