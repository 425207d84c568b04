//===- RowBuilder.cpp - Builder of row programs ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace lnbwd;

RowValue lnbwd::widen(RowBuilder &b, Value value) {
  if (getElementTypeOrSelf(value.getType()).isF32())
    return {&b, value};
  Type wide = b.getF32Type();
  if (auto row = dyn_cast<VectorType>(value.getType()))
    wide = row.clone(wide);
  return {&b, arith::ExtFOp::create(b, wide, value)};
}

Value lnbwd::narrow(RowValue row, Value output) {
  Type element = getElementTypeOrSelf(output.getType());
  if (element.isF32())
    return row;
  return arith::TruncFOp::create(
      *row.b, cast<VectorType>(row.value.getType()).clone(element), row);
}

RowValue lnbwd::constant(RowBuilder &b, double number) {
  return {&b, arith::ConstantOp::create(b, b.getF32FloatAttr(float(number)))};
}

RowValue RowValue::like(double number) const {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return constant(*b, number);
  auto attr = DenseElementsAttr::get(vector, float(number));
  return {b, arith::ConstantOp::create(*b, attr)};
}

RowValue lnbwd::spread(RowValue scalar, int64_t length) {
  auto type = VectorType::get({length}, scalar.b->getF32Type());
  return {scalar.b, vector::BroadcastOp::create(*scalar.b, type, scalar.value)};
}

RowValue lnbwd::rowSum(RowValue row) {
  return {row.b, vector::ReductionOp::create(*row.b, vector::CombiningKind::ADD,
                                             row.value)};
}

RowValue lnbwd::abs(RowValue x) { return applyOp<math::AbsFOp>(x); }

RowValue lnbwd::rsqrt(RowValue x) { return applyOp<math::RsqrtOp>(x); }

RowValue lnbwd::fma(RowValue x, RowValue y, RowValue z) {
  if (!isa<VectorType>(x.value.getType()))
    return applyOp<math::FmaOp>(x, y.value, z.value);
  return applyOp<vector::FMAOp>(x, y.value, z.value);
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
    value = narrow({builder, value}, destination);
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
    RowBuilder builder(loc, rewriter);
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
