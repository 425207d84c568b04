//===- LNBwdInterfaces.td - What named operations answer ---*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface through which passes see a named operation: its operands by
// role, its options, and its formula for one row. No pass knows one by name.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDINTERFACES_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDINTERFACES_TD

include "mlir/IR/OpBase.td"

def NormOpInterface : OpInterface<"NormOpInterface"> {
  let cppNamespace = "::lnbwd";
  let description = [{
    A named operation: a normalisation or the gradient of one. What is the same
    for all that have a table of operands (`lnbwd/Operations/Operations.h`) is
    answered from the table; `buildBody` writes the formula that each names.
  }];
  let methods = [
    StaticInterfaceMethod<"Which operation of the table it is.",
      "::lnbwd::NamedOperation", "getNamedOperation">,
    InterfaceMethod<"What is added to the variance or the mean square.",
      "::llvm::APFloat", "getEpsilon">,
    InterfaceMethod<"The same as an attribute.",
      "::mlir::FloatAttr", "getEpsilonAttr">,
    InterfaceMethod<"Whether `1 + gamma` stands in the place of `gamma`.",
      "bool", "getZeroCentredGamma">,
    InterfaceMethod<"Whether column sums are added to what is there.",
      "bool", "getAccumulate">,
    InterfaceMethod<"How many dimensions a row has.",
      "uint64_t", "getRowRank">,
    InterfaceMethod<[{
        The operand, or none, at a place of the table's operands, inputs first.
      }],
      "::mlir::OperandRange", "getOperandsAt", (ins "unsigned":$place), [{
        return $_op.getODSOperands(place);
      }]>,
    InterfaceMethod<[{
        Writes the formula for one row: reads the inputs of `body`, and sets its
        outputs.
      }],
      "void", "buildBody",
      (ins "::lnbwd::RowBuilder &":$builder, "::lnbwd::RowBody &":$body)>,
  ];
  let extraSharedClassDeclaration = [{
    /// Roles, direction and counterpart.
    const ::lnbwd::NamedOperationInfo &getInfo() {
      return ::lnbwd::getInfo($_op.getNamedOperation());
    }
    /// The input of that role; null if there is none.
    ::mlir::Value getInput(::lnbwd::Role role) {
      return ::lnbwd::detail::getNormOperand($_op, role, /*isOutput=*/false);
    }
    /// The tensor or memref of the output of that role; null if it is not
    /// wanted.
    ::mlir::Value getOutput(::lnbwd::Role role) {
      return ::lnbwd::detail::getNormOperand($_op, role, /*isOutput=*/true);
    }
    /// Whether the kernel computes the statistics, so that epsilon matters.
    bool computesStatistics() { return !getInput(::lnbwd::Role::Rstd); }
  }];
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDINTERFACES_TD
