//===- LaunchNotes.cpp - What the launch plan is read off -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives roles from an operand's place among the operands.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/LaunchPlan/LaunchNotes.h"

#include "lnbwd/Analysis/CanonicalOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Notes on an argument what operand `index` of `op`, named `name`, has it for.
/// `rowRank` 0: it has no rows. Values that are no arguments have no role.
static LogicalResult recordRole(Operation *op, unsigned index, StringRef name,
                                const Dims &dims, int64_t rowRank) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto argument = dyn_cast<BlockArgument>(op->getOperand(index));
  if (!function || !argument || argument.getOwner()->getParentOp() != function)
    return success();
  MLIRContext *context = op->getContext();
  unsigned number = argument.getArgNumber();
  auto known = ArgumentAttr::of(function, number);
  // The launcher goes by what is noted: it has to be what the kernel does.
  auto refuse = [&](StringRef field, auto expected, auto got) {
    return op->emitOpError("expected ")
           << field << " of argument " << number << " to be " << expected
           << ", as the operand '" << name << "' has it, got " << got
           << "; leave it out, it is set here";
  };
  auto kind = StringAttr::get(context, getName(dims));
  if (known.getKind() && known.getKind() != kind)
    return refuse("kind", kind, known.getKind());
  if (rowRank && known.getRowRank() && known.getRowRank() != rowRank)
    return refuse("row_rank", rowRank, known.getRowRank());
  // An argument that several operands share, such as a dx over dy, has one
  // name; the others are its aliases.
  auto own = StringAttr::get(context, name);
  ArrayAttr aliases = known.getAliases();
  SmallVector<Attribute> others;
  if (aliases)
    llvm::append_range(others, aliases);
  if (known.getName() && known.getName() != own &&
      !llvm::is_contained(others, own)) {
    others.push_back(own);
    aliases = ArrayAttr::get(context, others);
  }
  // Where it is left out, the last dimension is the row.
  function.setArgAttr(
      number, argumentAttr,
      ArgumentAttr::get(context, known.getName() ? known.getName() : own,
                        aliases, kind, known.getAccess(),
                        rowRank > 1 ? rowRank : known.getRowRank()));
  return success();
}

LogicalResult lnbwd::recordArgumentRoles(RowwiseOp op) {
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Dims dims = op.getOwnRows() ? kColumn : op.getForm(i).getDims();
    // The programs of a sum have other domains.
    bool isSplit =
        op.getReduction(i) != Reduction::None && op.getForm(i).getSplit();
    if (failed(recordRole(
            op, i, op.getOperandName(i), dims,
            op.getOwnRows() || isSplit ? 0 : op.getForm(i).getColumnDims())))
      return failure();
  }
  return success();
}

LaunchCounts lnbwd::makeLaunchCounts(ImplicitLocOpBuilder &b, RowwiseOp op) {
  LaunchCounts counts;
  if (op.getOwnRows()) {
    // What lnbwd.workgroup_count says, of a number of rows that is known.
    int64_t rows = *op.getStaticRowCount(), workgroups = 1;
    if (int64_t least = op.getScheduleAttr()->rowsPerWorkgroup)
      workgroups = llvm::divideCeil(rows, least);
    if (auto bound = int64_t(op.getFixedWorkgroups()))
      workgroups = std::min(workgroups, bound);
    counts.rows = arith::ConstantIndexOp::create(b, rows);
    counts.workgroups =
        arith::ConstantIndexOp::create(b, std::max<int64_t>(1, workgroups));
    return counts;
  }
  Value rows = op.getRowBlock();
  int64_t rank = cast<ShapedType>(rows.getType()).getRank();
  counts.rows = RowCountOp::create(b, rows, rank - int64_t(op.getNumRowDims()),
                                   op.getRowRatioAttr());
  if (int64_t dims = op.getNumGroupDims())
    counts.groups = GroupCountOp::create(b, rows, dims);
  counts.workgroups = WorkgroupCountOp::create(
      b, counts.rows, counts.groups, *op.getSchedule(), op.getFixedWorkgroups(),
      countLeafParts(op, op.getScheduleAttr()->rowGroups));
  if (counts.groups)
    counts.rows = arith::DivUIOp::create(b, counts.rows, counts.groups);
  return counts;
}
