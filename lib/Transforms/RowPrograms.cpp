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
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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
  if (!op.hasContractions() || op.getProduct())
    return success();
  bool hasMatrix = !op.getMatrices().empty();
  OperandRange operands = hasMatrix ? op.getMatrices() : op.getOuterSums();
  return op.emitOpError("cannot be scheduled: expected a row program without "
                        "matrices and outer sums, got the ")
         << (hasMatrix ? "matrix '" : "outer sum '")
         << op.getOperandName(operands.getBeginOperandIndex())
         << "'; run lnbwd-split-contractions before";
}

LogicalResult lnbwd::checkNotRead(RowwiseOp op, ValueRange outputs,
                                  StringRef where) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (llvm::is_contained(outputs, input->get()))
      return op.emitOpError("cannot be split ")
             << where << ": operand " << input->getOperandNumber() << " ("
             << op.getOperandName(input->getOperandNumber())
             << ") is an output as well; give the output a buffer of its own";
  return success();
}

LogicalResult lnbwd::dropUnneeded(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  RowwiseOp::getCanonicalizationPatterns(patterns, root->getContext());
  return applyPatternsGreedily(root, std::move(patterns));
}

void lnbwd::walkBack(ValueRange values, function_ref<bool(Value)> goesOn) {
  llvm::DenseSet<Value> visited;
  SmallVector<Value> pending(llvm::reverse(values));
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!visited.insert(value).second || !goesOn(value))
      continue;
    if (Operation *producer = value.getDefiningOp())
      llvm::append_range(pending, llvm::reverse(producer->getOperands()));
  }
}

void lnbwd::inheritAttributes(RowwiseOp part, RowwiseOp op, bool readsParts) {
  part.setOwnRows(op.getOwnRows());
  part.setRowRatioAttr(op.getRowRatioAttr());
  part.setIndependent(op.getIndependent() && !readsParts);
  part.setCanonical(op.getCanonical());
  part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
}

RowwiseOp lnbwd::writeProgram(OpBuilder &b, RowwiseOp op, const Twine &entry,
                              ArrayRef<PlacedValue> given,
                              ArrayRef<PlacedValue> outputs, int64_t length) {
  llvm::DenseSet<Value> needed, known;
  for (const PlacedValue &each : given)
    known.insert(each.value);
  walkBack(llvm::map_to_vector(
               outputs, [](const PlacedValue &each) { return each.value; }),
           [&](Value value) {
             needed.insert(value);
             return !known.contains(value);
           });
  bool keepsDomain = bool(outputs.front().map);
  // Each is an input or an output, and a row block says how many rows there
  // are.
  bool hasRowBlock = keepsDomain;
  auto place = [&](const PlacedValue &each) {
    hasRowBlock |= each.hasRows && isa<VectorType>(each.value.getType());
  };
  SmallVector<PlacedValue> inputs;
  for (BlockArgument argument : op.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    AffineMap map = op.getMap(number);
    if (keepsDomain || (needed.contains(argument) && !known.contains(argument)))
      inputs.push_back({argument, op.getOperand(number),
                        op.getOperandName(number), map.isFunctionOfDim(0),
                        keepsDomain ? map : AffineMap()});
  }
  llvm::copy_if(given, std::back_inserter(inputs),
                [&](const PlacedValue &each) {
                  return keepsDomain || needed.contains(each.value);
                });
  llvm::for_each(inputs, place);
  llvm::for_each(outputs, place);
  for (unsigned i = 0; i < op.getRows().size() && !hasRowBlock; ++i) {
    BlockArgument argument = op.getBody().getArgument(i);
    if (cast<VectorType>(argument.getType()).getDimSize(0) != length)
      continue;
    inputs.push_back({argument, op.getOperand(i), op.getOperandName(i)});
    hasRowBlock = true;
  }
  if (!hasRowBlock)
    return {};

  ProgramOperands operands(keepsDomain ? unsigned(op.getNumRowDims()) : 1);
  SmallVector<ProgramOperands::Place> places, results;
  for (const auto &[value, buffer, name, hasRows, map, reduction] : inputs)
    places.push_back(map ? operands.addInput(buffer, map, name)
                         : operands.addInput(buffer, hasRows, name));
  for (const auto &[value, buffer, name, hasRows, map, reduction] : outputs)
    results.push_back(map ? operands.addOutput(buffer, map, name, reduction)
                          : operands.addOutput(buffer, hasRows, name));
  RowwiseOp program = operands.create(b, op.getLoc(), entry.str());
  inheritAttributes(program, op, /*readsParts=*/!given.empty());
  program.setFixedWorkgroups(op.getFixedWorkgroups());
  program.setAccumulate(op.getAccumulate() && !program.getAllSums().empty());
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  IRMapping mapping;
  for (auto [input, at] : llvm::zip_equal(inputs, places))
    mapping.map(input.value, operands.getArgument(at));
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    if (llvm::any_of(bodyOp.getResults(), [&](Value value) {
          return needed.contains(value) && !mapping.contains(value);
        }))
      body.clone(bodyOp, mapping);
  for (auto [output, at] : llvm::zip_equal(outputs, results))
    operands.setResult(at, mapping.lookup(output.value));
  operands.yield(body, op.getLoc());
  return program;
}

