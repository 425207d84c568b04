//===- ContractionTerms.cpp - What products of matrices are made of -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks through multiplications and additions, in the forms that
// differentiation leaves them in.
//
//===----------------------------------------------------------------------===//

#include "ContractionTerms.h"
#include "RowForms.h"
#include "RowPrograms.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace lnbwd;

/// Whether two lists have the same values, in whatever order.
static bool haveSameValues(ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
  return lhs.size() == rhs.size() &&
         std::is_permutation(lhs.begin(), lhs.end(), rhs.begin());
}

/// A row that is rounded to a narrower type and widened again, before that: the
/// algebra takes float32 numbers for real ones, and those of bf16 as well.
static Value lookThroughRounding(Value row) {
  while (auto widened = row.getDefiningOp<arith::ExtFOp>()) {
    auto rounded = widened.getIn().getDefiningOp<arith::TruncFOp>();
    if (!rounded || rounded.getIn().getType() != row.getType())
      break;
    row = rounded.getIn();
  }
  return row;
}

bool Factors::hasSameRow(const Factors &other) const {
  return haveSameValues(rows, other.rows) &&
         haveSameValues(scalars, other.scalars);
}

ContractionTerms::ContractionTerms(RowwiseOp op) {
  Block &body = op.getBody().front();
  for (size_t i = 0; i < op.getColumns().size(); ++i)
    invariants.insert(body.getArgument(unsigned(op.getRows().size() + i)));
  for (Operation &bodyOp : body.without_terminator())
    if (isPure(&bodyOp) && !isa<LinearOp, vector::OuterProductOp>(bodyOp) &&
        llvm::all_of(bodyOp.getOperands(),
                     [&](Value value) { return invariants.contains(value); }))
      invariants.insert(bodyOp.result_begin(), bodyOp.result_end());
}

void ContractionTerms::addFactors(Value row, Factors &factors) const {
  row = lookThroughRounding(row);
  APFloat number(0.0);
  if (isRow(row.getType()) && matchPattern(row, m_ConstantFloat(&number))) {
    factors.coefficient *= double(number.convertToFloat());
    return;
  }
  if (isInvariant(row)) {
    factors.invariants.push_back(row);
    return;
  }
  if (auto product = row.getDefiningOp<arith::MulFOp>()) {
    addFactors(product.getLhs(), factors);
    addFactors(product.getRhs(), factors);
    return;
  }
  if (auto negation = row.getDefiningOp<arith::NegFOp>()) {
    factors.coefficient = -factors.coefficient;
    addFactors(negation.getOperand(), factors);
    return;
  }
  if (auto spread = row.getDefiningOp<vector::BroadcastOp>()) {
    factors.scalars.push_back(spread.getSource());
    return;
  }
  factors.rows.push_back(row);
}

Factors ContractionTerms::getFactors(ValueRange rows) const {
  Factors factors;
  for (Value row : rows)
    addFactors(row, factors);
  return factors;
}

SmallVector<Factors> ContractionTerms::getTerms(Value row) const {
  row = lookThroughRounding(row);
  // The two summands, the first of which may be a product of two.
  SmallVector<Value> product;
  Value rest;
  if (auto add = row.getDefiningOp<arith::AddFOp>()) {
    for (int i : {0, 1})
      if (!rest && isInvariant(add->getOperand(i))) {
        rest = add->getOperand(i);
        product = {add->getOperand(1 - i)};
      }
  } else if (auto fma = row.getDefiningOp<vector::FMAOp>()) {
    if (isInvariant(fma.getAcc())) {
      rest = fma.getAcc();
      product = {fma.getLhs(), fma.getRhs()};
    }
  }
  if (!rest || isInvariant(row))
    return {getFactors(row)};
  SmallVector<Factors> terms;
  if (product.size() == 1)
    terms = getTerms(product.front());
  else
    terms.push_back(getFactors(product));
  terms.push_back(getFactors(rest));
  return terms;
}

FailureOr<SmallVector<RowwiseOp>>
lnbwd::getProgramsWithContractions(Operation *root) {
  return collectPrograms(root, [](RowwiseOp op) -> FailureOr<bool> {
    if (!op.hasContractions())
      return false;
    if (!op.hasPureBufferSemantics() || op.getSchedule())
      return op.emitOpError("expected memrefs and no schedule; run "
                            "bufferization before, and lnbwd-select-schedule "
                            "after");
    return true;
  });
}

