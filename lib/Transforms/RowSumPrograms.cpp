//===- RowSumPrograms.cpp - Row sums computed before ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two copies of a row program: one yields row sums, the other has them as row
// scalars.
//
//===----------------------------------------------------------------------===//

#include "RowSumPrograms.h"

#include "lnbwd/LaunchPlan/LaunchCounts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace lnbwd;

/// Adds buffers for `count` row sums of `op`.
static SmallVector<Value> allocate(RewriterBase &rewriter, RowwiseOp op,
                                   size_t count, int64_t parts) {
  Location loc = op.getLoc();
  auto block = cast<MemRefType>(op.getRowBlock().getType());
  SmallVector<int64_t> shape(
      block.getShape().drop_back(size_t(op.getRowRank())));
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
  SmallVector<std::string> names;
  for (size_t i = 0; i < sums.size(); ++i)
    names.push_back("row_sum_" + std::to_string(allocations.size() + i));
  llvm::append_range(allocations, buffers);

  auto makeProgram = [&](StringRef suffix, bool computesSums) {
    SmallVector<Value> scalars(op.getScalars());
    SmallVector<std::string> operandNames;
    unsigned numInputs = op.getNumDpsInputs();
    for (unsigned i = 0; i < numInputs; ++i)
      operandNames.push_back(op.getOperandName(i));
    llvm::append_range(operandNames, names);
    if (!computesSums) {
      llvm::append_range(scalars, buffers);
      for (unsigned i = numInputs; i < op->getNumOperands(); ++i)
        operandNames.push_back(op.getOperandName(i));
    }
    auto none = ValueRange();
    auto program = RowwiseOp::create(
        rewriter, loc, TypeRange(), (op.getEntry() + suffix).str(),
        op.getRows(), op.getColumns(), op.getGroupColumns(), scalars,
        /*matrices=*/none, computesSums ? none : ValueRange(op.getRowOuts()),
        computesSums ? ValueRange(buffers) : ValueRange(op.getScalarOuts()),
        computesSums ? none : ValueRange(op.getColumnSums()),
        computesSums ? none : ValueRange(op.getGroupSums()),
        /*outer_sums=*/none,
        rewriter.getStrArrayAttr(
            SmallVector<StringRef>(operandNames.begin(), operandNames.end())),
        ScheduleAttr(), op.getRowRank(), op.getAccumulate() && !computesSums,
        computesSums ? 0 : op.getFixedWorkgroups());
    program->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    OpBuilder::InsertionGuard guard(rewriter);
    Block *copy = rewriter.createBlock(&program.getBody());
    IRMapping mapping;
    for (BlockArgument argument : body.getArguments())
      mapping.map(argument,
                  copy->addArgument(argument.getType(), argument.getLoc()));
    if (!computesSums)
      for (Operation *sum : sums)
        mapping.map(sum->getResult(0),
                    copy->addArgument(rewriter.getF32Type(), sum->getLoc()));
    for (Operation &bodyOp : body.without_terminator())
      if (computesSums || !llvm::is_contained(sums, &bodyOp))
        rewriter.clone(bodyOp, mapping);
    SmallVector<Value> outputs;
    if (computesSums)
      for (Operation *sum : sums)
        outputs.push_back(mapping.lookup(sum->getResult(0)));
    else
      for (Value value : yield.getValues())
        outputs.push_back(mapping.lookupOrDefault(value));
    YieldOp::create(rewriter, yield.getLoc(), outputs);
    return program;
  };
  RowSumPrograms programs;
  programs.sums = makeProgram(suffix, /*computesSums=*/true);
  programs.rest = makeProgram("", /*computesSums=*/false);
  rewriter.eraseOp(op);
  return programs;
}
