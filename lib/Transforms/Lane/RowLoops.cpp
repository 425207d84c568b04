//===- RowLoops.cpp - Copies of a row loop's body -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lnbwd;

void lane::mapRow(ForRowsOp loop, IRMapping &mapping, Value row) {
  for (auto asked : loop.getBody().getOps<RowOp>())
    if (asked.getSet() == loop.getSet())
      mapping.map(asked.getRow(), row);
}

SmallVector<Value> lane::writeBody(ImplicitLocOpBuilder &b, ForRowsOp loop,
                                   IRMapping &mapping, Value exists) {
  for (Operation &op : loop.getBody().front().without_terminator()) {
    if (op.getNumResults() && mapping.contains(op.getResult(0)))
      continue;
    Operation *copy = b.clone(op, mapping);
    if (exists)
      llvm::TypeSwitch<Operation *>(copy)
          .Case<StoreOp, StoreScalarOp, AccumulateOp>(
              [&](auto masked) { masked.getExistsMutable().assign(exists); });
  }
  SmallVector<Value> yielded;
  for (Value value : loop.getYield().getValues())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}
