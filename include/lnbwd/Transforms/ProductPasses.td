//===- ProductPasses.td - Products of matrices as kernels --*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the passes between row programs with matrices and kernels.
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

def ProductToGPUPass
    : Pass<"lnbwd-convert-products-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn products of matrices into kernels";
  let description = [{
    Each `lnbwd.product` becomes a kernel in the `gpu.module` of its function, and
    a `gpu.launch_func` in its place. A workgroup of 256 work-items makes a tile
    of 64 x 64 elements, 4 x 4 to each, in float32 with fused multiply-adds: 16
    columns of A and rows of B at a time go to workgroup memory, widened, and
    what lies beyond a matrix counts as 0. So any size is right, on any chip; no
    matrix instruction is used yet. Each element is summed in the order of the
    columns of A.

    Before:

    ```mlir
    lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>)
        outs(%y : memref<?x96xf32>) attributes {rhs_transposed}
    ```

    After, in the function:

    ```mlir
    gpu.launch_func @f_kernels::@k blocks in (%workgroups, %c2, %c1)
        threads in (%c256, %c1, %c1) args(...)
    ```
  }];
  let dependentDialects = [
    "::lnbwd::LNBwdDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels made">];
}

#endif // LNBWD_TRANSFORMS_PRODUCTPASSES_TD