Value lnbwd::buildRowPart(RowBuilder &rows, const Factors &factors) {
  Value product, scale;
  for (Value factor : factors.rows)
    product = product ? rows.mul(product, factor) : factor;
  for (Value scalar : factors.scalars)
    scale = scale ? rows.mul(scale, scalar) : scalar;
  if (!scale)
    return product;
  Value spread = rows.spread(scale);
  return product ? rows.mul(product, spread) : spread;
}

Value lnbwd::getNarrow(Value row) {
  auto widened = row.getDefiningOp<arith::ExtFOp>();
  return widened ? widened.getIn() : row;
}

void lnbwd::walkBack(ValueRange values, function_ref<bool(Value)> goesOn) {
  llvm::DenseSet<Value> visited;
  SmallVector<Value> pending(llvm::reverse(values));
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!visited.insert(value).second || !goesOn(value))
      continue;
    if (Operation *producer = value.getDefiningOp())
      llvm::append_range(pending, llvm::reverse(producer->getOperands()));
  }
}

RowwiseOp lnbwd::writeProgram(OpBuilder &b, RowwiseOp op, const Twine &entry,
                              ArrayRef<PlacedValue> given,
                              ArrayRef<PlacedValue> outputs, int64_t length) {
  llvm::DenseSet<Value> needed, known;
  for (const PlacedValue &each : given)
    known.insert(each.value);
  walkBack(llvm::map_to_vector(
               outputs, [](const PlacedValue &each) { return each.value; }),
           [&](Value value) {
             needed.insert(value);
             return !known.contains(value);
           });
  // Each is an input or an output, and a row block says how many rows there
  // are.
  bool hasRowBlock = false;
  auto place = [&](const PlacedValue &each) {
    hasRowBlock |= each.hasRows && isRow(each.value.getType());
  };
  SmallVector<PlacedValue> inputs;
  for (BlockArgument argument : op.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    if (needed.contains(argument) && !known.contains(argument))
      inputs.push_back({argument, op.getOperand(number),
                        op.getOperandName(number),
                        op.getMap(number).isFunctionOfDim(0)});
  }
  llvm::copy_if(
      given, std::back_inserter(inputs),
      [&](const PlacedValue &each) { return needed.contains(each.value); });
  llvm::for_each(inputs, place);
  llvm::for_each(outputs, place);
  for (unsigned i = 0; i < op.getRows().size() && !hasRowBlock; ++i) {
    BlockArgument argument = op.getBody().getArgument(i);
    if (cast<VectorType>(argument.getType()).getDimSize(0) != length)
      continue;
    inputs.push_back({argument, op.getOperand(i), op.getOperandName(i)});
    hasRowBlock = true;
  }
  if (!hasRowBlock)
    return {};

  ProgramOperands operands;
  SmallVector<ProgramOperands::Place> places, results;
  for (const PlacedValue &each : inputs)
    places.push_back(operands.addInput(each.buffer, each.hasRows, each.name));
  for (const PlacedValue &each : outputs)
    results.push_back(operands.addOutput(each.buffer, each.hasRows, each.name));
  RowwiseOp program = operands.create(b, op.getLoc(), entry.str());
  program->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  program.setFixedWorkgroups(op.getFixedWorkgroups());
  program.setAccumulate(op.getAccumulate() && !program.getAllSums().empty());
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  IRMapping mapping;
  for (auto [input, at] : llvm::zip_equal(inputs, places))
    mapping.map(input.value, operands.getArgument(at));
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    if (llvm::any_of(bodyOp.getResults(), [&](Value value) {
          return needed.contains(value) && !mapping.contains(value);
        }))
      body.clone(bodyOp, mapping);
  for (auto [output, at] : llvm::zip_equal(outputs, results))
    operands.setResult(at, mapping.lookup(output.value));
  operands.yield(body, op.getLoc());
  return program;
}

Value lnbwd::copySlice(OpBuilder &body, Value value, IRMapping &mapping) {
  if (Value there = mapping.lookupOrNull(value))
    return there;
  Operation *producer = value.getDefiningOp();
  assert(producer && "the arguments that a slice needs have been mapped");
  for (Value operand : producer->getOperands())
    (void)copySlice(body, operand, mapping);
  body.clone(*producer, mapping);
  return mapping.lookup(value);
}
