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
#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"
#include "lnbwd/LaunchPlan/LaunchNotes.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

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

/// Has `op` write the terms of its sums of one map, and adds the program that
/// combines them. (A canonical order is of all rows, or of groups.)
static void split(IRRewriter &rewriter, RowwiseOp op, AffineMap sumMap) {
  Location loc = op.getLoc();
  auto numInputs = unsigned(op.getNumDpsInputs());
  auto numRows = unsigned(op.getNumRowDims());
  // The last row dimensions are the columns of sums over the others.
  unsigned numKept = sumMap.getNumResults();
  bool isOfGroups = sumMap.isFunctionOfDim(0);
  bool hasColumns = numKept > 0 && !isOfGroups;
  auto all = AffineMap::getMultiDimIdentityMap(
      hasColumns ? numRows : numRows + 1, op.getContext());
  auto reshape = [&](Value buffer) {
    return hasColumns ? buffer : addDimension(rewriter, loc, buffer);
  };
  SmallVector<unsigned> sums = getScalarSums(op);
  llvm::erase_if(sums,
                 [&](unsigned index) { return op.getMap(index) != sumMap; });
  rewriter.setInsertionPoint(op);
  SmallVector<Value> buffers = allocateRowSums(rewriter, op, sums.size());
  SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
  SmallVector<Attribute> reductions(op.getReductions().getValue());
  ProgramOperands operands(hasColumns ? numRows - numKept : numRows);
  SmallVector<ProgramOperands::Place> inputs, outputs;
  rewriter.setInsertionPointAfter(op);
  for (auto [index, buffer] : llvm::zip_equal(sums, buffers)) {
    std::string name = op.getOperandName(index);
    AffineMap map = op.getMap(index);
    SmallVector<unsigned> dims = llvm::map_to_vector(
        llvm::seq(numKept), [&](unsigned i) { return map.getDimPosition(i); });
    if (!hasColumns)
      dims.push_back(numRows);
    inputs.push_back(operands.addInput(reshape(buffer), all, name + "_terms"));
    outputs.push_back(operands.addOutput(reshape(op.getOperand(index)),
                                         all.getSubMap(dims), name,
                                         op.getReduction(index)));
    maps[index] = AffineMapAttr::get(
        AffineMap::getMultiDimIdentityMap(map.getNumDims(), op.getContext())
            .getMajorSubMap(numRows));
    reductions[index - numInputs] =
        ReductionAttr::get(op.getContext(), Reduction::None);
  }
  std::string suffix = isOfGroups   ? "_sum_groups"
                       : hasColumns ? "_sum_last" + std::to_string(numKept)
                                    : "_sum";
  RowwiseOp sum =
      operands.create(rewriter, loc, (op.getEntry() + suffix).str());
  sum->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (hasColumns)
    sum->setAttr(rowRatioAttr,
                 rewriter.getDenseI64ArrayAttr(
                     {1, ShapedType::getNumElements(
                             ArrayRef(op.getDimSizes())
                                 .slice(numRows - numKept, numKept))}));
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
      llvm::SmallSetVector<AffineMap, 2> maps;
      for (unsigned index : getScalarSums(op))
        maps.insert(op.getMap(index));
      for (AffineMap map : maps)
        split(rewriter, op, map);
      op.setAccumulate(op.getAccumulate() && !op.getAllSums().empty());
    }
    numSplit += programs->size();
  }
};
} // namespace
