//===- LaunchCounts.cpp - The numbers that a launch depends on ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/LaunchPlan/LaunchCounts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace lnbwd;

LaunchCounts lnbwd::makeLaunchCounts(OpBuilder &builder, RowwiseOp op) {
  Location loc = op.getLoc();
  LaunchCounts counts;
  counts.rows =
      RowCountOp::create(builder, loc, op.getRowBlock(), op.getRowRank());
  if (Value operand = op.getGroupOperand())
    counts.groups = GroupCountOp::create(builder, loc, operand);
  counts.workgroups =
      WorkgroupCountOp::create(builder, loc, counts.rows, counts.groups,
                               *op.getSchedule(), op.getFixedWorkgroups());
  if (counts.groups)
    counts.rows =
        arith::DivUIOp::create(builder, loc, counts.rows, counts.groups);
  return counts;
}
