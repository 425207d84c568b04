//===- SplitContractions.cpp - Products as kernels of their own -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The form that is right before it is fast: each product of matrices is a
// kernel that reads its operands from memory and leaves its result there, and
// what is between products are row programs of one row length each. What a row
// program needs of another length are row sums, which are numbers for each row.
// A program that makes rows writes what it has of row scalars that are outputs
// as well, so that nothing is read again for them.
//
//===----------------------------------------------------------------------===//

#include "ContractionTerms.h"
#include "RowPrograms.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITCONTRACTIONSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

using P = ProgramOperands;

namespace {
/// A buffer and its name in the launch plan.
struct Named {
  Value buffer;
  std::string name;
};

/// A row program to be: its row length, and which values of the original region
/// its operands are.
struct Stage {
  int64_t length;
  P operands;
  SmallVector<std::pair<Value, P::Place>> inputs;
  llvm::DenseSet<Value> visited;
  bool hasRowBlock = false;
};

/// An output of a stage.
struct StageOutput {
  Value value;
  Named to;
  /// Whether it is no sum over the rows.
  bool hasRows = true;
};

class ContractionSplitter {
public:
  /// `precision`: of products of two matrices of float32.
  ContractionSplitter(RowwiseOp op, Precision precision)
      : op(op), b(op), loc(op.getLoc()), precision(precision) {}

  LogicalResult check();
  LogicalResult split();

  unsigned countProducts() const { return numProducts; }

private:
  /// Finds what `value` needs, makes what of it is not there, and lists it.
  LogicalResult collect(Value value, Stage &stage);
  /// Writes the program of one row length that computes `outputs`.
  FailureOr<RowwiseOp> write(int64_t length, ArrayRef<StageOutput> outputs,
                             StringRef suffix);
  /// A buffer with a product's result, a row sum, or a row.
  FailureOr<Named> getProduct(LinearOp product);
  FailureOr<Named> getScalar(Value sum);
  FailureOr<Named> getRows(Value row);
  /// Adds the row scalars among the outputs that the program of `row` has
  /// computed but for operations on numbers, such as statistics.
  void addScalarOutputs(Value row, SmallVectorImpl<StageOutput> &outputs);
  LogicalResult writeOuterSum(unsigned output);
  /// The row length that the program of a row scalar has.
  int64_t getLengthFor(Value scalar);

  Value allocate(ArrayRef<int64_t> shape, Type element) {
    SmallVector<Value> sizes;
    if (!shape.empty() && ShapedType::isDynamic(shape.front())) {
      if (!rowCount)
        rowCount = RowCountOp::create(b, loc, op.getRowBlock());
      sizes.push_back(rowCount);
    }
    auto alloc =
        memref::AllocOp::create(b, loc, MemRefType::get(shape, element), sizes);
    if (shape.size() == 1)
      alloc->setAttr(rowScalarAttr, b.getUnitAttr());
    allocations.push_back(alloc);
    return alloc;
  }
  void addProduct(const Named &lhs, const Named &rhs, const Named &out,
                  bool lhsTransposed, bool rhsTransposed) {
    std::string entry = (op.getEntry() + "_matmul_" + Twine(numProducts)).str();
    auto isF32 = [](const Named &matrix) {
      return cast<MemRefType>(matrix.buffer.getType()).getElementType().isF32();
    };
    ProductOp::create(b, loc, entry, lhs.buffer, rhs.buffer, out.buffer,
                      lhsTransposed, rhsTransposed,
                      b.getStrArrayAttr({lhs.name, rhs.name, out.name}),
                      isF32(lhs) && isF32(rhs) ? precision : Precision::Exact);
    ++numProducts;
  }
  Named getOperand(unsigned index) {
    return {op.getOperand(index), op.getOperandName(index)};
  }

  RowwiseOp op;
  OpBuilder b;
  Location loc;
  Precision precision;
  Value rowCount;
  /// What has been made, by the value that it is.
  llvm::DenseMap<Value, Named> made;
  SmallVector<Value> allocations;
  /// Outputs that a program writes.
  llvm::DenseSet<Value> written;
  unsigned numProducts = 0, numStages = 0;
};
} // namespace

static int64_t getRowLength(Value row) {
  return cast<VectorType>(row.getType()).getDimSize(0);
}

