//===- RowElements.cpp - What is done element by element ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one list of what may be done with a part of a row.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace lnbwd;

bool lnbwd::hasRows(Operation &op) {
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  return llvm::any_of(op.getOperandTypes(), isVector) ||
         llvm::any_of(op.getResultTypes(), isVector);
}

bool lnbwd::isRowElementOp(Operation &op) {
  // Not of its operands alone is where a row is.
  if (op.getNumRegions() != 0 || !isPure(&op) || isa<IndexOp>(op))
    return false;
  if (!hasRows(op))
    return true;
  if (auto spread = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(spread.getSourceType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<vector::FMAOp>(op) || OpTrait::hasElementwiseMappableTraits(&op);
}
