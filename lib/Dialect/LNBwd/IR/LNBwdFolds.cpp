//===- LNBwdFolds.cpp - Folds and canonicalisations -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What nobody asks for is not computed: an unused output goes, with it the part
// of the row program that computed it, and then the operands that only this
// part read. Named operations do the same in LNBwdNorms.cpp.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// RowwiseOp
//===----------------------------------------------------------------------===//

RowwiseOp lnbwd::cloneWithOperands(RewriterBase &rewriter, RowwiseOp op,
                                   const llvm::BitVector &keepInput,
                                   const llvm::BitVector &keepOutput) {
  llvm::BitVector keep = keepInput;
  keep.resize(op.getNumOperands());
  for (unsigned i : keepOutput.set_bits())
    keep.set(op.getNumDpsInputs() + i);

  SmallVector<Attribute> names;
  auto select = [&](OperandRange range) {
    SmallVector<Value> kept;
    unsigned index = range.empty() ? 0 : range.getBeginOperandIndex();
    for (Value value : range) {
      if (keep[index]) {
        kept.push_back(value);
        if (op.getOperandNames())
          names.push_back((*op.getOperandNames())[index]);
      }
      ++index;
    }
    return kept;
  };
  SmallVector<Value> rows = select(op.getRows());
  SmallVector<Value> columns = select(op.getColumns());
  SmallVector<Value> groupColumns = select(op.getGroupColumns());
  SmallVector<Value> scalars = select(op.getScalars());
  SmallVector<Value> matrices = select(op.getMatrices());
  SmallVector<Value> rowOuts = select(op.getRowOuts());
  SmallVector<Value> scalarOuts = select(op.getScalarOuts());
  SmallVector<Value> columnSums = select(op.getColumnSums());
  SmallVector<Value> groupSums = select(op.getGroupSums());
  SmallVector<Value> outerSums = select(op.getOuterSums());
  SmallVector<Type> types;
  if (op.hasPureTensorSemantics())
    for (unsigned i : keepOutput.set_bits())
      types.push_back(op.getResult(i).getType());

  auto slim = RowwiseOp::create(
      rewriter, op.getLoc(), types, op.getEntry(), rows, columns, groupColumns,
      scalars, matrices, rowOuts, scalarOuts, columnSums, groupSums, outerSums,
      op.getOperandNames() ? rewriter.getArrayAttr(names) : ArrayAttr(),
      op.getScheduleAttr(), op.getRowRank(),
      op.getAccumulate() &&
          !(columnSums.empty() && groupSums.empty() && outerSums.empty()),
      op.getFixedWorkgroups());
  slim->setDiscardableAttrs(op->getDiscardableAttrDictionary());

  // The region keeps the arguments and yields the values that remain. An
  // argument that goes must have no use left but in dead operations: those are
  // left out of the copy.
  OpBuilder::InsertionGuard guard(rewriter);
  IRMapping mapping;
  Block &from = op.getBody().front();
  Block *to = rewriter.createBlock(&slim.getBody());
  for (BlockArgument argument : from.getArguments())
    if (keepInput[argument.getArgNumber()])
      mapping.map(argument,
                  to->addArgument(argument.getType(), argument.getLoc()));
  auto yield = cast<YieldOp>(from.getTerminator());
  SetVector<Operation *> live;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *candidate) {
    return candidate->getBlock() == &from;
  };
  SmallVector<Value> outputs;
  for (unsigned i : keepOutput.set_bits()) {
    outputs.push_back(yield.getValues()[i]);
    if (Operation *producer = outputs.back().getDefiningOp())
      (void)getBackwardSlice(producer, &live, options);
  }
  for (Operation &bodyOp : from.without_terminator())
    if (live.contains(&bodyOp))
      rewriter.clone(bodyOp, mapping);
  for (Value &output : outputs)
    output = mapping.lookup(output);
  YieldOp::create(rewriter, yield.getLoc(), outputs);
  return slim;
}

/// Replaces `op` by what cloneWithOperands makes of it.
static void shrink(PatternRewriter &rewriter, RowwiseOp op,
                   const llvm::BitVector &keepInput,
                   const llvm::BitVector &keepOutput) {
  RowwiseOp slim = cloneWithOperands(rewriter, op, keepInput, keepOutput);
  if (op.hasPureTensorSemantics())
    for (auto [index, result] :
         llvm::zip_equal(keepOutput.set_bits(), slim.getResults()))
      rewriter.replaceAllUsesWith(op.getResult(index), result);
  rewriter.eraseOp(op);
}

namespace {
/// Drops the tensor outputs whose results have no use.
struct DropUnusedOutputs : OpRewritePattern<RowwiseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RowwiseOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.use_empty())
      return failure();
    llvm::BitVector keep(op.getNumResults());
    for (OpResult result : op.getResults())
      if (!result.use_empty())
        keep.set(result.getResultNumber());
    if (keep.all())
      return failure();
    shrink(rewriter, op, llvm::BitVector(op.getNumDpsInputs(), true), keep);
    return success();
  }
};

/// Drops the inputs that the region does not use. One row block stays where no
/// output is one: it says how many rows there are.
struct DropUnreadInputs : OpRewritePattern<RowwiseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RowwiseOp op,
                                PatternRewriter &rewriter) const override {
    llvm::BitVector keep(op.getNumDpsInputs());
    for (BlockArgument argument : op.getBody().getArguments())
      if (!argument.use_empty())
        keep.set(argument.getArgNumber());
    unsigned numRows = op.getRows().size();
    if (op.getRowOuts().empty() && keep.find_first_in(0, numRows) < 0)
      keep.set(0);
    if (keep.all())
      return failure();
    shrink(rewriter, op, keep, llvm::BitVector(op.getNumDpsInits(), true));
    return success();
  }
};
} // namespace

void RowwiseOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                            MLIRContext *context) {
  results.add<DropUnusedOutputs, DropUnreadInputs>(context);
}

//===----------------------------------------------------------------------===//
// WorkgroupCountOp
//===----------------------------------------------------------------------===//

OpFoldResult WorkgroupCountOp::fold(FoldAdaptor) {
  if (getSchedule().getRowsPerWorkgroup() == 0)
    return IntegerAttr::get(IndexType::get(getContext()), 1);
  return {};
}