LogicalResult ContractionSplitter::check() {
  for (ValueRange values :
       {ValueRange(op.getRows()), ValueRange(op.getRowOuts())})
    for (Value value : values) {
      auto type = cast<MemRefType>(value.getType());
      if (type.getRank() != 2)
        return op.emitOpError("cannot be lowered: expected row blocks of two "
                              "dimensions in a program with matrices, got ")
               << type << "; collapse the leading dimensions";
    }
  if (op.getAccumulate() && !op.getOuterSums().empty())
    return op.emitOpError("cannot be lowered: expected outer sums that do not "
                          "accumulate; add them in a program of their own");
  if (hasOwnRows(op))
    return op.emitOpError("cannot be lowered: expected no matrices in a "
                          "program with own_rows");
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    Value output = op.getOperand(op.getNumDpsInputs() + i);
    for (OpOperand *input : op.getDpsInputOperands())
      if (input->get() == output)
        return op.emitOpError("cannot be split at its products: operand ")
               << input->getOperandNumber() << " ("
               << op.getOperandName(input->getOperandNumber())
               << ") is an output as well; give the output a buffer of its "
                  "own";
  }
  return success();
}

FailureOr<Named> ContractionSplitter::getProduct(LinearOp product) {
  if (auto known = made.find(product.getResult()); known != made.end())
    return known->second;
  FailureOr<Named> lhs = getRows(getNarrow(product.getRow()));
  if (failed(lhs))
    return failure();
  unsigned matrix = cast<BlockArgument>(product.getMatrix()).getArgNumber();
  Named out{allocate({ShapedType::kDynamic, getRowLength(product.getResult())},
                     b.getF32Type()),
            "matmul_" + std::to_string(numProducts)};
  addProduct(*lhs, getOperand(matrix), out, /*lhsTransposed=*/false,
             /*rhsTransposed=*/!product.getTransposed());
  return made[product.getResult()] = out;
}

FailureOr<Named> ContractionSplitter::getRows(Value row) {
  if (auto known = made.find(row); known != made.end())
    return known->second;
  if (auto argument = dyn_cast<BlockArgument>(row)) {
    unsigned number = argument.getArgNumber();
    auto type = cast<MemRefType>(op.getOperand(number).getType());
    if (number < op.getRows().size() && type.getLayout().isIdentity())
      return getOperand(number);
  }
  if (auto product = row.getDefiningOp<LinearOp>())
    return getProduct(product);
  int64_t length = getRowLength(row);
  Named out{allocate({ShapedType::kDynamic, length},
                     getElementTypeOrSelf(row.getType())),
            "rows_" + std::to_string(numStages)};
  SmallVector<StageOutput> outputs{{row, out}};
  addScalarOutputs(row, outputs);
  if (failed(write(length, outputs, "_rows_" + std::to_string(numStages++))))
    return failure();
  return made[row] = out;
}

void ContractionSplitter::addScalarOutputs(
    Value row, SmallVectorImpl<StageOutput> &outputs) {
  int64_t length = getRowLength(row);
  auto isRead = [&](Operation *producer) {
    Value summed = getSummedRow(producer);
    return isa<LinearOp>(producer) ||
           (summed && getRowLength(summed) != length);
  };
  // What the program computes, and whether row sums are among it.
  llvm::DenseSet<Value> there;
  SmallVector<Value> pending{row};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *producer = value.getDefiningOp();
    if (there.insert(value).second && producer && !isRead(producer))
      llvm::append_range(pending, producer->getOperands());
  }
  auto first = unsigned(op.getRowOuts().size());
  for (auto [i, buffer] : llvm::enumerate(op.getScalarOuts())) {
    unsigned output = first + unsigned(i);
    bool hasSum = false, isThere = true;
    llvm::DenseSet<Value> visited;
    pending.push_back(op.getYielded(output));
    while (!pending.empty()) {
      Value value = pending.pop_back_val();
      Operation *producer = value.getDefiningOp();
      if (!producer || !visited.insert(value).second)
        continue;
      hasSum |= getSummedRow(producer) && !isRead(producer);
      if (hasRows(*producer))
        isThere &= there.contains(value);
      else
        llvm::append_range(pending, producer->getOperands());
    }
    if (hasSum && isThere && written.insert(buffer).second)
      outputs.push_back(
          {op.getYielded(output), getOperand(op.getNumDpsInputs() + output)});
  }
}

FailureOr<Named> ContractionSplitter::getScalar(Value sum) {
  if (auto known = made.find(sum); known != made.end())
    return known->second;
  Named out{allocate({ShapedType::kDynamic}, b.getF32Type()),
            "row_sum_" + std::to_string(numStages)};
  int64_t length = getRowLength(getSummedRow(sum.getDefiningOp()));
  if (failed(write(length, {{sum, out}},
                   "_row_sum_" + std::to_string(numStages++))))
    return failure();
  return made[sum] = out;
}

