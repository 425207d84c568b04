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
include "mlir/Interfaces/SideEffectInterfaces.td"

def LNBwd_ProductOp : LNBwd_Op<"product"> {
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
    in one order, whatever the device, and rounded to the type of `out`.

    An elementwise row program that reads `out`, a buffer that was allocated for
    it alone, may become the product's
    [epilogue](../row-programs.md#after-a-product): the kernel then does what
    the program does, where the sums are still in registers.

    With `parts`, A^T B is taken apart: `out` is f32, `[parts, I, J]`, the sums
    over as many neighbouring rows each, whose sum is the product.

    `operand_names` names A, B and out in the launch plan, where a matrix is a
    column of all its elements.

    Example:

    ```mlir
    lnbwd.product @linear lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>)
        outs(%y : memref<?x96xf32>) attributes {rhs_transposed}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$entry,
                       Arg<AnyMemRef, "A", [MemRead]>:$lhs,
                       Arg<AnyMemRef, "B", [MemRead]>:$rhs,
                       Arg<AnyMemRef, "the product", [MemWrite]>:$out,
                       UnitAttr:$lhs_transposed,
                       UnitAttr:$rhs_transposed,
                       DefaultValuedAttr<I64Attr, "1">:$parts,
                       OptionalAttr<StrArrayAttr>:$operand_names);
  let assemblyFormat = [{
    $entry `lhs` `(` $lhs `:` type($lhs) `)` `rhs` `(` $rhs `:` type($rhs) `)`
    `outs` `(` $out `:` type($out) `)` attr-dict-with-keyword
  }];
  let extraClassDeclaration = [{
    /// Rows and columns of the tile of the result that a workgroup makes.
    static constexpr int64_t tileSize = 64;
    /// The sizes of the result's rows and columns, and of what is summed over;
    /// that which is M is dynamic here, even where the types say it.
    struct Sizes {
      int64_t rows, columns, depth;
    };
    Sizes getSizes();
    /// The name of operand `index` in the launch plan.
    std::string getOperandName(unsigned index);
  }];
  let hasVerifier = 1;
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_TD