SmallVector<Value> lnbwd::allocateTerms(RewriterBase &rewriter, RowwiseOp op,
                                        size_t count, unsigned numDims,
                                        int64_t parts) {
  Location loc = op.getLoc();
  SmallVector<int64_t> shape = op.getDimSizes();
  shape.truncate(numDims);
  SmallVector<Value> sizes, buffers;
  for (auto [i, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size))
      sizes.push_back(
          memref::DimOp::create(rewriter, loc, op.getRowBlock(), int64_t(i)));
  if (parts)
    shape.push_back(parts);
  auto numRows = std::min(shape.size(), size_t(op.getNumRowDims()));
  int64_t ofRow = llvm::product_of(ArrayRef(shape).drop_front(numRows));
  for (size_t i = 0; i < count; ++i) {
    auto alloc = memref::AllocOp::create(
        rewriter, loc, MemRefType::get(shape, rewriter.getF32Type()), sizes);
    alloc->setAttr(rowScalarAttr, ofRow == 1
                                      ? Attribute(rewriter.getUnitAttr())
                                      : rewriter.getI64IntegerAttr(ofRow));
    buffers.push_back(alloc);
  }
  return buffers;
}

RowwiseOp lnbwd::addCombination(OpBuilder &b, RowwiseOp op, const Twine &entry,
                                StringRef suffix, ArrayRef<unsigned> numbers,
                                ValueRange from, ValueRange to,
                                unsigned numRows, AffineMap map) {
  Location loc = op.getLoc();
  auto rank = unsigned(cast<MemRefType>(from.front().getType()).getRank());
  auto all = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  bool isOfRow = map == all.getMajorSubMap(numRows);
  ProgramOperands operands(numRows);
  SmallVector<ProgramOperands::Place> inputs, outputs;
  for (auto [number, source, result] : llvm::zip_equal(numbers, from, to)) {
    std::string name = op.getOperandName(number);
    inputs.push_back(operands.addInput(source, all, name + suffix.str()));
    outputs.push_back(operands.addOutput(result, map, name,
                                         isOfRow ? Reduction::None
                                                 : op.getReduction(number)));
  }
  RowwiseOp program = operands.create(b, loc, entry.str());
  program.setCanonical(op.getCanonical());
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  for (auto [number, input, output] :
       llvm::zip_equal(numbers, inputs, outputs)) {
    Value value = operands.getArgument(input);
    if (isOfRow)
      value = vector::ReductionOp::create(body, loc,
                                          op.getReduction(number) ==
                                                  Reduction::Maximum
                                              ? vector::CombiningKind::MAXIMUMF
                                              : vector::CombiningKind::ADD,
                                          value);
    operands.setResult(output, value);
  }
  operands.yield(body, loc);
  return program;
}

RowSumPrograms lnbwd::hoistRowSums(RewriterBase &rewriter, RowwiseOp op,
                                   ArrayRef<Operation *> sums, StringRef suffix,
                                   int64_t parts,
                                   SmallVectorImpl<Value> &allocations) {
  SmallVector<Value> buffers = allocateTerms(
      rewriter, op, sums.size(), unsigned(op.getNumRowDims()), parts);
  size_t first = allocations.size();
  llvm::append_range(allocations, buffers);
  SmallVector<AffineExpr> rowDims;
  for (unsigned i = 0; i < op.getNumRowDims(); ++i)
    rowDims.push_back(rewriter.getAffineDimExpr(i));
  if (parts)
    rowDims.push_back(rewriter.getAffineSymbolExpr(0));
  auto rowMap = AffineMap::get(op.getMap(0).getNumDims(), parts ? 1 : 0,
                               rowDims, op.getContext());

  SmallVector<PlacedValue> ofSums, outputs;
  for (auto [i, sum, buffer] : llvm::enumerate(sums, buffers))
    ofSums.push_back({sum->getResult(0), buffer,
                      "row_sum_" + std::to_string(first + i), /*hasRows=*/true,
                      rowMap});
  auto numInputs = unsigned(op.getNumDpsInputs());
  for (unsigned i = numInputs; i < op->getNumOperands(); ++i)
    outputs.push_back({op.getYielded(i - numInputs), op.getOperand(i),
                       op.getOperandName(i),
                       /*hasRows=*/true, op.getMap(i), op.getReduction(i)});
  RowSumPrograms programs;
  programs.sums = writeProgram(rewriter, op, op.getEntry() + suffix,
                               /*given=*/{}, ofSums, op.getRowLength());
  programs.sums.setFixedWorkgroups(0);
  programs.rest = writeProgram(rewriter, op, op.getEntry(), ofSums, outputs,
                               op.getRowLength());
  rewriter.eraseOp(op);
  return programs;
}