LogicalResult ContractionSplitter::collect(Value value, Stage &stage) {
  if (!stage.visited.insert(value).second)
    return success();
  auto add = [&](bool isOfRows, const Named &operand) {
    stage.inputs.emplace_back(
        value, stage.operands.addInput(operand.buffer, isOfRows, operand.name));
    stage.hasRowBlock |= isOfRows && isa<VectorType>(value.getType());
    return success();
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    assert(op.getAccess(number) != RowwiseOp::Access::Matrix &&
           "matrices are operands of products alone");
    return add(op.getMap(number).isFunctionOfDim(0), getOperand(number));
  }
  Operation *producer = value.getDefiningOp();
  if (auto product = dyn_cast<LinearOp>(producer)) {
    FailureOr<Named> rows = getProduct(product);
    return failed(rows) ? failure() : add(true, *rows);
  }
  if (Value row = getSummedRow(producer);
      row && getRowLength(row) != stage.length) {
    FailureOr<Named> scalar = getScalar(value);
    return failed(scalar) ? failure() : add(true, *scalar);
  }
  for (Value operand : producer->getOperands())
    if (failed(collect(operand, stage)))
      return failure();
  return success();
}

FailureOr<RowwiseOp> ContractionSplitter::write(int64_t length,
                                                ArrayRef<StageOutput> outputs,
                                                StringRef suffix) {
  Stage stage;
  stage.length = length;
  for (const StageOutput &output : outputs) {
    if (failed(collect(output.value, stage)))
      return failure();
    stage.hasRowBlock |=
        output.hasRows && isa<VectorType>(output.value.getType());
  }
  // Something has to say how many rows there are.
  for (unsigned i = 0; i < op.getRows().size() && !stage.hasRowBlock; ++i) {
    BlockArgument argument = op.getBody().getArgument(i);
    if (getRowLength(argument) != length)
      continue;
    (void)collect(argument, stage);
  }
  if (!stage.hasRowBlock)
    return op.emitOpError("cannot be lowered: expected a row block of ")
           << length << " columns for what has as many";
  SmallVector<P::Place> places;
  for (const StageOutput &output : outputs)
    places.push_back(stage.operands.addOutput(output.to.buffer, output.hasRows,
                                              output.to.name));
  RowwiseOp program =
      stage.operands.create(b, loc, (op.getEntry() + suffix).str());
  program->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  program.setFixedWorkgroups(op.getFixedWorkgroups());
  program.setAccumulate(op.getAccumulate() && !program.getAllSums().empty());
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  IRMapping mapping;
  for (auto [value, place] : stage.inputs)
    mapping.map(value, stage.operands.getArgument(place));
  for (auto [output, place] : llvm::zip_equal(outputs, places))
    stage.operands.setResult(place, copySlice(body, output.value, mapping));
  stage.operands.yield(body, loc);
  return program;
}

/// One outer product of float32 goes where the output is. Several, or another
/// type, are added and rounded by a program over the rows of the matrix.
LogicalResult ContractionSplitter::writeOuterSum(unsigned output) {
  unsigned operand = op.getNumDpsInputs() + output;
  SmallVector<vector::OuterProductOp> terms;
  SmallVector<Value> pending{op.getYielded(output)};
  while (!pending.empty()) {
    Operation *producer = pending.pop_back_val().getDefiningOp();
    if (isa<arith::AddFOp>(producer)) {
      pending.append({producer->getOperand(1), producer->getOperand(0)});
      continue;
    }
    auto outer = dyn_cast<vector::OuterProductOp>(producer);
    if (outer && outer.getAcc())
      pending.push_back(outer.getAcc());
    if (outer)
      terms.push_back(outer);
  }
  Named to = getOperand(operand);
  auto type = cast<MemRefType>(to.buffer.getType());
  bool isWhole = terms.size() == 1 && type.getElementType().isF32();
  P operands;
  SmallVector<P::Place> places;
  for (vector::OuterProductOp term : terms) {
    FailureOr<Named> lhs = getRows(getNarrow(term.getLhs()));
    if (failed(lhs))
      return failure();
    FailureOr<Named> rhs = getRows(getNarrow(term.getRhs()));
    if (failed(rhs))
      return failure();
    Named out = to;
    if (!isWhole)
      out = {allocate(type.getShape(), b.getF32Type()),
             "matmul_" + std::to_string(numProducts)};
    addProduct(*lhs, *rhs, out, /*lhsTransposed=*/true,
               /*rhsTransposed=*/false);
    places.push_back(operands.addInput(out.buffer, true, out.name));
  }
  if (isWhole)
    return success();
  P::Place result = operands.addOutput(to.buffer, true, to.name);
  RowwiseOp program =
      operands.create(b, loc, (op.getEntry() + "_sum_" + Twine(output)).str());
  setOwnRows(program);
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  auto row = VectorType::get({type.getDimSize(1)}, b.getF32Type());
  RowBuilder rows(body, loc, row.getDimSize(0));
  Value sum;
  for (P::Place place : places) {
    Value term = operands.getArgument(place);
    sum = sum ? rows.add(sum, term) : term;
  }
  if (!sum)
    sum = arith::ConstantOp::create(body, loc, body.getZeroAttr(row));
  if (Type element = type.getElementType(); !element.isF32())
    sum = arith::TruncFOp::create(body, loc, row.clone(element), sum);
  operands.setResult(result, sum);
  operands.yield(body, loc);
  return success();
}

