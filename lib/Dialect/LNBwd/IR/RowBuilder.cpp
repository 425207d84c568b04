//===- RowBuilder.cpp - Builder of row programs ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

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
  Type wide = b.getF32Type();
  if (auto row = dyn_cast<VectorType>(value.getType()))
    wide = row.clone(wide);
  return arith::ExtFOp::create(b, wide, value);
}

Value RowBuilder::narrow(Value value, Value output) {
  Type element = getElementTypeOrSelf(output.getType());
  if (element.isF32())
    return value;
  return arith::TruncFOp::create(
      b, cast<VectorType>(value.getType()).clone(element), value);
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

Value RowBuilder::exp(Value value) { return math::ExpOp::create(b, value); }

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

Value RowBuilder::linear(Value row, Value matrix, bool transposed) {
  return LinearOp::create(b, row, matrix, transposed);
}

Value RowBuilder::outer(Value lhs, Value rhs) {
  auto getLength = [](Value row) {
    return cast<VectorType>(row.getType()).getDimSize(0);
  };
  auto type = VectorType::get({getLength(lhs), getLength(rhs)}, b.getF32Type());
  return vector::OuterProductOp::create(b, type, lhs, rhs, Value());
}

void RowBuilder::yield(ValueRange values) { YieldOp::create(b, values); }

//===----------------------------------------------------------------------===//
// RowBody
//===----------------------------------------------------------------------===//

/// A row is of its output's element; a scalar is float32, and a column sum is
/// rounded once all rows are in it.
void RowBody::set(Role output, Value value) {
  Value destination = op.getOutput(output);
  if (!destination)
    return;
  if (lnbwd::getInfo(output).kind == OperandKind::RowBlock)
    value = builder->narrow(value, destination);
  outputs[static_cast<size_t>(output)] = value;
}

void RowBody::replace(PatternRewriter &rewriter, NormOpInterface op,
                      bool textbook) {
  // A row program has its operands group by group, in the order of the roles of
  // each; so are the names.
  using Roles = SmallVector<Role, 4>;
  SmallVector<StringRef> names;
  auto select = [&](OperandKind kind, bool isOutput, Roles &roles,
                    bool isMatrix = false) {
    SmallVector<Value> values;
    for (const OperandInfo &operand : op.getInfo()) {
      const RoleInfo &role = lnbwd::getInfo(operand.role);
      Value value =
          isOutput ? op.getOutput(operand.role) : op.getInput(operand.role);
      if (operand.isOutput != isOutput || role.kind != kind || !value ||
          (role.extent == Extent::Matrix) != isMatrix)
        continue;
      roles.push_back(operand.role);
      names.push_back(role.name);
      values.push_back(value);
    }
    return values;
  };
  Roles inputs, outputs;
  SmallVector<Value> rows = select(OperandKind::RowBlock, false, inputs);
  SmallVector<Value> columns = select(OperandKind::Column, false, inputs);
  SmallVector<Value> scalars = select(OperandKind::RowScalar, false, inputs);
  SmallVector<Value> matrices =
      select(OperandKind::Column, false, inputs, /*isMatrix=*/true);
  SmallVector<Value> rowOuts = select(OperandKind::RowBlock, true, outputs);
  SmallVector<Value> scalarOuts = select(OperandKind::RowScalar, true, outputs);
  SmallVector<Value> columnSums = select(OperandKind::Column, true, outputs);
  SmallVector<Value> outerSums =
      select(OperandKind::Column, true, outputs, /*isMatrix=*/true);
  Location loc = op.getLoc();
  auto program = RowwiseOp::create(
      rewriter, loc, op->getResultTypes(), op->getName().stripDialect(), rows,
      columns, /*group_columns=*/ValueRange(), scalars, matrices, rowOuts,
      scalarOuts, columnSums, /*group_sums=*/ValueRange(), outerSums,
      rewriter.getStrArrayAttr(names), ScheduleAttr(), int64_t(op.getRowRank()),
      op.getAccumulate() && !columnSums.empty());

  {
    OpBuilder::InsertionGuard guard(rewriter);
    Block *block = rewriter.createBlock(&program.getBody());
    RowBody body(op, textbook);
    for (auto [index, role] : llvm::enumerate(inputs)) {
      Type type = program.getRegionType(unsigned(index));
      body.arguments[static_cast<size_t>(role)] = block->addArgument(type, loc);
    }
    // Of a gradient the first row block may be after the linear layer.
    Value row = body.get(op.getInput(Role::X) ? Role::X : Role::Y);
    body.rowLength = cast<VectorType>(row.getType()).getDimSize(0);
    RowBuilder builder(rewriter, loc, body.rowLength);
    body.builder = &builder;
    op.buildBody(builder, body);
    SmallVector<Value> results;
    for (Role role : outputs) {
      results.push_back(body.outputs[static_cast<size_t>(role)]);
      assert(results.back() && "the body sets each output that is wanted");
    }
    builder.yield(results);
  }
  rewriter.replaceOp(op, program.getResults());
}
