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

/// An argument that several operands share, such as a dx over dy, has one name;
/// the others are its aliases.
static void noteAlias(FunctionOpInterface function, unsigned number,
                      StringRef name) {
  if (function.getArgAttrOfType<StringAttr>(number, argumentNameAttr) == name)
    return;
  SmallVector<Attribute> aliases;
  if (auto known =
          function.getArgAttrOfType<ArrayAttr>(number, argumentAliasesAttr))
    llvm::append_range(aliases, known);
  auto alias = StringAttr::get(function.getContext(), name);
  if (llvm::is_contained(aliases, alias))
    return;
  aliases.push_back(alias);
  function.setArgAttr(number, argumentAliasesAttr,
                      ArrayAttr::get(function.getContext(), aliases));
}

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
  // The launcher goes by what is noted: it has to be what the kernel does.
  auto note = [&](StringRef attribute, Attribute value) -> LogicalResult {
    Attribute known = function.getArgAttr(number, attribute);
    if (known && known != value)
      return op->emitOpError("expected ")
             << attribute << " of argument " << number << " to be " << value
             << ", as the operand '" << name << "' has it, got " << known
             << "; leave the attribute out, it is set here";
    function.setArgAttr(number, attribute, value);
    return success();
  };
  if (!function.getArgAttr(number, argumentNameAttr))
    function.setArgAttr(number, argumentNameAttr,
                        StringAttr::get(context, name));
  noteAlias(function, number, name);
  if (failed(note(argumentKindAttr, StringAttr::get(context, getName(dims)))))
    return failure();
  // Where there is none, the last dimension is the row.
  auto rank = IntegerAttr::get(IntegerType::get(context, 64), rowRank);
  if (rowRank > 0 &&
      (rowRank > 1 || function.getArgAttr(number, argumentRowRankAttr)) &&
      failed(note(argumentRowRankAttr, rank)))
    return failure();
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
    if (int64_t least = op.getSchedule()->getRowsPerWorkgroup())
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
      countLeafParts(op, op.getSchedule()->getRowGroups()));
  if (counts.groups)
    counts.rows = arith::DivUIOp::create(b, counts.rows, counts.groups);
  return counts;
}