int64_t ContractionSplitter::getLengthFor(Value scalar) {
  SmallVector<Value> pending{scalar};
  llvm::DenseSet<Value> visited;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *producer = value.getDefiningOp();
    if (!producer || !visited.insert(value).second)
      continue;
    if (Value row = getSummedRow(producer))
      return getRowLength(row);
    llvm::append_range(pending, producer->getOperands());
  }
  return op.getRowLength();
}

LogicalResult ContractionSplitter::split() {
  // What is summed over all rows first: its operands may be overwritten by no
  // one then, and the products of rows wait for nothing.
  unsigned numOutputs = unsigned(op.getNumDpsInits());
  unsigned firstOuter = numOutputs - unsigned(op.getOuterSums().size());
  for (unsigned i = firstOuter; i < numOutputs; ++i)
    if (failed(writeOuterSum(i)))
      return failure();

  llvm::SmallMapVector<int64_t, SmallVector<StageOutput>, 4> stages;
  for (unsigned output = 0; output < firstOuter; ++output) {
    unsigned operand = op.getNumDpsInputs() + output;
    Value value = op.getYielded(output);
    int64_t length = isa<VectorType>(value.getType()) ? getRowLength(value)
                                                      : getLengthFor(value);
    stages[length].push_back(
        {value, getOperand(operand), op.getMap(operand).isFunctionOfDim(0)});
  }
  SmallVector<std::pair<int64_t, RowwiseOp>> programs;
  for (auto &[length, outputs] : stages) {
    llvm::erase_if(outputs, [&](const StageOutput &output) {
      return written.contains(output.to.buffer);
    });
    if (outputs.empty())
      continue;
    for (const StageOutput &output : outputs)
      written.insert(output.to.buffer);
    FailureOr<RowwiseOp> program = write(length, outputs, /*suffix=*/"");
    if (failed(program))
      return failure();
    programs.emplace_back(length, *program);
  }
  if (programs.size() > 1)
    for (auto [length, program] : programs)
      program.setEntry((op.getEntry() + "_of_" + Twine(length)).str());
  for (Value allocation : allocations)
    memref::DeallocOp::create(b, loc, allocation);
  op.erase();
  return success();
}

namespace {
class SplitContractions
    : public lnbwd::impl::SplitContractionsPassBase<SplitContractions> {
public:
  using SplitContractionsPassBase::SplitContractionsPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    patterns = getCanonicalizations<RowwiseOp>(context);
    return success();
  }

  void runOnOperation() override {
    std::optional<Precision> precision = symbolizePrecision(float32Products);
    if (!precision) {
      emitError(getOptionLoc(&getContext(), "float32-products"))
          << "expected float32-products to be exact or tf32, got '"
          << float32Products << "'";
      return signalPassFailure();
    }
    FailureOr<SmallVector<RowwiseOp>> programs =
        getProgramsWithContractions(getOperation());
    if (failed(programs))
      return signalPassFailure();
    for (RowwiseOp op : *programs) {
      ContractionSplitter splitter(op, *precision);
      if (failed(splitter.check()) || failed(splitter.split()))
        return signalPassFailure();
      numProducts += splitter.countProducts();
      ++numSplit;
    }
    if (!programs->empty() &&
        failed(applyPatternsGreedily(getOperation(), patterns)))
      signalPassFailure();
  }

private:
  FrozenRewritePatternSet patterns;
};
} // namespace
