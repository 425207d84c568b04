//===- LNBwdNorms.cpp - What named operations have in common --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier, the effects and the canonicalisations of all named operations,
// which go by the table of their operands and know none of them by name.
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

Value lnbwd::detail::getNormOperand(Operation *op, Role role, bool isOutput) {
  auto norm = cast<NormOpInterface>(op);
  std::optional<size_t> place = norm.getInfo().find(role, isOutput);
  if (!place)
    return {};
  OperandRange operand = norm.getOperandsAt(unsigned(*place));
  return operand.empty() ? Value() : operand.front();
}

MutableOperandRange lnbwd::detail::getNormInits(NormOpInterface op) {
  unsigned count = 0;
  for (const OperandInfo &operand : op.getInfo())
    count += operand.isOutput && op.getOutput(operand.role);
  return MutableOperandRange(op, op->getNumOperands() - count, count);
}

void lnbwd::detail::addNormEffects(
    NormOpInterface op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(cast<DestinationStyleOpInterface>(op.getOperation()), effects,
             op.getAccumulate());
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {
/// Checks the operands of a named operation against its row block `x` (or `y`,
/// where that is what was given).
class NormVerifier {
public:
  NormVerifier(NormOpInterface op, Role inputRole)
      : op(op), rowRank(int64_t(op.getRowRank())), inputRole(inputRole),
        inputName(lnbwd::getInfo(inputRole).name),
        input(cast<ShapedType>(op.getInput(inputRole).getType())) {
    rowBlocks.push_back(op.getInput(inputRole));
  }

  LogicalResult verify() {
    if (failed(verifyRowBlock(op, inputName, input, rowRank)) ||
        failed(verifyEpsilon(op.getEpsilon())))
      return failure();
    for (const OperandInfo &operand : op.getInfo())
      if (failed(verifyOperand(operand)))
        return failure();
    auto destination = cast<DestinationStyleOpInterface>(op.getOperation());
    if (failed(verifyOptionNames(op)) ||
        failed(verifyTensorsOrMemRefs(destination)) ||
        failed(verifyDistinctOutputs(destination)))
      return failure();
    return verifyLayouts(destination, rowRank, rowBlocks);
  }

private:
  /// An operand, if it is there.
  LogicalResult verifyOperand(const OperandInfo &operand) {
    const RoleInfo &role = lnbwd::getInfo(operand.role);
    Value value = operand.isOutput ? op.getOutput(operand.role)
                                   : op.getInput(operand.role);
    if (!value || (operand.role == inputRole && !operand.isOutput))
      return success();
    auto type = cast<ShapedType>(value.getType());
    if (role.dims == kColumn)
      return verifyColumn(role.name, type,
                          operand.isOutput && op.getAccumulate());
    if (role.dims == kRowScalar)
      return verifyStatistic(role.name, type);
    rowBlocks.push_back(value);
    return verifyRows(role.name, type, role);
  }
  /// The element is the input's, or f32, of which `why` says the reason.
  LogicalResult verifyElement(StringRef name, ShapedType type, bool mayBeInput,
                              bool mayBeF32, StringRef why = "") {
    Type element = type.getElementType(), ofInput = input.getElementType();
    if ((mayBeInput && element == ofInput) || (mayBeF32 && element.isF32()))
      return success();
    InFlightDiagnostic diag = op->emitOpError("expected the elements of ")
                              << name << " to be ";
    if (mayBeF32)
      diag << (mayBeInput ? "f32 or " : "f32");
    if (mayBeInput)
      diag << "those of " << inputName << ", " << ofInput;
    return diag << why << ", got " << element;
  }
  /// Of the input's element or of any.
  LogicalResult verifyRows(StringRef name, ShapedType type,
                           const RoleInfo &role) {
    if (failed(verifyShape(op, name, type, input.getShape(), rowRank,
                           ("that of " + inputName).str())))
      return failure();
    if (role.hasOwnElement)
      return verifyRowElement(op, name, type);
    return verifyElement(name, type, /*mayBeInput=*/true, /*mayBeF32=*/false);
  }
  LogicalResult verifyColumn(StringRef name, ShapedType type,
                             bool accumulates) {
    std::string which =
        rowRank == 1 ? "the last dimension of " : "the dimensions of a row of ";
    which += inputName;
    if (failed(verifyShape(op, name, type,
                           input.getShape().take_back(size_t(rowRank)), rowRank,
                           which)))
      return failure();
    return verifyElement(name, type, /*mayBeInput=*/!accumulates,
                         /*mayBeF32=*/true,
                         accumulates ? " where it accumulates" : "");
  }
  LogicalResult verifyStatistic(StringRef name, ShapedType type) {
    if (failed(verifyShape(op, name, type,
                           input.getShape().drop_back(size_t(rowRank)), 0,
                           ("the leading dimensions of " + inputName).str())))
      return failure();
    return verifyElement(name, type, /*mayBeInput=*/false, /*mayBeF32=*/true,
                         " (statistics are never kept in less)");
  }
  LogicalResult verifyEpsilon(const APFloat &epsilon) {
    if (epsilon.isFinite() && !epsilon.isNegative())
      return success();
    return op->emitOpError("expected epsilon to be a number of 0 or more, got ")
           << epsilon.convertToDouble();
  }

  NormOpInterface op;
  int64_t rowRank;
  Role inputRole;
  StringRef inputName;
  ShapedType input;
  SmallVector<Value> rowBlocks;
};
} // namespace

/// Whether the operation can do with the output in the place of the input.
static bool canInvert(const NamedOperationInfo &info) {
  return info.hasInput(Role::Y);
}

/// Exactly one of x and y, and which.
static FailureOr<Role> getInputRole(NormOpInterface op) {
  bool hasX = bool(op.getInput(Role::X));
  if (!canInvert(op.getInfo()))
    return Role::X;
  if (hasX != bool(op.getInput(Role::Y)))
    return hasX ? Role::X : Role::Y;
  return op.emitOpError("expected either x or y, got ")
         << (hasX ? "both; leave out the one that the gradient is not "
                    "to be computed from"
                  : "neither; give x, what was normalised, or y, the "
                    "output");
}

/// That what there is of x, y, beta and statistics goes together.
static LogicalResult verifyStatistics(NormOpInterface op, Role input) {
  bool fromOutput = input == Role::Y;
  if (canInvert(op.getInfo()) && !fromOutput && op.getInput(Role::Beta))
    return op.emitOpError(
        "expected beta only with y, the output that it is in");
  if (!fromOutput && op.getInfo().hasInput(Role::Mean) &&
      bool(op.getInput(Role::Mean)) != bool(op.getInput(Role::Rstd)))
    return op.emitOpError("expected mean and rstd together, or neither for "
                          "statistics that are computed again");
  if (fromOutput && op.getInput(Role::Mean))
    return op.emitOpError("expected no mean with y, which is centred already");
  if (fromOutput && !op.getInput(Role::Rstd))
    return op.emitOpError("expected rstd with y: it cannot be computed from "
                          "the output");
  return success();
}

LogicalResult lnbwd::detail::verifyNorm(NormOpInterface op) {
  // The outputs by name, all and those of columns.
  SmallVector<StringRef> outputs, columns;
  bool hasOutput = false, hasColumn = false;
  for (const OperandInfo &operand : op.getInfo()) {
    if (!operand.isOutput)
      continue;
    const RoleInfo &role = lnbwd::getInfo(operand.role);
    bool isThere = bool(op.getOutput(operand.role));
    outputs.push_back(role.name);
    hasOutput |= isThere;
    if (role.dims != kColumn)
      continue;
    columns.push_back(role.name);
    hasColumn |= isThere;
  }
  if (!hasOutput) {
    InFlightDiagnostic diag =
        op.emitOpError("expected at least one of the outputs ");
    llvm::interleaveComma(ArrayRef(outputs).drop_back(), diag);
    return diag << " and " << outputs.back();
  }
  FailureOr<Role> input = getInputRole(op);
  if (failed(input) || failed(verifyStatistics(op, *input)))
    return failure();
  if (op.getAccumulate() && !hasColumn) {
    InFlightDiagnostic diag = op.emitOpError(
        "expected a gradient of a column to accumulate into, got no ");
    llvm::interleave(columns, diag, " and no ");
    return diag << "; leave accumulate out, or ask for one";
  }
  return NormVerifier(op, *input).verify();
}
