//===- RowBuilder.cpp - To write row programs down ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace lnbwd;

static constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;

RowBuilder::RowBuilder(OpBuilder &builder, Location loc, int64_t rowLength)
    : b(loc, builder), rowType(VectorType::get({rowLength}, b.getF32Type())) {}

Value RowBuilder::widen(Value value) {
  if (getElementTypeOrSelf(value.getType()).isF32())
    return value;
  Type wide =
      isa<VectorType>(value.getType()) ? Type(rowType) : Type(b.getF32Type());
  return arith::ExtFOp::create(b, wide, value);
}

Value RowBuilder::narrow(Value value, Value output) {
  Type element = getElementTypeOrSelf(output.getType());
  if (element.isF32())
    return value;
  return arith::TruncFOp::create(
      b, VectorType::get(rowType.getShape(), element), value);
}

Value RowBuilder::constant(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value RowBuilder::spread(Value scalar) {
  return vector::BroadcastOp::create(b, rowType, scalar);
}

Value RowBuilder::rowSum(Value row) {
  return vector::ReductionOp::create(b, vector::CombiningKind::ADD, row);
}

Value RowBuilder::add(Value lhs, Value rhs) {
  return arith::AddFOp::create(b, lhs, rhs, contract);
}

Value RowBuilder::mul(Value lhs, Value rhs) {
  return arith::MulFOp::create(b, lhs, rhs, contract);
}

Value RowBuilder::div(Value lhs, Value rhs) {
  return arith::DivFOp::create(b, lhs, rhs);
}

Value RowBuilder::negate(Value value) {
  return arith::NegFOp::create(b, value);
}

Value RowBuilder::abs(Value value) { return math::AbsFOp::create(b, value); }

Value RowBuilder::rsqrt(Value value) { return math::RsqrtOp::create(b, value); }

Value RowBuilder::fma(Value x, Value y, Value z) {
  if (!isa<VectorType>(x.getType()))
    return math::FmaOp::create(b, x, y, z);
  return vector::FMAOp::create(b, x, y, z);
}

Value RowBuilder::less(Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, lhs, rhs);
}

Value RowBuilder::select(Value condition, Value lhs, Value rhs) {
  return arith::SelectOp::create(b, condition, lhs, rhs);
}

Value RowBuilder::clamp(Value row, Value bound) {
  Value low = negate(bound);
  row = select(less(bound, row), bound, row);
  return select(less(row, low), low, row);
}

void RowBuilder::yield(ValueRange values) { YieldOp::create(b, values); }

//===----------------------------------------------------------------------===//
// RowProgram
//===----------------------------------------------------------------------===//

void RowProgram::add(Entries &entries, ArrayRef<Named> named) {
  for (auto [name, value] : named)
    if (value)
      entries.push_back({name, value});
}

bool RowProgram::hasOutput(StringRef name) const {
  for (const Entries *entries :
       {&rowOutValues, &scalarOutValues, &columnSumValues})
    for (const Entry &entry : *entries)
      if (entry.name == name)
        return true;
  return false;
}

void RowProgram::replace(PatternRewriter &rewriter, Operation *op,
                         int64_t rowRank,
                         function_ref<void(RowBuilder &)> fill) {
  Location loc = op->getLoc();
  SmallVector<StringRef> names;
  auto valuesOf = [&](const Entries &entries) {
    SmallVector<Value> values;
    for (const Entry &entry : entries) {
      names.push_back(entry.name);
      values.push_back(entry.value);
    }
    return values;
  };
  SmallVector<Value> rows = valuesOf(rowValues);
  SmallVector<Value> columns = valuesOf(columnValues);
  SmallVector<Value> scalars = valuesOf(scalarValues);
  SmallVector<Value> rowOuts = valuesOf(rowOutValues);
  SmallVector<Value> scalarOuts = valuesOf(scalarOutValues);
  SmallVector<Value> columnSums = valuesOf(columnSumValues);
  auto program = RowwiseOp::create(
      rewriter, loc, op->getResultTypes(), op->getName().stripDialect(), rows,
      columns, /*group_columns=*/ValueRange(), scalars, rowOuts, scalarOuts,
      columnSums, /*group_sums=*/ValueRange(), rewriter.getStrArrayAttr(names),
      ScheduleAttr(), rowRank, accumulates);
  rowLength = program.getRowLength();

  {
    OpBuilder::InsertionGuard guard(rewriter);
    Block *body = rewriter.createBlock(&program.getBody());
    auto addArguments = [&](const Entries &entries, bool isScalar) {
      for (const Entry &entry : entries) {
        Type element = getElementTypeOrSelf(entry.value.getType());
        Type type =
            isScalar ? element : Type(VectorType::get({rowLength}, element));
        arguments[entry.name] = body->addArgument(type, loc);
      }
    };
    addArguments(rowValues, false);
    addArguments(columnValues, false);
    addArguments(scalarValues, true);
    RowBuilder builder(rewriter, loc, rowLength);
    fill(builder);
  }
  rewriter.replaceOp(op, program.getResults());
}
