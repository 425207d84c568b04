//===- SplitContractions.cpp - Products as kernels of their own -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each product of matrices becomes a program of its own, which reads its
// operands from memory, and what is between products are row programs of one
// row length each. What a row program needs of another length are row sums,
// which are numbers for each row. A program that makes rows writes what it has
// of row scalars that are outputs as well, so that nothing is read again for
// them. An elementwise one that alone reads a product is that product's program
// as well: its epilogue, done where the sums are in registers.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITCONTRACTIONSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

using P = ProgramOperands;

namespace {
class ContractionSplitter {
public:
  explicit ContractionSplitter(RowwiseOp op)
      : op(op), b(op), loc(op.getLoc()) {}

  LogicalResult check();
  LogicalResult split();

  unsigned countProducts() const { return numProducts; }

private:
  /// Writes the program of one row length that computes `outputs`: those of the
  /// split program, or else, with a suffix, what products read. Null where it
  /// cannot be, of which the first is reported.
  RowwiseOp write(int64_t length, ArrayRef<PlacedValue> outputs,
                  StringRef suffix);
  /// The product whose epilogue that program is: of several the first.
  LinearOp findProduct(int64_t length, ArrayRef<PlacedValue> outputs,
                       bool isRows);
  /// Where a product, a row sum or a row is in memory: an operand, or what a
  /// program before writes.
  PlacedValue get(Value value);
  /// Adds the row scalars among the outputs that the program of `row` has
  /// computed but for operations on numbers, such as statistics.
  void addScalarOutputs(Value row, SmallVectorImpl<PlacedValue> &outputs);
  void writeOuterSum(unsigned output);

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
  std::string getProductName() {
    return "matmul_" + std::to_string(numProducts);
  }
  PlacedValue getOutput(unsigned output) {
    unsigned operand = op.getNumDpsInputs() + output;
    return {op.getYielded(output), op.getOperand(operand),
            op.getOperandName(operand), op.getMap(operand).isFunctionOfDim(0)};
  }

  RowwiseOp op;
  OpBuilder b;
  Location loc;
  Value rowCount;
  /// What has been made.
  llvm::DenseMap<Value, PlacedValue> made;
  SmallVector<Value> allocations;
  /// Outputs that a program writes.
  llvm::DenseSet<Value> written;
  unsigned numProducts = 0, numStages = 0;
  bool hasFailed = false;
};
} // namespace

static int64_t getRowLength(Value row) {
  return cast<VectorType>(row.getType()).getDimSize(0);
}

static bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

LogicalResult ContractionSplitter::check() {
  if (!op.hasPureBufferSemantics() || op.getSchedule())
    return op.emitOpError("expected memrefs and no schedule; run bufferization "
                          "before, and lnbwd-select-schedule after");
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
  if (op.getOwnRows())
    return op.emitOpError("cannot be lowered: expected no matrices in a "
                          "program with own_rows");
  return checkNotRead(op, op.getDpsInits(), "at its products");
}

PlacedValue ContractionSplitter::get(Value value) {
  if (auto known = made.find(value); known != made.end())
    return known->second;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    if (number < op.getRows().size() && isDense(op.getOperand(number)))
      return {value, op.getOperand(number), op.getOperandName(number)};
  }
  auto product = value.getDefiningOp<LinearOp>();
  PlacedValue lhs;
  if (product)
    lhs = get(product.getRow());
  bool isRow = isa<VectorType>(value.getType());
  int64_t length =
      getRowLength(isRow ? value : getSummedRow(value.getDefiningOp()));
  SmallVector<int64_t> shape{ShapedType::kDynamic, length};
  shape.truncate(isRow ? 2 : 1);
  std::string name =
      product ? getProductName()
              : (isRow ? "rows_" : "row_sum_") + std::to_string(numStages);
  PlacedValue out{value, allocate(shape, getElementTypeOrSelf(value)), name};
  if (product) {
    writeProgram(b, op, op.getEntry() + "_" + name, lhs, out, length);
    ++numProducts;
  } else {
    ++numStages;
    SmallVector<PlacedValue> outputs{out};
    if (isRow)
      addScalarOutputs(value, outputs);
    write(length, outputs, "_" + name);
  }
  return made[value] = out;
}

