//===- DifferentiableOpInterface.cpp - Operations with a derivative -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Interfaces/DifferentiableOpInterface.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace lnbwd;

#include "lnbwd/Interfaces/DifferentiableOpInterface.cpp.inc"

static constexpr auto contract = arith::FastMathFlags::contract;

Type AdjointBuilder::getAdjointType(Value value) {
  Type element = Float32Type::get(value.getContext());
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

Value AdjointBuilder::add(Value x, Value y) {
  return arith::AddFOp::create(at, x, y, contract);
}

Value AdjointBuilder::sub(Value x, Value y) {
  return arith::SubFOp::create(at, x, y);
}

Value AdjointBuilder::mul(Value x, Value y) {
  return arith::MulFOp::create(at, x, y, contract);
}

Value AdjointBuilder::div(Value x, Value y) {
  return arith::DivFOp::create(at, x, y, contract);
}

Value AdjointBuilder::negate(Value x) { return arith::NegFOp::create(at, x); }

Value AdjointBuilder::compare(arith::CmpFPredicate predicate, Value x,
                              Value y) {
  return arith::CmpFOp::create(at, predicate, x, y);
}

Value AdjointBuilder::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(at, condition, x, y);
}

Value AdjointBuilder::constant(double number) {
  auto attr = at.getF32FloatAttr(float(number));
  if (auto vector = dyn_cast<VectorType>(adjoint.getType()))
    return arith::ConstantOp::create(
        at, DenseElementsAttr::get(vector, attr.getValue()));
  return arith::ConstantOp::create(at, attr);
}

Value AdjointBuilder::widen(Value value) {
  if (getElementTypeOrSelf(value.getType()).isF32())
    return value;
  return arith::ExtFOp::create(at, getAdjointType(value), value);
}
