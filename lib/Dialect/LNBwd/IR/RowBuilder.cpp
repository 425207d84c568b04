//===- RowBuilder.cpp - Builder of row programs ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"

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

//===----------------------------------------------------------------------===//
// RowBody
//===----------------------------------------------------------------------===//

/// A row is of its output's element; a scalar is float32, and a column sum is
/// rounded once all rows are in it.
void RowBody::set(Role output, Value value) {
  Value destination = op.getOutput(output);
  if (!destination)
    return;
  if (lnbwd::getInfo(output).dims == kRowBlock)
    value = builder->narrow(value, destination);
  outputs[static_cast<size_t>(output)] = value;
}

void RowBody::replace(PatternRewriter &rewriter, NormOpInterface op,
                      bool textbook) {
  // The domain is that of a row block.
  auto rowRank = unsigned(op.getRowRank());
  unsigned numRowDims = 0;
  using Roles = SmallVector<std::pair<Role, ProgramOperands::Place>, 8>;
  for (const OperandInfo &operand : op.getInfo()) {
    const RoleInfo &role = lnbwd::getInfo(operand.role);
    Value value = operand.isOutput ? op.getOutput(operand.role)
                                   : op.getInput(operand.role);
    if (!value)
      continue;
    if (role.dims == kRowBlock)
      numRowDims =
          unsigned(cast<ShapedType>(value.getType()).getRank()) - rowRank;
  }
  auto getMap = [&](const RoleInfo &role) {
    SmallVector<unsigned> dims;
    if (role.dims.hasRows)
      llvm::append_range(dims, llvm::seq<unsigned>(0, numRowDims));
    if (role.dims.hasColumns)
      llvm::append_range(dims, llvm::seq(numRowDims, numRowDims + rowRank));
    return AffineMap::getMultiDimMapWithTargets(numRowDims + rowRank, dims,
                                                op.getContext());
  };
  ProgramOperands operands(numRowDims);
  Roles inputs, outputs;
  for (const OperandInfo &operand : op.getInfo()) {
    const RoleInfo &role = lnbwd::getInfo(operand.role);
    if (Value value = op.getInput(operand.role); value && !operand.isOutput)
      inputs.emplace_back(operand.role,
                          operands.addInput(value, getMap(role), role.name));
    if (Value value = op.getOutput(operand.role); value && operand.isOutput)
      outputs.emplace_back(
          operand.role, operands.addOutput(value, getMap(role), role.name,
                                           role.dims.hasRows ? Reduction::None
                                                             : Reduction::Add));
  }
  Location loc = op.getLoc();
  RowwiseOp program = operands.create(
      rewriter, loc, op->getName().stripDialect(), op->getResultTypes());
  program.setAccumulate(op.getAccumulate() && !program.getColumnSums().empty());

  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&program.getBody().front());
    RowBody body(op, textbook);
    for (auto [role, place] : inputs)
      body.arguments[static_cast<size_t>(role)] = operands.getArgument(place);
    Value row = body.get(op.getInput(Role::X) ? Role::X : Role::Y);
    body.rowLength = cast<VectorType>(row.getType()).getDimSize(0);
    RowBuilder builder(rewriter, loc, body.rowLength);
    body.builder = &builder;
    op.buildBody(builder, body);
    for (auto [role, place] : outputs) {
      Value result = body.outputs[static_cast<size_t>(role)];
      assert(result && "the body sets each output that is wanted");
      operands.setResult(place, result);
    }
    operands.yield(rewriter, loc);
  }
  rewriter.replaceOp(op, program.getResults());
}
