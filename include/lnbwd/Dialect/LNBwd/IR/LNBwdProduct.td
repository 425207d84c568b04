//===- LNBwdProduct.td - Products of matrices as kernels ---*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands beside row programs once their products of matrices have been
// taken out of them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_TD

include "lnbwd/Dialect/LNBwd/IR/LNBwdAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def LNBwd_ProductOp : LNBwd_Op<"product", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
                              ["getAsmBlockArgumentNames"]>]> {
  let summary = "A product of two matrices, a kernel of its own";
  let description = [{
    What `lnbwd-split-contractions` takes out of row programs. Of `lhs` A and
    `rhs` B, both dense memrefs, in one of three forms:

    | | A | B | out |
    |---|---|---|---|
    | | `[M, L]` | `[L, J]` | A B, `[M, J]` |
    | `rhs_transposed` | `[M, L]` | `[J, L]` | A B^T, `[M, J]` |
    | `lhs_transposed` | `[M, I]` | `[M, J]` | A^T B, `[I, J]` |

    M is the number of rows of a launch; the other sizes are static. Elements of
    A and B are f16, bf16 or f32, and widened to float32. Each element is summed
    in one order, whatever the device.

    Without an epilogue `out` is f32 and gets the sums. An *epilogue* computes
    what `out` gets instead, element by element, where the sums are still in
    registers. A *prologue* computes, element by element while a tile is loaded,
    what is multiplied instead of what is in memory: of `lhs`, or with
    `lhs_transposed` of `rhs`, whose rows are the launch's. Each is a row
    program's region without row sums, for one row of the result or of the
    operand, that yields one row, `lnbwd.product_yield`. After that row its
    arguments are what it has of `rows` (an epilogue alone), `columns` and
    `scalars`; [row-programs.md](../row-programs.md#around-a-product) has a
    table.

    `operand_names` names A, B, out, the epilogue's operands and the prologue's
    in the launch plan, where a matrix is a column of all its elements.

    `precision` says what a product of two matrices of f32 may round: `exact`,
    nothing but the sums, or `tf32`, both factors to 10 bits of significand
    after the first, which some chips have faster instructions for. On others a
    product with `tf32` is an error: no other kernel rounds so.

    Example:

    ```mlir
    lnbwd.product @linear lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>)
        outs(%y : memref<?x96xf32>) attributes {rhs_transposed}
    ```

    Example (with a bias, rounded):

    ```mlir
    lnbwd.product @linear lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>)
        outs(%y : memref<?x96xbf16>) attributes {rhs_transposed}
        epilogue columns(%b : memref<96xf32>) {
    ^row(%sums: vector<96xf32>, %br: vector<96xf32>):
      %sum = arith.addf %sums, %br : vector<96xf32>
      %yr = arith.truncf %sum : vector<96xf32> to vector<96xbf16>
      lnbwd.product_yield %yr : vector<96xbf16>
    }
    ```

    Example (of rows that are normalised as they are loaded):

    ```mlir
    lnbwd.product @outer lhs(%dy : memref<?x96xf32>) rhs(%x : memref<?x64xf32>)
        outs(%t : memref<96x64xf32>) attributes {lhs_transposed}
        prologue scalars(%mean, %rstd : memref<?xf32>, memref<?xf32>) {
    ^row(%xr: vector<64xf32>, %m: f32, %r: f32):
      %ms = vector.broadcast %m : f32 to vector<64xf32>
      %rs = vector.broadcast %r : f32 to vector<64xf32>
      %moved = arith.subf %xr, %ms : vector<64xf32>
      %xhat = arith.mulf %moved, %rs : vector<64xf32>
      lnbwd.product_yield %xhat : vector<64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$entry,
                       Arg<AnyMemRef, "A", [MemRead]>:$lhs,
                       Arg<AnyMemRef, "B", [MemRead]>:$rhs,
                       Arg<AnyMemRef, "the product", [MemWrite]>:$out,
                       Arg<Variadic<AnyMemRef>, "", [MemRead]>:$epilogue_rows,
                       Arg<Variadic<AnyMemRef>, "", [MemRead]>:$epilogue_columns,
                       Arg<Variadic<AnyMemRef>, "", [MemRead]>:$epilogue_scalars,
                       Arg<Variadic<AnyMemRef>, "", [MemRead]>:$prologue_columns,
                       Arg<Variadic<AnyMemRef>, "", [MemRead]>:$prologue_scalars,
                       UnitAttr:$lhs_transposed,
                       UnitAttr:$rhs_transposed,
                       OptionalAttr<StrArrayAttr>:$operand_names,
                       DefaultValuedAttr<LNBwd_PrecisionAttr,
                                         "::lnbwd::Precision::Exact">:$precision);
  let regions = (region AnyRegion:$epilogue, AnyRegion:$prologue);
  let builders = [
    // A product without an epilogue and without a prologue.
    OpBuilder<(ins "::llvm::StringRef":$entry, "::mlir::Value":$lhs,
                   "::mlir::Value":$rhs, "::mlir::Value":$out,
                   "bool":$lhsTransposed, "bool":$rhsTransposed,
                   "::mlir::ArrayAttr":$operandNames,
                   CArg<"::lnbwd::Precision",
                        "::lnbwd::Precision::Exact">:$precision)>
  ];
  let assemblyFormat = [{
    $entry `lhs` `(` $lhs `:` type($lhs) `)` `rhs` `(` $rhs `:` type($rhs) `)`
    `outs` `(` $out `:` type($out) `)` attr-dict-with-keyword
    (`prologue` (`columns` `(` $prologue_columns^ `:` type($prologue_columns) `)`)?
    (`scalars` `(` $prologue_scalars^ `:` type($prologue_scalars) `)`)?
    $prologue^)?
    (`epilogue` (`rows` `(` $epilogue_rows^ `:` type($epilogue_rows) `)`)?
    (`columns` `(` $epilogue_columns^ `:` type($epilogue_columns) `)`)?
    (`scalars` `(` $epilogue_scalars^ `:` type($epilogue_scalars) `)`)?
    $epilogue^)?
  }];
  let extraClassDeclaration = [{
    /// The sizes of the result's rows and columns, and of what is summed over;
    /// that which is M is dynamic here, even where the types say it.
    struct Sizes {
      int64_t rows, columns, depth;
    };
    Sizes getSizes();
    bool hasEpilogue() { return !getEpilogue().empty(); }
    /// What the epilogue reads beside the sums: rows, columns, scalars.
    ::mlir::OperandRange getEpilogueOperands() {
      return getOperands().slice(3, getEpilogueRows().size() +
                                        getEpilogueColumns().size() +
                                        getEpilogueScalars().size());
    }
    bool hasPrologue() { return !getPrologue().empty(); }
    /// The operand whose rows are the launch's, and which a prologue is of.
    ::mlir::Value getRowOperand() {
      return getLhsTransposed() ? getRhs() : getLhs();
    }
    /// What the prologue reads beside that: columns, scalars.
    ::mlir::OperandRange getPrologueOperands() {
      return getOperands().take_back(getPrologueColumns().size() +
                                     getPrologueScalars().size());
    }
    /// The name of operand `index` in the launch plan.
    std::string getOperandName(unsigned index);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def LNBwd_ProductYieldOp : LNBwd_Op<"product_yield", [
    Pure, Terminator, ReturnLike, HasParent<"ProductOp">]> {
  let summary = "Ends a region of a product with the row that it computes";
  let description = [{
    In an epilogue a row of the product's `outs`, in a prologue one of the
    operand that it is of.

    Example:

    ```mlir
    lnbwd.product_yield %yr : vector<96xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$row);
  let assemblyFormat = "$row `:` type($row) attr-dict";
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_TD
