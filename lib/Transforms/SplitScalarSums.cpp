//===- SplitScalarSums.cpp - Sums of row scalars over rows ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row scalars that are combined over rows are column sums of rows of one
// element.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"
#include "lnbwd/LaunchPlan/LaunchNotes.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITSCALARSUMSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// `buffer` with one more dimension, of one element, after the others.
static Value addDimension(OpBuilder &b, Location loc, Value buffer) {
  SmallVector<int64_t> shape(cast<MemRefType>(buffer.getType()).getShape());
  SmallVector<ReassociationIndices> dims;
  for (size_t i = 0; i < shape.size(); ++i)
    dims.push_back({int64_t(i)});
  if (!dims.empty())
    dims.back().push_back(int64_t(shape.size()));
  shape.push_back(1);
  return memref::ExpandShapeOp::create(b, loc, shape, buffer, dims);
}

/// The outputs of `op` that are row scalars combined over rows.
static SmallVector<unsigned> getScalarSums(RowwiseOp op) {
  return llvm::filter_to_vector(
      llvm::seq(unsigned(op.getNumDpsInputs()), op->getNumOperands()),
      [&](unsigned i) {
        return op.getReduction(i) != Reduction::None &&
               op.getAccess(i) == RowwiseOp::Access::Scalar;
      });
}

/// Has `op` write the terms of its sums over groups, or of those over all rows,
/// and adds the program that combines them. (A canonical order is of one kind.)
static void split(IRRewriter &rewriter, RowwiseOp op, bool ofGroups) {
  Location loc = op.getLoc();
  auto numInputs = unsigned(op.getNumDpsInputs());
  auto numRows = unsigned(op.getNumRowDims());
  auto all = AffineMap::getMultiDimIdentityMap(numRows + 1, op.getContext());
  SmallVector<unsigned> sums = getScalarSums(op);
  llvm::erase_if(sums, [&](unsigned index) {
    return (op.getMap(index).getNumResults() > 0) != ofGroups;
  });
  if (sums.empty())
    return;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> buffers = allocateRowSums(rewriter, op, sums.size());
  SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
  SmallVector<Attribute> reductions(op.getReductions().getValue());
  ProgramOperands operands(numRows);
  SmallVector<ProgramOperands::Place> inputs, outputs;
  rewriter.setInsertionPointAfter(op);
  for (auto [index, buffer] : llvm::zip_equal(sums, buffers)) {
    std::string name = op.getOperandName(index);
    AffineMap map = op.getMap(index);
    // The dimensions of groups come first.
    SmallVector<unsigned> dims =
        llvm::to_vector(llvm::seq(0u, map.getNumResults()));
    dims.push_back(numRows);
    inputs.push_back(operands.addInput(addDimension(rewriter, loc, buffer), all,
                                       name + "_terms"));
    outputs.push_back(
        operands.addOutput(addDimension(rewriter, loc, op.getOperand(index)),
                           all.getSubMap(dims), name, op.getReduction(index)));
    maps[index] = AffineMapAttr::get(
        AffineMap::getMultiDimIdentityMap(map.getNumDims(), op.getContext())
            .getMajorSubMap(numRows));
    reductions[index - numInputs] =
        ReductionAttr::get(op.getContext(), Reduction::None);
  }
  RowwiseOp sum = operands.create(
      rewriter, loc,
      (op.getEntry() + (ofGroups ? "_sum_groups" : "_sum")).str());
  sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  sum.setAccumulate(op.getAccumulate());
  OpBuilder body = OpBuilder::atBlockEnd(&sum.getBody().front());
  for (auto [input, output] : llvm::zip_equal(inputs, outputs))
    operands.setResult(output, operands.getArgument(input));
  operands.yield(body, loc);
  for (Value buffer : buffers)
    memref::DeallocOp::create(rewriter, loc, buffer);
  rewriter.modifyOpInPlace(op, [&] {
    for (auto [index, buffer] : llvm::zip_equal(sums, buffers))
      op->setOperand(index, buffer);
    op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
    op.setReductionsAttr(rewriter.getArrayAttr(reductions));
  });
}

namespace {
class SplitScalarSums
    : public lnbwd::impl::SplitScalarSumsPassBase<SplitScalarSums> {
  void runOnOperation() override {
    FailureOr<SmallVector<RowwiseOp>> programs =
        collectPrograms(getOperation(), [](RowwiseOp op) -> FailureOr<bool> {
          if (getScalarSums(op).empty())
            return false;
          if (!op.hasPureBufferSemantics() || op.getSchedule())
            return op.emitOpError("expected memrefs and no schedule; run "
                                  "bufferization before, and "
                                  "lnbwd-select-schedule after");
          // The launch plan has the arguments as the program has them.
          if (failed(recordArgumentRoles(op)))
            return failure();
          return true;
        });
    if (failed(programs))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (RowwiseOp op : *programs) {
      for (bool ofGroups : {true, false})
        split(rewriter, op, ofGroups);
      op.setAccumulate(op.getAccumulate() && !op.getAllSums().empty());
    }
    numSplit += programs->size();
  }
};
} // namespace
