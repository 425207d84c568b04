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

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

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

  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> maps;
  SmallVector<Attribute> names, reductions;
  for (unsigned i : keep.set_bits()) {
    bool isOutput = i >= unsigned(op.getNumDpsInputs());
    (isOutput ? outputs : inputs).push_back(op.getOperand(i));
    maps.push_back(op.getMap(i));
    if (op.getOperandNames())
      names.push_back((*op.getOperandNames())[i]);
    if (isOutput)
      reductions.push_back(op.getReductions()[i - op.getNumDpsInputs()]);
  }
  // A row block has all row dimensions, and keeps them; those of a matrix's
  // columns may have gone with it.
  llvm::SmallBitVector unused(maps.front().getNumDims(), true);
  for (AffineMap map : maps)
    for (unsigned dim : unused.set_bits())
      if (map.isFunctionOfDim(dim))
        unused.reset(dim);
  // Numbers for each row have a dimension of one column.
  auto numRows = unsigned(op.getNumRowDims());
  if (unused.count() >= unused.size() - numRows)
    unused.reset(unused.size() - 1);
  for (AffineMap &map : maps)
    map = compressDims(map, unused);
  SmallVector<Type> types;
  if (op.hasPureTensorSemantics())
    for (unsigned i : keepOutput.set_bits())
      types.push_back(op.getResult(i).getType());

  auto add = ReductionAttr::get(op.getContext(), Reduction::Add);
  auto slim = RowwiseOp::create(
      rewriter, op.getLoc(), types, op.getEntry(), inputs, outputs,
      rewriter.getAffineMapArrayAttr(maps), op.getNumRowDims(),
      rewriter.getArrayAttr(reductions), /*operand_forms=*/ArrayAttr(),
      op.getOperandNames() ? rewriter.getArrayAttr(names) : ArrayAttr(),
      op.getScheduleAttr(), op.getRowRatioAttr(), /*leaves=*/IntegerAttr(),
      op.getAccumulate() && llvm::is_contained(reductions, add),
      op.getFixedWorkgroups(), op.getOwnRows(), op.getIndependent(),
      op.getCanonical());
  slim.updateForms();
  if (!slim.getAllSums().empty())
    slim.setLeavesAttr(op.getLeavesAttr());
  slim->setDiscardableAttrs(op->getDiscardableAttrDictionary());

  // The region keeps the arguments and yields the values that remain. An
  // argument that goes must have no use left but in dead operations.
  rewriter.cloneRegionBefore(op.getBody(), slim.getBody(),
                             slim.getBody().end());
  Block &body = slim.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<Value> yielded;
  for (unsigned i : keepOutput.set_bits())
    yielded.push_back(yield.getValues()[i]);
  yield->setOperands(yielded);
  for (Operation &bodyOp : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&bodyOp))
      rewriter.eraseOp(&bodyOp);
  llvm::BitVector dropInput = keepInput;
  body.eraseArguments(dropInput.flip());
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

/// Drops the tensor outputs whose results have no use.
static LogicalResult dropUnusedOutputs(RowwiseOp op,
                                       PatternRewriter &rewriter) {
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

/// Whether numbers for each row, among the operands in `keep` and the outputs,
/// say how many rows there are.
static bool isCountedByScalars(RowwiseOp op, const llvm::BitVector &keep) {
  bool isCounted = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (op.getReduction(i) != Reduction::None)
      return false;
    bool isKept = i >= keep.size() || keep.test(i);
    OperandFormAttr form = op.getForm(i);
    isCounted |= isKept && form.getAccess() == Access::Scalar &&
                 form.getRows() == RowDims::All;
  }
  return isCounted;
}

/// Drops the inputs that the region does not use. One row block stays where no
/// output and no number says how many rows there are.
static LogicalResult dropUnreadInputs(RowwiseOp op, PatternRewriter &rewriter) {
  llvm::BitVector keep(op.getNumDpsInputs());
  for (BlockArgument argument : op.getBody().getArguments())
    if (!argument.use_empty())
      keep.set(argument.getArgNumber());
  unsigned numRows = op.getRows().size();
  if (op.getRowOuts().empty() && keep.find_first_in(0, numRows) < 0 &&
      !isCountedByScalars(op, keep))
    keep.set(0);
  if (keep.all())
    return failure();
  shrink(rewriter, op, keep, llvm::BitVector(op.getNumDpsInits(), true));
  return success();
}

void RowwiseOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                            MLIRContext *) {
  results.add(dropUnusedOutputs);
  results.add(dropUnreadInputs);
}

//===----------------------------------------------------------------------===//
// WorkgroupCountOp
//===----------------------------------------------------------------------===//

OpFoldResult WorkgroupCountOp::fold(FoldAdaptor) {
  if (getSchedule()->rowsPerWorkgroup == 0)
    return IntegerAttr::get(IndexType::get(getContext()), 1);
  return {};
}
