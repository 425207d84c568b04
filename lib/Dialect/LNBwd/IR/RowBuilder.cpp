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

static constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;

template <typename Op, typename... Args>
static RowValue make(RowBuilder *b, Args... args) {
  return {b, Op::create(*b, args...)};
}

RowValue lnbwd::widen(RowBuilder &b, Value value) {
  if (getElementTypeOrSelf(value.getType()).isF32())
    return {&b, value};
  Type wide = b.getF32Type();
  if (auto row = dyn_cast<VectorType>(value.getType()))
    wide = row.clone(wide);
  return make<arith::ExtFOp>(&b, wide, value);
}

Value lnbwd::narrow(RowValue row, Value output) {
  Type element = getElementTypeOrSelf(output.getType());
  if (element.isF32())
    return row;
  return arith::TruncFOp::create(
      *row.b, cast<VectorType>(row.value.getType()).clone(element), row);
}

RowValue lnbwd::constant(RowBuilder &b, double number) {
  return make<arith::ConstantOp>(&b, b.getF32FloatAttr(float(number)));
}

RowValue lnbwd::constantLike(RowValue x, double number) {
  TypedAttr attr = x.b->getF32FloatAttr(float(number));
  if (auto vector = dyn_cast<VectorType>(x.value.getType()))
    attr = DenseElementsAttr::get(vector, float(number));
  return make<arith::ConstantOp>(x.b, attr);
}

RowValue lnbwd::spread(RowValue scalar, int64_t length) {
  auto type = VectorType::get({length}, scalar.b->getF32Type());
  return make<vector::BroadcastOp>(scalar.b, type, scalar.value);
}

RowValue lnbwd::rowSum(RowValue row) {
  return make<vector::ReductionOp>(row.b, vector::CombiningKind::ADD,
                                   row.value);
}

RowValue lnbwd::operator+(RowValue x, RowValue y) {
  return make<arith::AddFOp>(x.b, x.value, y.value, contract);
}

RowValue lnbwd::operator-(RowValue x, RowValue y) {
  return make<arith::SubFOp>(x.b, x.value, y.value);
}

RowValue lnbwd::operator*(RowValue x, RowValue y) {
  return make<arith::MulFOp>(x.b, x.value, y.value, contract);
}

RowValue lnbwd::operator/(RowValue x, RowValue y) {
  return make<arith::DivFOp>(x.b, x.value, y.value, contract);
}

RowValue lnbwd::operator-(RowValue x) {
  return make<arith::NegFOp>(x.b, x.value);
}

RowValue lnbwd::abs(RowValue x) { return make<math::AbsFOp>(x.b, x.value); }

RowValue lnbwd::rsqrt(RowValue x) { return make<math::RsqrtOp>(x.b, x.value); }

RowValue lnbwd::fma(RowValue x, RowValue y, RowValue z) {
  if (!isa<VectorType>(x.value.getType()))
    return make<math::FmaOp>(x.b, x.value, y.value, z.value);
  return make<vector::FMAOp>(x.b, x.value, y.value, z.value);
}

Value lnbwd::compare(arith::CmpFPredicate predicate, RowValue x, RowValue y) {
  return arith::CmpFOp::create(*x.b, predicate, x, y);
}

RowValue lnbwd::select(Value condition, RowValue x, RowValue y) {
  return make<arith::SelectOp>(x.b, condition, x.value, y.value);
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
