//===- DifferentiableOpInterface.td - Derivatives ----------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define LNBWD_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::lnbwd";
  let description = [{
    An operation of one result whose derivative `lnbwd-differentiate` knows. The
    operations of `arith`, `math` and `vector` that do get the interface from
    outside, by external models (lib/Transforms/DerivativeRules.cpp); an
    operation of another dialect may implement it itself.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds to the adjoints of the operands what the adjoint of the result
        comes to for them. Fails, with an error, where this very operation has
        no derivative.
      }],
      "::llvm::LogicalResult", "propagateAdjoint",
      (ins "::lnbwd::AdjointBuilder &":$adjoints)>,
  ];
}

#endif // LNBWD_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
