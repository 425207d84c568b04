//===- RowPrograms.cpp - What passes over row programs begin with ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects programs before a pass rewrites the first of them.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

using namespace mlir;
using namespace lnbwd;

FailureOr<SmallVector<RowwiseOp>>
lnbwd::collectPrograms(Operation *root,
                       function_ref<FailureOr<bool>(RowwiseOp)> isTaken) {
  SmallVector<RowwiseOp> programs;
  WalkResult result = root->walk([&](RowwiseOp op) {
    FailureOr<bool> taken = isTaken(op);
    if (failed(taken))
      return WalkResult::interrupt();
    if (*taken)
      programs.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return programs;
}
