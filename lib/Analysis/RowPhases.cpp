//===- RowPhases.cpp - What of a row program waits for which sums ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/RowPhases.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace lnbwd;

static bool isDistributable(Operation &op) {
  return isRowElementOp(op) ||
         isa<IndexOp, BlockMaxOp, GatherOp, GatherSumOp>(op) ||
         (isPure(&op) && getSummedRow(&op));
}

LogicalResult lnbwd::checkDistributable(RowwiseOp op) {
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    if (!isDistributable(bodyOp))
      return bodyOp.emitOpError(
          "cannot be distributed over lanes: expected an elementwise "
          "operation, a splat constant, vector.broadcast of a scalar, "
          "vector.reduction <add> or <maximumf> into f32 without an "
          "accumulator, lnbwd.block_max, lnbwd.gather, lnbwd.gather_sum, or a "
          "pure operation on scalars");
  return success();
}

RowPhases::RowPhases(RowwiseOp op) : op(op) {
  size_t count = 1;
  for (BlockArgument argument : op.getBody().getArguments())
    phaseOf[argument] = 0;
  for (Operation &bodyOp : op.getBody().front().without_terminator()) {
    unsigned phase = 0;
    for (Value operand : bodyOp.getOperands())
      phase = std::max(phase, phaseOf.lookup(operand));
    if (getSummedRow(&bodyOp)) {
      if (sums.size() <= phase)
        sums.resize(phase + 1);
      sums[phase].push_back(&bodyOp);
      ++phase;
    }
    for (Value result : bodyOp.getResults())
      phaseOf[result] = phase;
    count = std::max<size_t>(count, phase + 1);
  }
  sums.resize(count);
}

SmallVector<Operation *> RowPhases::getScalars(unsigned phase) const {
  SmallVector<Operation *> scalars;
  RowwiseOp program = op;
  for (Operation &bodyOp : program.getBody().front().without_terminator())
    if (!hasRows(bodyOp) && bodyOp.getNumResults() > 0 &&
        getPhase(bodyOp.getResult(0)) == phase)
      scalars.push_back(&bodyOp);
  return scalars;
}

bool RowPhases::isNeededAtFirst(BlockArgument column) const {
  SetVector<Value> needing;
  needing.insert(column);
  for (size_t i = 0; i < needing.size(); ++i)
    for (Operation *user : needing[i].getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>() || getSummedRow(user))
        return true;
      for (Value result : user->getResults())
        if (getPhase(result) == 0)
          needing.insert(result);
    }
  return false;
}
