//===- Shares.cpp - A lane's share of a row sum, access by access ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

Value lane::makeNeutralPartial(ImplicitLocOpBuilder &b, bool isMaximum,
                               VectorType type) {
  if (!isMaximum)
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  float lowest = -std::numeric_limits<float>::infinity();
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, lowest));
}

Value lane::makeTerm(ImplicitLocOpBuilder &b, TypedValue<LayoutType> layout,
                     int64_t access, bool isMaximum, Value value) {
  if (!layout.getType().mayExceed(access))
    return value;
  Value inBounds = InBoundsOp::create(b, layout, access);
  return arith::SelectOp::create(
      b, inBounds, value,
      makeNeutralPartial(b, isMaximum, cast<VectorType>(value.getType())));
}

Value lane::combinePartials(ImplicitLocOpBuilder &b, bool isMaximum, Value lhs,
                            Value rhs) {
  if (isMaximum)
    return arith::MaximumFOp::create(b, lhs, rhs);
  return arith::AddFOp::create(b, lhs, rhs, arith::FastMathFlags::contract);
}
