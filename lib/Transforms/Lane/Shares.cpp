//===- Shares.cpp - A lane's share of a row sum, access by access ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

Value lane::makeNeutralShare(ImplicitLocOpBuilder &b, bool isMaximum,
                             VectorType type) {
  if (!isMaximum)
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  float lowest = -std::numeric_limits<float>::infinity();
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, lowest));
}

Value lane::makeTerm(ImplicitLocOpBuilder &b, TypedValue<PlaceType> place,
                     int64_t access, bool isMaximum, Value value) {
  if (!place.getType().mayExceed(access))
    return value;
  Value exists = ExistsOp::create(b, place, access);
  return arith::SelectOp::create(
      b, exists, value,
      makeNeutralShare(b, isMaximum, cast<VectorType>(value.getType())));
}

Value lane::combineShares(ImplicitLocOpBuilder &b, bool isMaximum, Value lhs,
                          Value rhs) {
  if (isMaximum)
    return arith::MaximumFOp::create(b, lhs, rhs);
  return arith::AddFOp::create(b, lhs, rhs, arith::FastMathFlags::contract);
}