void ContractionSplitter::addScalarOutputs(
    Value row, SmallVectorImpl<PlacedValue> &outputs) {
  int64_t length = getRowLength(row);
  auto isRead = [&](Operation *producer) {
    Value summed = getSummedRow(producer);
    return isa<LinearOp>(producer) ||
           (summed && getRowLength(summed) != length);
  };
  // What the program computes.
  llvm::DenseSet<Value> there;
  walkBack(row, [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return there.insert(value).second && producer && !isRead(producer);
  });
  auto first = unsigned(op.getRowOuts().size());
  for (auto [i, buffer] : llvm::enumerate(op.getScalarOuts())) {
    unsigned output = first + unsigned(i);
    bool hasSum = false, isThere = true;
    walkBack(op.getYielded(output), [&](Value value) {
      Operation *producer = value.getDefiningOp();
      if (!producer)
        return false;
      hasSum |= getSummedRow(producer) && !isRead(producer);
      if (hasRows(*producer))
        isThere &= there.contains(value);
      return !hasRows(*producer);
    });
    if (hasSum && isThere && written.insert(buffer).second)
      outputs.push_back(getOutput(output));
  }
}

/// Whether `product` is read for `output` alone, an output of the program or
/// else (`isRow`) a row that products read.
static bool isReadOnce(LinearOp product, Value output, bool isRow) {
  SetVector<Value> results;
  results.insert(product.getResult());
  for (unsigned i = 0; i < results.size(); ++i)
    for (Operation *user : results[i].getUsers()) {
      bool multiplies = isa<LinearOp, vector::OuterProductOp>(user);
      if (getSummedRow(user))
        return false;
      if (!multiplies && !isa<YieldOp>(user))
        results.insert_range(user->getResults());
      else if (multiplies != isRow ||
               (multiplies ? getNarrowRow(results[i]) : results[i]) != output)
        return false;
    }
  return true;
}

LinearOp ContractionSplitter::findProduct(int64_t length,
                                          ArrayRef<PlacedValue> outputs,
                                          bool isRows) {
  Value output = outputs.front().value;
  if (outputs.size() != 1 || !isa<VectorType>(output.getType()) ||
      getElementTypeOrSelf(output).isInteger() || !outputs.front().hasRows ||
      !isDense(outputs.front().buffer))
    return {};
  LinearOp product;
  bool isElementwise = true;
  walkBack(output, [&](Value value) {
    Operation *producer = value.getDefiningOp();
    if (auto linear = dyn_cast_if_present<LinearOp>(producer)) {
      if (!product && isReadOnce(linear, output, isRows))
        product = linear;
      return false;
    }
    Value row = producer ? getSummedRow(producer) : Value();
    if (auto argument = dyn_cast<BlockArgument>(value))
      isElementwise &= isDense(op.getOperand(argument.getArgNumber()));
    else
      isElementwise &=
          row ? getRowLength(row) != length : isRowElementOp(*producer);
    return !row;
  });
  return isElementwise ? product : LinearOp();
}

RowwiseOp ContractionSplitter::write(int64_t length,
                                     ArrayRef<PlacedValue> outputs,
                                     StringRef suffix) {
  LinearOp own = findProduct(length, outputs, /*isRows=*/!suffix.empty());
  // What it needs of products and of rows of other lengths is made before.
  SmallVector<PlacedValue> given;
  walkBack(llvm::map_to_vector(
               outputs, [](const PlacedValue &each) { return each.value; }),
           [&](Value value) {
             Operation *producer = value.getDefiningOp();
             auto product = dyn_cast_if_present<LinearOp>(producer);
             Value row = producer ? getSummedRow(producer) : Value();
             if (!product && (!row || getRowLength(row) == length))
               return true;
             bool isOwn = product && product == own;
             numProducts += isOwn;
             if (isOwn)
               value = own.getRow();
             PlacedValue there = get(value);
             if (!llvm::is_contained(op->getOperands(), there.buffer))
               given.push_back(there);
             return false;
           });
  RowwiseOp program =
      writeProgram(b, op, op.getEntry() + suffix, given, outputs, length);
  if (!program && !std::exchange(hasFailed, true))
    op.emitOpError("cannot be lowered: expected a row block of ")
        << length << " columns for what has as many";
  return program;
}

