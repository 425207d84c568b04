//===- LaunchCounts.cpp - The numbers that a launch depends on ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/LaunchPlan/LaunchCounts.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

LaunchCounts lnbwd::makeLaunchCounts(OpBuilder &builder, RowwiseOp op) {
  Location loc = op.getLoc();
  LaunchCounts counts;
  if (hasOwnRows(op)) {
    // What lnbwd.workgroup_count says, of a number of rows that is known.
    int64_t rows = *op.getStaticRowCount(), workgroups = 1;
    if (int64_t least = op.getSchedule()->getRowsPerWorkgroup())
      workgroups = llvm::divideCeil(rows, least);
    if (auto bound = int64_t(op.getFixedWorkgroups()))
      workgroups = std::min(workgroups, bound);
    counts.rows = arith::ConstantIndexOp::create(builder, loc, rows);
    counts.workgroups = arith::ConstantIndexOp::create(
        builder, loc, std::max<int64_t>(1, workgroups));
    return counts;
  }
  counts.rows =
      RowCountOp::create(builder, loc, op.getRowBlock(), op.getRowRank());
  if (Attribute ratio = op->getAttr(rowRatioAttr))
    counts.rows.getDefiningOp()->setAttr(rowRatioAttr, ratio);
  if (int64_t dims = op.getNumGroupDims())
    counts.groups = GroupCountOp::create(builder, loc, op.getRowBlock(), dims);
  counts.workgroups =
      WorkgroupCountOp::create(builder, loc, counts.rows, counts.groups,
                               *op.getSchedule(), op.getFixedWorkgroups());
  if (counts.groups)
    counts.rows =
        arith::DivUIOp::create(builder, loc, counts.rows, counts.groups);
  return counts;
}
