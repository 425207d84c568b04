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

include "lnbwd/Target/PassOptions.td"
include "mlir/Pass/PassBase.td"

def SplitContractionsPass : Pass<"lnbwd-split-contractions"> {
  let summary = "Take products of matrices out of row programs";
  let description = [{
    A row program with matrices or outer sums becomes products, each a kernel of
    its own (`lnbwd.product`), and row programs without either: those that make
    the rows which are multiplied (`<entry>_rows_0`), those that make row sums
    which programs of another row length need (`<entry>_row_sum_0`), and one for
    each row length among the outputs (`<entry>_of_64`, where there are
    several). A program that makes rows writes the row scalars among the outputs
    that it has computed for them, statistics say. Between the programs are
    allocations of one row, or one number, for each row. An outer sum that is no single outer product of float32 is added and
    rounded by a further program over the rows of the matrix.

    Rows go to memory and back around each product; lnbwd-fuse-products after it
    saves what of that it can. With `float32-products` = `tf32` products of two
    matrices of float32 get that `precision`: their factors may be rounded to 10
    bits of significand after the first. Expects memrefs and no schedule. Fails on row
    blocks that have more than two dimensions, on outer sums that accumulate,
    and on outputs that are inputs as well.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %b[n1] : memref<96xf32>,
        %w[n1, n0] : memref<96x64xf32>) outs(%y[m, n1] : memref<?x96xf32>) {
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
    lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>, %b[n] : memref<96xf32>)
        outs(%y[m, n] : memref<?x96xf32>) {
    ^row(%pr: vector<96xf32>, %br: vector<96xf32>):
      %yr = arith.addf %pr, %br : vector<96xf32>
      lnbwd.yield %yr : vector<96xf32>
    }
    memref.dealloc %p : memref<?x96xf32>
    ```
  }];
  let options = [
    Option<"float32Products", "float32-products", "std::string",
           /*default=*/"\"exact\"",
           "How two matrices of float32 are multiplied: exact or tf32">,
  ];
  let dependentDialects = ["::lnbwd::LNBwdDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "Row programs split">,
    Statistic<"numProducts", "products", "Products taken out">,
  ];
}

def FuseProductsPass : Pass<"lnbwd-fuse-products"> {
  let summary = "Make row programs around products their epilogues and prologues";
  let description = [{
    A row program that computes each of its elements from that element of a
    product, and from what else is there before the product, becomes the
    product's epilogue (`lnbwd.product`): the product's result, of float32, does
    not go to memory and back. A bias is such a program, a cast, and dx of
    LayerNorm and a linear layer where the row sums are known before
    (docs/layer-norm-linear.md).

    It fits if the product's result is a buffer that was allocated for it and
    that this program alone reads, if it has one output, a dense row block, and
    no row sums, and if neither matrix is written between the two. The product
    is then in the program's place, and has its `entry` and names.

    An elementwise program that makes what a product reads of the launch's rows
    (`lhs`, or with `lhs_transposed` `rhs`) becomes the product's prologue: the
    rows that it makes do not go to memory and back, but each tile makes its part
    of them again. It fits if the product alone reads the buffer, and if the
    program has one row block, of the type of what it makes, one row block as
    its output, and nothing that is written between the two.

    If it has row sums it is taken apart first: a program of its own
    (`<entry>_statistics`) writes the numbers of each row that the elements need,
    in allocations, and the row scalars among the outputs, of which there may be
    some; the rest reads these numbers and is elementwise. It reads the rows once
    more than the program did, and therefore nothing is taken apart but for a
    prologue.

    `epilogues` says when: with `auto` where it is expected to be faster, which
    is on AMD's chips, and on NVIDIA's for 16-bit rows of whole blocks of 16
    bytes; with `always` a program that reads a product and does not fit is an
    error; with `never` there are none. `prologues` says the same of prologues:
    with `auto` on AMD's chips, but RDNA 3's, which have too few registers for
    them, where the operand is read by at most two rows or columns of tiles, or
    by one if there are row sums; with `always` an operand that does not fit is
    an error.

    Before:

    ```mlir
    lnbwd.product @k_matmul_0 lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>)
        outs(%p : memref<?x96xf32>) attributes {rhs_transposed}
    lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>, %b[n] : memref<96xf32>)
        outs(%y[m, n] : memref<?x96xbf16>) {
    ^row(%pr: vector<96xf32>, %br: vector<96xf32>):
      %sum = arith.addf %pr, %br : vector<96xf32>
      %yr = arith.truncf %sum : vector<96xf32> to vector<96xbf16>
      lnbwd.yield %yr : vector<96xbf16>
    }
    ```

    After:

    ```mlir
    lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>)
        outs(%y : memref<?x96xbf16>) attributes {rhs_transposed}
        epilogue columns(%b : memref<96xf32>) {
    ^row(%pr: vector<96xf32>, %br: vector<96xf32>):
      %sum = arith.addf %pr, %br : vector<96xf32>
      %yr = arith.truncf %sum : vector<96xf32> to vector<96xbf16>
      lnbwd.product_yield %yr : vector<96xbf16>
    }
    ```

    Before, of a sum over the rows:

    ```mlir
    lnbwd.rowwise @k_rows_0 domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %rstd[m] : memref<?xf32>)
        outs(%xhat[m, n] : memref<?x64xf32>) {
    ^row(%xr: vector<64xf32>, %r: f32):
      %spread = vector.broadcast %r : f32 to vector<64xf32>
      %scaled = arith.mulf %xr, %spread : vector<64xf32>
      lnbwd.yield %scaled : vector<64xf32>
    }
    lnbwd.product @k lhs(%dy : memref<?x96xf32>) rhs(%xhat : memref<?x64xf32>)
        outs(%t : memref<96x64xf32>) attributes {lhs_transposed}
    ```

    After:

    ```mlir
    lnbwd.product @k lhs(%dy : memref<?x96xf32>) rhs(%x : memref<?x64xf32>)
        outs(%t : memref<96x64xf32>) attributes {lhs_transposed}
        prologue scalars(%rstd : memref<?xf32>) {
    ^row(%xr: vector<64xf32>, %r: f32):
      %spread = vector.broadcast %r : f32 to vector<64xf32>
      %scaled = arith.mulf %xr, %spread : vector<64xf32>
      lnbwd.product_yield %scaled : vector<64xf32>
    }
    ```
  }];
  let options = [
    ChipOption,
    Option<"epilogues", "epilogues", "std::string", /*default=*/"\"auto\"",
           "auto (where it is expected to be faster), always or never">,
    Option<"prologues", "prologues", "std::string", /*default=*/"\"auto\"",
           "auto (where it is expected to be faster), always or never">,
    ProductRowsOption,
  ];
  let dependentDialects = ["::lnbwd::LNBwdDialect",
                           "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numEpilogues", "epilogues", "Row programs that products took">,
    Statistic<"numPrologues", "prologues",
              "Row programs that products do to an operand">,
    Statistic<"numStatistics", "statistics",
              "Of these, programs that were taken apart at their row sums">,
  ];
}

def SelectTilingPass : Pass<"lnbwd-select-tiling"> {
  let summary = "Choose tiles for products of matrices";
  let description = [{
    Gives each `lnbwd.product` that has none, and whose types `chip` has a
    matrix instruction for, tiles of workgroups, waves and instructions:
    `tiling`. Two matrices of f16 or of bf16 are multiplied as they are; other
    types as float32, which AMD's CDNA chips have an instruction for that rounds
    nothing. What there is no instruction for is left without, and becomes a
    kernel of fused multiply-adds; but a product with the precision `tf32`, which
    there is no instruction for, is an error.

    Tiles are of 128 x 128 elements, or of 64 where a size has no more or where
    there would be fewer workgroups than compute units; `rows` is how many rows
    M they are chosen for, 4096 where it is 0. A sum over the rows
    (`lhs_transposed`), whose result may be small, is taken apart into as many
    as 16 parts, `splits`, until there is a workgroup for each compute unit;
    another sum only where `rows` is given, and where each part has 4 tiles or
    more. Their number depends on nothing but the sizes, `rows` and the chip.

    Before:

    ```mlir
    lnbwd.product @k lhs(%x : memref<?x768xbf16>) rhs(%w : memref<2304x768xbf16>)
        outs(%y : memref<?x2304xf32>) attributes {rhs_transposed}
    ```

    After, for a chip with waves of 64 lanes:

    ```mlir
    lnbwd.product @k lhs(%x : memref<?x768xbf16>) rhs(%w : memref<2304x768xbf16>)
        outs(%y : memref<?x2304xf32>) attributes {rhs_transposed,
          tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64,
            instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
    ```
  }];
  let options = [
    ChipOption,
    ProductRowsOption,
  ];
  let dependentDialects = ["::lnbwd::LNBwdDialect"];
  let statistics = [
    Statistic<"numTiled", "tiled", "Products that tiles were chosen for">,
  ];
}

#endif // LNBWD_TRANSFORMS_PRODUCTPASSES_TD