/// One outer product goes where the output is. Several are added and rounded by
/// a program over the rows of the matrix.
void ContractionSplitter::writeOuterSum(unsigned output) {
  SmallVector<vector::OuterProductOp> terms;
  SmallVector<Value> pending{op.getYielded(output)};
  while (!pending.empty()) {
    Operation *producer = pending.pop_back_val().getDefiningOp();
    if (isa<arith::AddFOp>(producer)) {
      pending.append({producer->getOperand(1), producer->getOperand(0)});
      continue;
    }
    if (auto outer = dyn_cast<vector::OuterProductOp>(producer))
      terms.push_back(outer);
  }
  PlacedValue to = getOutput(output);
  auto type = cast<MemRefType>(to.buffer.getType());
  bool isWhole = terms.size() == 1;
  P operands;
  SmallVector<P::Place> places;
  for (vector::OuterProductOp term : terms) {
    SmallVector<PlacedValue> factors;
    for (Value row : {getNarrowRow(term.getLhs()), getNarrowRow(term.getRhs())})
      factors.push_back(get(row));
    PlacedValue out = to;
    if (!isWhole)
      out = {term, allocate(type.getShape(), b.getF32Type()), getProductName(),
             /*hasRows=*/false};
    writeProgram(b, op, op.getEntry() + "_" + getProductName(), factors, out,
                 op.getRowLength());
    ++numProducts;
    places.push_back(operands.addInput(out.buffer, true, out.name));
  }
  if (isWhole)
    return;
  P::Place result = operands.addOutput(to.buffer, true, to.name);
  RowwiseOp program =
      operands.create(b, loc, (op.getEntry() + "_sum_" + Twine(output)).str());
  program.setOwnRows(true);
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  auto row = VectorType::get({type.getDimSize(1)}, b.getF32Type());
  Value sum;
  for (P::Place place : places) {
    Value term = operands.getArgument(place);
    sum = sum ? arith::AddFOp::create(body, loc, sum, term,
                                      arith::FastMathFlags::contract)
                    .getResult()
              : term;
  }
  if (Type element = type.getElementType(); !element.isF32())
    sum = arith::TruncFOp::create(body, loc, row.clone(element), sum);
  operands.setResult(result, sum);
  operands.yield(body, loc);
}

/// The row length that the program of a row scalar has: that of a row that is
/// summed for it, or `other`.
static int64_t getLengthFor(Value scalar, int64_t other) {
  int64_t length = 0;
  walkBack(scalar, [&](Value value) {
    Operation *producer = value.getDefiningOp();
    Value row = producer && !length ? getSummedRow(producer) : Value();
    if (row)
      length = getRowLength(row);
    return !length;
  });
  return length ? length : other;
}

LogicalResult ContractionSplitter::split() {
  op.walk([](LinearOp product) {
    product.getRowMutable().assign(getNarrowRow(product.getRow()));
  });
  op.walk([](vector::OuterProductOp outer) {
    Value others = outer.getAcc();
    if (!others)
      return;
    OpBuilder after(outer->getNextNode());
    outer.getAccMutable().clear();
    auto sum = arith::AddFOp::create(after, outer.getLoc(), outer, others);
    outer.getResult().replaceAllUsesExcept(sum, sum);
  });
  // What is summed over all rows first: its operands may be overwritten by no
  // one then, and the products of rows wait for nothing.
  unsigned numOutputs = unsigned(op.getNumDpsInits());
  unsigned firstOuter = numOutputs - unsigned(op.getOuterSums().size());
  for (unsigned i = firstOuter; i < numOutputs; ++i)
    writeOuterSum(i);

  llvm::SmallMapVector<int64_t, SmallVector<PlacedValue>, 4> stages;
  for (unsigned output = 0; output < firstOuter; ++output) {
    Value value = op.getYielded(output);
    int64_t length = isa<VectorType>(value.getType())
                         ? getRowLength(value)
                         : getLengthFor(value, op.getRowLength());
    stages[length].push_back(getOutput(output));
  }
  SmallVector<std::pair<int64_t, RowwiseOp>> programs;
  for (auto &[length, outputs] : stages) {
    llvm::erase_if(outputs, [&](const PlacedValue &output) {
      return written.contains(output.buffer);
    });
    if (outputs.empty())
      continue;
    for (const PlacedValue &output : outputs)
      written.insert(output.buffer);
    programs.emplace_back(length, write(length, outputs, /*suffix=*/""));
  }
  if (hasFailed)
    return failure();
  if (programs.size() > 1)
    for (auto [length, program] : programs)
      program.setEntry((op.getEntry() + "_of_" + Twine(length)).str());
  for (Value allocation : allocations)
    memref::DeallocOp::create(b, loc, allocation);
  op.erase();
  return success();
}

namespace {
struct SplitContractions
    : lnbwd::impl::SplitContractionsPassBase<SplitContractions> {
  void runOnOperation() override {
    SmallVector<RowwiseOp> programs;
    getOperation()->walk([&](RowwiseOp op) {
      if (op.hasContractions() && !op.getProduct())
        programs.push_back(op);
    });
    for (RowwiseOp op : programs) {
      ContractionSplitter splitter(op);
      if (failed(splitter.check()) || failed(splitter.split()))
        return signalPassFailure();
      numProducts += splitter.countProducts();
      ++numSplit;
    }
    if (!programs.empty() && failed(dropUnneeded(getOperation())))
      signalPassFailure();
  }
};
} // namespace
