//===- LNBwdDialect.td - The lnbwd dialect -----------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the dialect itself and the base classes of its operations and
// attributes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def LNBwd_Dialect : Dialect {
  let name = "lnbwd";
  let cppNamespace = "::lnbwd";
  let summary = "LayerNorm backward, from the named operation to a scheduled "
                "row program";
  let description = [{
    The dialect has two levels.

    *Named operations* (`lnbwd.layer_norm_bwd`) are what a user writes: tensors
    or memrefs, with optional operands, and attributes for what is no operand.

    A *row program* (`lnbwd.rowwise`) is what every named operation becomes: one
    structured operation whose region is straight-line SSA over a single row, in
    upstream `arith`, `math` and `vector` operations. All passes work on row
    programs, so that a new normalisation needs a new body and no new lowering.

    Attributes of other operations that begin with `lnbwd.` are this dialect's.
    They are verified wherever they stand; one with an unknown name is an error.
    The lowerings set them. A kind or row rank of an argument that was written by
    hand and is not that of the operand is an error there: a launcher goes by it.

    | attribute | of | value |
    |---|---|---|
    | `lnbwd.operation` | a function | what its kernels compute together: `#lnbwd.operation`, or its row programs for the launch plan, JSON in a string |
    | `lnbwd.argument` | an argument of a function | `#lnbwd.argument`: name, kind and access in the launch plan |
    | `lnbwd.rejected_schedules` | a module | by row programs' entries, arrays of `#lnbwd.schedule` that they must not be given |
    | `lnbwd.kernel_info` | a kernel | `#lnbwd.kernel_info`: what it was made of |
    | `lnbwd.row_scalar` | a `memref.alloc` | unit: one number for each row; or, of a split row sum, how many: its partial sums, 64-bit |
    | `lnbwd.detach` | an operation of a region | unit: its results count as constants where a gradient is derived |

    `#lnbwd.schedule` says how a row program is spread over a GPU, and
    `lnbwd.row_count` and `lnbwd.workgroup_count` are the two numbers that a
    launch depends on. `#lnbwd.operation` keeps, on a function, which named
    operation it was, for the launch plan.

    Words used throughout:

    | word | meaning |
    |---|---|
    | N, row length | the size of the last dimension, which is normalised; static |
    | M, rows | the product of all other dimensions; may be known at launch only |
    | row block | an operand of M × N elements |
    | column operand, column sum | an operand of N elements: the same for all rows, or summed over them |
    | row scalar | an operand of M elements, one for each row |
    | row sum | a sum over the N elements of one row |
    | partial sum | a column sum over the rows of one workgroup |
    | workgroup | work-items that share memory and barriers; CUDA's thread block |
    | wave | work-items that execute together, 64 or 32 of them; CUDA's warp, MLIR's subgroup |
    | lane | one work-item of a wave |
    | compute unit | what workgroups run on; CUDA's streaming multiprocessor |
    | shared memory | memory of a workgroup; AMD's LDS, MLIR's workgroup memory |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  // What regions and functions of row programs are in: passes over these need
  // not name it.
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

class LNBwd_Op<string mnemonic, list<Trait> traits = []>
    : Op<LNBwd_Dialect, mnemonic, traits>;

class LNBwd_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<LNBwd_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_TD
