//===- SplitSums.cpp - Sums in programs of their own ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program combines over rows other than as column sums and group sums is
// one of these in another domain: of numbers of rows, over rows of one element;
// of the last row dimensions, over rows that have these as columns.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/LaunchPlan/LaunchNotes.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITSUMSPASS
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

/// Whether output `index` of `op` is combined in programs of their own.
static bool isSplit(RowwiseOp op, unsigned index) {
  return op.getReduction(index) != Reduction::None &&
         (op.getForm(index).getAccess() == Access::Scalar ||
          op.getForm(index).getSplit());
}

namespace {
/// Sums of one map that `op` has, whose terms it writes.
class SumPrograms {
public:
  SumPrograms(IRRewriter &rewriter, RowwiseOp op, ArrayRef<unsigned> outputs);

  /// The map of the terms, of the domain of `op`.
  AffineMap getTermsMap() {
    return AffineMap::getMultiDimIdentityMap(sumMap.getNumDims(),
                                             op.getContext())
        .getMajorSubMap(numTermDims);
  }
  ArrayRef<Value> getTerms() const { return terms; }
  /// Adds the programs that combine the terms.
  void add();

private:
  void addProgram(ValueRange from, ValueRange to, unsigned numRows,
                  AffineMap map, StringRef suffix);

  IRRewriter &rewriter;
  RowwiseOp op;
  SmallVector<unsigned> outputs;
  AffineMap sumMap;
  /// Where the sum is split: it keeps the dimensions from `first` to before
  /// `last` of its terms.
  bool isSplit;
  unsigned first = 0, last = 0, numTermDims;
  SmallVector<Value> terms;
};
} // namespace

SumPrograms::SumPrograms(IRRewriter &rewriter, RowwiseOp op,
                         ArrayRef<unsigned> outputs)
    : rewriter(rewriter), op(op), outputs(outputs),
      sumMap(op.getMap(outputs.front())),
      isSplit(op.getForm(outputs.front()).getSplit()),
      numTermDims(unsigned(op.getNumRowDims())) {
  if (isSplit) {
    ArrayRef<int64_t> kept = op.getForm(outputs.front()).getKept();
    first = unsigned(kept[0]);
    last = unsigned(kept[1]);
    numTermDims = unsigned(kept[2]);
  }
  terms = allocateTerms(rewriter, op, outputs.size(), numTermDims);
}

/// Adds the program that combines what is in the buffers `from`, whose first
/// `numRows` dimensions are those of rows, into what has `map`, `to`.
void SumPrograms::addProgram(ValueRange from, ValueRange to, unsigned numRows,
                             AffineMap map, StringRef suffix) {
  RowwiseOp program = addCombination(rewriter, op, op.getEntry() + suffix,
                                     "_terms", outputs, from, to, numRows, map);
  inheritAttributes(program, op, /*readsParts=*/true);
  program.setAccumulate(op.getAccumulate() && !program.getAllSums().empty());
  if (isSplit) {
    SmallVector<int64_t> sizes = op.getDimSizes();
    auto count = [&](unsigned begin, unsigned end) {
      return begin < end ? ShapedType::getNumElements(
                               ArrayRef(sizes).slice(begin, end - begin))
                         : 1;
    };
    auto launched = unsigned(op.getNumRowDims());
    std::array ratio{count(launched, numRows), count(numRows, launched)};
    if (std::optional<ArrayRef<int64_t>> ofAll = op.getRowRatio()) {
      ratio[0] *= ofAll->front();
      ratio[1] *= ofAll->back();
    }
    program.setRowRatio(ratio);
  }
}

void SumPrograms::add() {
  SmallVector<Value> sums = llvm::map_to_vector(
      outputs, [&](unsigned index) { return op.getOperand(index); });
  auto identity = [&](unsigned count) {
    return AffineMap::getMultiDimIdentityMap(count, op.getContext());
  };
  if (!isSplit) {
    // Rows of one element.
    auto reshape = [&](ValueRange buffers) {
      return llvm::map_to_vector(buffers, [&](Value buffer) {
        return addDimension(rewriter, op.getLoc(), buffer);
      });
    };
    AffineMap all = identity(numTermDims + 1);
    SmallVector<unsigned> dims =
        llvm::to_vector(llvm::seq(0u, sumMap.getNumResults()));
    dims.push_back(numTermDims);
    return addProgram(reshape(terms), reshape(sums), numTermDims,
                      all.getSubMap(dims),
                      dims.size() > 1 ? "_sum_groups" : "_sum");
  }
  std::string suffix =
      "_sum_" + std::to_string(first) + "_" + std::to_string(last);
  SmallVector<Value> combined = terms, ofRows;
  if (last != numTermDims) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    combined = ofRows = allocateTerms(rewriter, op, terms.size(), last);
  }
  if (!ofRows.empty())
    addProgram(terms, ofRows, last, identity(numTermDims).getMajorSubMap(last),
               suffix + "_rows");
  addProgram(combined, sums, first, identity(last).getMinorSubMap(last - first),
             suffix);
  for (Value buffer : ofRows)
    memref::DeallocOp::create(rewriter, op.getLoc(), buffer);
}

/// Has a copy of `op` write the terms of its sums, and adds the programs that
/// combine them: of each map, since a canonical order is of all rows, or of
/// groups.
static void split(IRRewriter &rewriter, RowwiseOp op) {
  auto numInputs = unsigned(op.getNumDpsInputs());
  llvm::MapVector<AffineMap, SmallVector<unsigned>> byMap;
  for (unsigned i = numInputs; i < op->getNumOperands(); ++i)
    if (isSplit(op, i))
      byMap[op.getMap(i)].push_back(i);
  rewriter.setInsertionPoint(op);
  SmallVector<SumPrograms> sums;
  SmallVector<PlacedValue> outputs;
  for (unsigned i = numInputs; i < op->getNumOperands(); ++i)
    outputs.push_back({op.getYielded(i - numInputs), op.getOperand(i),
                       op.getOperandName(i), /*hasRows=*/true, op.getMap(i),
                       op.getReduction(i)});
  for (auto &[map, indices] : byMap) {
    SumPrograms &programs = sums.emplace_back(rewriter, op, indices);
    for (auto [index, buffer] : llvm::zip_equal(indices, programs.getTerms())) {
      PlacedValue &output = outputs[index - numInputs];
      output.buffer = buffer;
      output.map = programs.getTermsMap();
      output.reduction = Reduction::None;
    }
  }
  rewriter.setInsertionPointAfter(op);
  writeProgram(rewriter, op, op.getEntry(), /*given=*/{}, outputs,
               op.getRowLength());
  for (SumPrograms &programs : sums)
    programs.add();
  for (SumPrograms &programs : sums)
    for (Value buffer : programs.getTerms())
      memref::DeallocOp::create(rewriter, op.getLoc(), buffer);
  rewriter.eraseOp(op);
}

namespace {
struct SplitSums : lnbwd::impl::SplitSumsPassBase<SplitSums> {
  void runOnOperation() override {
    FailureOr<SmallVector<RowwiseOp>> programs =
        collectPrograms(getOperation(), [](RowwiseOp op) -> FailureOr<bool> {
          if (llvm::none_of(llvm::seq(unsigned(op.getNumDpsInputs()),
                                      op->getNumOperands()),
                            [&](unsigned index) { return isSplit(op, index); }))
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
    for (RowwiseOp op : *programs)
      split(rewriter, op);
    numSplit += programs->size();
  }
};
} // namespace
