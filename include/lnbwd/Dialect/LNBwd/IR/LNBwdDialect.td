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
  let summary = "LayerNorm backward, from the named operation to a scheduled row program";
  let description = [{
    The dialect has two levels.

    *Named operations* (`lnbwd.layer_norm_bwd`) are what a user writes: tensors
    or memrefs, optional operands, one attribute-free line.

    A *row program* (`lnbwd.rowwise`) is what every named operation becomes: one
    structured operation whose region is straight-line SSA over a single row, in
    upstream `arith`, `math` and `vector` operations. All passes work on row
    programs, so that a new normalisation needs a new body and no new lowering.

    `#lnbwd.schedule` says how a row program is spread over a GPU, and
    `lnbwd.row_count` and `lnbwd.workgroup_count` are the two numbers that a
    launch depends on.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

class LNBwd_Op<string mnemonic, list<Trait> traits = []>
    : Op<LNBwd_Dialect, mnemonic, traits>;

class LNBwd_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<LNBwd_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDDIALECT_TD
