//===- RowPrograms.cpp - What passes over row programs begin with ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects programs before a pass rewrites the first of them, and makes two
// copies of one: one yields row sums, the other has them as row scalars.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lnbwd;

FailureOr<SmallVector<RowwiseOp>>
lnbwd::collectPrograms(Operation *root,
                       function_ref<FailureOr<bool>(RowwiseOp)> isTaken) {
  SmallVector<RowwiseOp> programs;
  WalkResult result = root->walk([&](RowwiseOp op) {
    FailureOr<bool> taken = isTaken(op);
    if (failed(taken))
      return WalkResult::interrupt();
    if (*taken)
      programs.push_back(op);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return programs;
}

LogicalResult lnbwd::checkNoContractions(RowwiseOp op) {
  if (!op.hasContractions())
    return success();
  bool hasMatrix = !op.getMatrices().empty();
  OperandRange operands = hasMatrix ? op.getMatrices() : op.getOuterSums();
  return op.emitOpError("cannot be scheduled: expected a row program without "
                        "matrices and outer sums, got the ")
         << (hasMatrix ? "matrix '" : "outer sum '")
         << op.getOperandName(operands.getBeginOperandIndex())
         << "'; run lnbwd-split-contractions before";
}

LogicalResult lnbwd::dropUnneeded(Operation *root, bool inProducts) {
  RewritePatternSet patterns(root->getContext());
  RowwiseOp::getCanonicalizationPatterns(patterns, root->getContext());
  if (inProducts)
    LinearOp::getCanonicalizationPatterns(patterns, root->getContext());
  return applyPatternsGreedily(root, std::move(patterns));
}

/// Adds buffers for `count` row sums of `op`.
static SmallVector<Value> allocate(RewriterBase &rewriter, RowwiseOp op,
                                   size_t count, int64_t parts) {
  Location loc = op.getLoc();
  SmallVector<int64_t> shape = op.getRowBlockShape();
  shape.truncate(size_t(op.getNumRowDims()));
  SmallVector<Value> sizes, buffers;
  for (auto [i, dim] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(dim))
      sizes.push_back(
          memref::DimOp::create(rewriter, loc, op.getRowBlock(), int64_t(i)));
  if (parts)
    shape.push_back(parts);
  for (size_t i = 0; i < count; ++i) {
    auto alloc = memref::AllocOp::create(
        rewriter, loc, MemRefType::get(shape, rewriter.getF32Type()), sizes);
    alloc->setAttr(rowScalarAttr,
                   parts ? Attribute(rewriter.getI64IntegerAttr(parts))
                         : rewriter.getUnitAttr());
    buffers.push_back(alloc);
  }
  return buffers;
}

RowSumPrograms lnbwd::hoistRowSums(RewriterBase &rewriter, RowwiseOp op,
                                   ArrayRef<Operation *> sums, StringRef suffix,
                                   int64_t parts,
                                   SmallVectorImpl<Value> &allocations) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<Value> buffers = allocate(rewriter, op, sums.size(), parts);
  size_t first = allocations.size();
  llvm::append_range(allocations, buffers);
  auto rowMap = AffineMap::getMultiDimMapWithTargets(
      op.getMap(0).getNumDims(),
      llvm::to_vector(llvm::seq<unsigned>(0, unsigned(op.getNumRowDims()))),
      op.getContext());
  if (parts)
    rowMap =
        AffineMap::get(rowMap.getNumDims(), 1,
                       llvm::to_vector(llvm::concat<const AffineExpr>(
                           rowMap.getResults(),
                           ArrayRef(getAffineSymbolExpr(0, op.getContext())))),
                       op.getContext());

  auto makeProgram = [&](StringRef suffix, bool computesSums) {
    ProgramOperands operands(unsigned(op.getNumRowDims()));
    SmallVector<ProgramOperands::Place> inputs, given, outputs;
    auto numInputs = unsigned(op.getNumDpsInputs());
    for (unsigned i = 0; i < numInputs; ++i)
      inputs.push_back(operands.addInput(op.getOperand(i), op.getMap(i),
                                         op.getOperandName(i)));
    for (auto [i, buffer] : llvm::enumerate(buffers)) {
      std::string name = "row_sum_" + std::to_string(first + i);
      if (computesSums)
        outputs.push_back(
            operands.addOutput(buffer, rowMap, name, Reduction::None));
      else
        given.push_back(operands.addInput(buffer, rowMap, name));
    }
    for (unsigned i = numInputs; i < op->getNumOperands() && !computesSums; ++i)
      outputs.push_back(operands.addOutput(
          op.getOperand(i), op.getMap(i), op.getOperandName(i),
          cast<ReductionAttr>(op.getReductions()[i - numInputs]).getValue()));
    RowwiseOp program =
        operands.create(rewriter, loc, (op.getEntry() + suffix).str());
    program->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    if (!computesSums) {
      program.setAccumulate(op.getAccumulate());
      program.setFixedWorkgroups(op.getFixedWorkgroups());
    }
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&program.getBody().front());
    IRMapping mapping;
    for (auto [argument, place] : llvm::zip_equal(body.getArguments(), inputs))
      mapping.map(argument, operands.getArgument(place));
    if (!computesSums)
      for (auto [sum, place] : llvm::zip_equal(sums, given))
        mapping.map(sum->getResult(0), operands.getArgument(place));
    for (Operation &bodyOp : body.without_terminator())
      if (computesSums || !llvm::is_contained(sums, &bodyOp))
        rewriter.clone(bodyOp, mapping);
    for (auto [i, place] : llvm::enumerate(outputs))
      operands.setResult(
          place, mapping.lookupOrDefault(computesSums ? sums[i]->getResult(0)
                                                      : yield.getValues()[i]));
    operands.yield(rewriter, yield.getLoc());
    return program;
  };
  RowSumPrograms programs;
  programs.sums = makeProgram(suffix, /*computesSums=*/true);
  programs.rest = makeProgram("", /*computesSums=*/false);
  rewriter.eraseOp(op);
  return programs;
}
