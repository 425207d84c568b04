//===- FinalizeColumnSums.cpp - Partial sums and their sum ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each workgroup its own row of partial sums and adds a row program over
// those rows. The finalising kernel is thus an ordinary row program: it has no
// lowering of its own.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Passes.h"
#include "lnbwd/Transforms/ScheduleLimits.h"
#include "lnbwd/Transforms/ScheduleModel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd {
#define GEN_PASS_DEF_FINALIZECOLUMNSUMSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Adds, before `op`, one allocation of partial sums for each column sum.
static SmallVector<Value> allocatePartials(OpBuilder &builder, RowwiseOp op) {
  Location loc = op.getLoc();
  Value rows =
      RowCountOp::create(builder, loc, op.getRowBlock(), op.getRowRank());
  Value workgroups = WorkgroupCountOp::create(
      builder, loc, rows, op.getScheduleAttr(), op.getFixedWorkgroups());
  auto block = cast<ShapedType>(op.getRowBlock().getType());
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape,
                     block.getShape().take_back(size_t(op.getRowRank())));
  auto type = MemRefType::get(shape, builder.getF32Type());
  SmallVector<Value> partials;
  for (size_t i = 0; i < op.getColumnSums().size(); ++i)
    partials.push_back(
        memref::AllocOp::create(builder, loc, type, ValueRange{workgroups}));
  return partials;
}

/// Adds, at the insertion point, the program that sums the rows of `partials`.
static RowwiseOp addFinalize(OpBuilder &builder, RowwiseOp op,
                             ValueRange partials) {
  Location loc = op.getLoc();
  SmallVector<Attribute> names;
  unsigned firstSum = op.getNumOperands() - op.getColumnSums().size();
  auto nameOf = [&](unsigned i) { return op.getOperandName(firstSum + i); };
  for (unsigned i = 0; i < partials.size(); ++i)
    names.push_back(builder.getStringAttr(nameOf(i) + "_partials"));
  for (unsigned i = 0; i < partials.size(); ++i)
    names.push_back(builder.getStringAttr(nameOf(i)));
  auto finalize = RowwiseOp::create(
      builder, loc, TypeRange(), (op.getEntry() + "_finalize").str(), partials,
      ValueRange(), ValueRange(), ValueRange(), ValueRange(),
      op.getColumnSums(),
      op.getOperandNames() ? builder.getArrayAttr(names) : ArrayAttr(),
      ScheduleAttr(), op.getRowRank(), op.getAccumulate());
  OpBuilder::InsertionGuard guard(builder);
  auto row = VectorType::get({op.getRowLength()}, builder.getF32Type());
  SmallVector<Type> types(partials.size(), row);
  SmallVector<Location> locs(partials.size(), loc);
  Block *body = builder.createBlock(&finalize.getBody(),
                                    finalize.getBody().end(), types, locs);
  YieldOp::create(builder, loc, body->getArguments());
  return finalize;
}

namespace {
class FinalizeColumnSums
    : public lnbwd::impl::FinalizeColumnSumsPassBase<FinalizeColumnSums> {
public:
  using FinalizeColumnSumsPassBase::FinalizeColumnSumsPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found =
        lookupChip(chip, [&] { return emitError(getOperation()->getLoc()); });
    if (failed(found))
      return signalPassFailure();
    SmallVector<RowwiseOp> programs;
    WalkResult result = getOperation()->walk([&](RowwiseOp op) {
      if (op.getColumnSums().empty() || op.hasPartialColumnSums())
        return WalkResult::advance();
      if (!op.getSchedule() || !op.hasPureBufferSemantics()) {
        op.emitOpError("expected memrefs and a schedule; run bufferization and "
                       "lnbwd-select-schedule before");
        return WalkResult::interrupt();
      }
      if (op.getSchedule()->getRowsPerWorkgroup() != 0)
        programs.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    IRRewriter rewriter(&getContext());
    for (RowwiseOp op : programs) {
      rewriter.setInsertionPoint(op);
      SmallVector<Value> partials = allocatePartials(rewriter, op);
      rewriter.setInsertionPointAfter(op);
      RowwiseOp finalize = addFinalize(rewriter, op, partials);
      ScheduleAttr schedule =
          chooseFinalizeSchedule(finalize, *op.getSchedule(), **found);
      if (failed(checkSchedule(finalize, schedule, **found,
                               [&] { return finalize.emitOpError(); })))
        return signalPassFailure();
      finalize.setScheduleAttr(schedule);
      for (Value partial : partials)
        memref::DeallocOp::create(rewriter, op.getLoc(), partial);
      rewriter.modifyOpInPlace(op, [&] {
        op.getColumnSumsMutable().assign(partials);
        op.setAccumulate(false);
      });
      ++numFinalized;
    }
  }
};
} // namespace
