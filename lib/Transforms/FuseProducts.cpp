//===- FuseProducts.cpp - Row programs as regions of products -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks from a product's result to the one program that reads it, and from its
// row operand to the one that makes it. What makes the operand is taken apart
// at its row sums only where the product then does the rest: by itself, that
// would be one more program that reads the rows.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace lnbwd {
#define GEN_PASS_DEF_FUSEPRODUCTSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Numbers of rows computed before
//===----------------------------------------------------------------------===//
//
// Takes a row program apart into one that makes numbers of row sums, and one
// that is elementwise, given those. The numbers go through buffers of their
// own, even where an output is the same: an output is written and never read,
// which a launcher relies on.
//

/// Replaces `op`, on memrefs of one row dimension, whose outputs are one row
/// block and row scalars, by a program that writes the row scalars and
/// `numbers`, and one that reads these and writes the row block. `numbers`:
/// values of its region, of float32, that the row block's elements need of its
/// row sums. Returns the latter program. The buffers of the numbers are
/// allocated before, and the caller ends their lives.
static RowwiseOp takeStatisticsApart(RowwiseOp op, ArrayRef<Value> numbers,
                                     SmallVectorImpl<Value> &allocations) {
  OpBuilder b(op);
  Value rowCount = RowCountOp::create(b, op.getLoc(), op.getRowBlock());
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  SmallVector<PlacedValue> given;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    auto alloc = memref::AllocOp::create(b, op.getLoc(), type, rowCount);
    alloc->setAttr(rowScalarAttr, b.getUnitAttr());
    allocations.push_back(alloc);
    given.push_back({number, alloc, "statistic_" + std::to_string(i)});
  }
  SmallVector<PlacedValue> outputs(given);
  auto getOutput = [&](unsigned index) -> PlacedValue {
    unsigned operand = op.getNumDpsInputs() + index;
    return {op.getYielded(index), op.getOperand(operand),
            op.getOperandName(operand)};
  };
  for (unsigned i = 0; i < op.getScalarOuts().size(); ++i)
    outputs.push_back(getOutput(i + 1));
  writeProgram(b, op, op.getEntry() + "_statistics", /*given=*/{}, outputs,
               op.getRowLength());
  RowwiseOp rest = writeProgram(b, op, op.getEntry(), given, getOutput(0),
                                op.getRowLength());
  op.erase();
  return rest;
}

//===----------------------------------------------------------------------===//
// What can be fused
//===----------------------------------------------------------------------===//

/// Whether `value` may be written, or be gone, after `begin` and before `end`.
static bool mayChange(Value value, Operation *begin, Operation *end) {
  for (Operation *op = begin->getNextNode(); op != end;
       op = op->getNextNode()) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects && !isMemoryEffectFree(op))
      return true;
    if (effects && (effects.getEffectOnValue<MemoryEffects::Write>(value) ||
                    effects.getEffectOnValue<MemoryEffects::Free>(value)))
      return true;
  }
  return false;
}

/// The operations that the row block of `program` needs beside `numbers`.
static llvm::DenseSet<Operation *> getElementOps(RowwiseOp program,
                                                 ArrayRef<Value> numbers) {
  llvm::DenseSet<Operation *> ops;
  walkBack(program.getYielded(0), [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return producer && !llvm::is_contained(numbers, value) &&
           ops.insert(producer).second;
  });
  return ops;
}

/// The numbers of each row, of float32, that the elements of the one row block
/// that `program` writes need of row sums. Empty where it is elementwise.
/// Given them, it is.
static SmallVector<Value> getRowNumbers(RowwiseOp program) {
  RowPhases phases(program);
  SmallVector<Value> numbers;
  walkBack(program.getYielded(0), [&](Value value) {
    bool isBehindSum = phases.getPhase(value) > 0;
    bool isNumber = isBehindSum && value.getType().isF32();
    if (isNumber)
      numbers.push_back(value);
    return isBehindSum && !isNumber;
  });
  return numbers;
}

/// Whether what makes the operand of `product`, given `numbers` of each row, is
/// better its prologue than a kernel of its own: on AMD's chips, where few
/// tiles make the operand again. An element's operations in a prologue take a
/// compute unit about as long as its part in 128 columns takes the matrix unit,
/// an eighth of a cycle; writing it or reading it back, about a quarter of a
/// cycle's share of the memory. Without row sums either is saved, with them the
/// rows are read all the same. Nothing of it was measured.
static bool isPrologueFaster(ProductOp product, ArrayRef<Value> numbers,
                             const ChipInfo &chip) {
  constexpr int64_t mostColumns = 128;
  ProductOp::Sizes sizes = product.getSizes();
  int64_t columns = product.getLhsTransposed() ? sizes.rows : sizes.columns;
  return chip.backend == Backend::AMDGPU &&
         columns <= mostColumns * (numbers.empty() ? 2 : 1);
}

/// Whether all that `program` does is elementwise, but for what makes `numbers`
/// of row sums and row scalars beside them, with one row block as its output,
/// of dense buffers of two dimensions.
static bool isElementwise(RowwiseOp program, ArrayRef<Value> numbers = {}) {
  int64_t numOutputs = program.getNumDpsInits();
  if (!numbers.empty())
    numOutputs -= int64_t(program.getScalarOuts().size());
  if (numOutputs != 1 || program.getRowOuts().size() != 1 ||
      !program.getGroupColumns().empty() || !program.getTables().empty() ||
      program.getSchedule() || program.getRowRank() != 1 ||
      getElementTypeOrSelf(program.getRowOuts()[0]).isInteger())
    return false;
  for (auto [index, value] : llvm::enumerate(program->getOperands())) {
    auto type = dyn_cast<MemRefType>(value.getType());
    // Numbers of rows in parts have two dimensions.
    bool isNumber = llvm::is_contained(program.getScalars(), value);
    if (!type || !type.getLayout().isIdentity() ||
        program.isStrided(unsigned(index)) ||
        type.getRank() > (isNumber ? 1 : 2))
      return false;
  }
  llvm::DenseSet<Operation *> needed = getElementOps(program, numbers);
  return llvm::all_of(
      program.getBody().front().without_terminator(), [&](Operation &bodyOp) {
        return (!numbers.empty() && !needed.contains(&bodyOp)) ||
               isRowElementOp(bodyOp);
      });
}

/// Whether `program`, which reads the result of `product`, can be its epilogue.
static bool fitsEpilogue(ProductOp product, RowwiseOp program) {
  if (!isElementwise(program) ||
      llvm::count(program->getOperands(), product.getOut()) != 1 ||
      !llvm::is_contained(program.getRows(), product.getOut()) ||
      hasOwnRows(program) != product.getLhsTransposed())
    return false;
  // The product reads its matrices only where the program is.
  return llvm::all_of(product->getOperands(), [&](Value matrix) {
    return matrix == product.getOut() || (matrix != program.getRowOuts()[0] &&
                                          !mayChange(matrix, product, program));
  });
}

/// The operations that use the product's result, but for its deallocation.
static SmallVector<Operation *> getReaders(ProductOp product) {
  llvm::SetVector<Operation *> readers;
  for (Operation *user : product.getOut().getUsers())
    if (user != product && !isa<memref::DeallocOp>(user))
      readers.insert(user);
  return llvm::to_vector(readers.getArrayRef());
}

/// Ends a region with the row that the program yielded.
static void replaceYield(Block &body) {
  auto yield = cast<YieldOp>(body.getTerminator());
  OpBuilder b(yield);
  ProductYieldOp::create(b, yield.getLoc(), yield.getValues().front());
  yield.erase();
}

/// Writes the product with `program` as its epilogue, in the program's place.
static void fuse(ProductOp product, RowwiseOp program) {
  OpBuilder b(program);
  SmallVector<Value> rows;
  SmallVector<Attribute> names;
  auto name = [&](unsigned index) {
    return b.getStringAttr(program.getOperandName(index));
  };
  for (unsigned i : {0u, 1u})
    names.push_back(b.getStringAttr(product.getOperandName(i)));
  names.push_back(name(unsigned(program.getNumDpsInputs())));
  unsigned taken = 0;
  for (unsigned i = 0; i < program.getNumDpsInputs(); ++i) {
    Value input = program->getOperand(i);
    if (input == product.getOut()) {
      taken = i;
      continue;
    }
    names.push_back(name(i));
    if (i < program.getRows().size())
      rows.push_back(input);
  }
  constexpr unsigned numMatrices = 3;
  for (unsigned i = numMatrices; i < product->getNumOperands(); ++i)
    names.push_back(b.getStringAttr(product.getOperandName(i)));
  auto fused = ProductOp::create(
      b, product.getLoc(), program.getEntry(), product.getLhs(),
      product.getRhs(), program.getRowOuts()[0], rows, program.getColumns(),
      program.getScalars(), product.getPrologueColumns(),
      product.getPrologueScalars(), product.getLhsTransposed(),
      product.getRhsTransposed(), b.getArrayAttr(names),
      product.getPrecision());
  fused.getPrologue().takeBody(product.getPrologue());
  // The sums come first among the arguments.
  fused.getEpilogue().takeBody(program.getBody());
  Block &body = fused.getEpilogue().front();
  BlockArgument before = body.getArgument(taken);
  Value sums = body.insertArgument(0u, before.getType(), before.getLoc());
  before.replaceAllUsesWith(sums);
  body.eraseArgument(taken + 1);
  replaceYield(body);
  program.erase();
  product.erase();
}

/// Whether `program`, which writes the row operand of `product`, can be its
/// prologue: it has the launch's rows, and makes rows of the type that it
/// reads.
static bool fitsPrologue(ProductOp product, RowwiseOp program,
                         ArrayRef<Value> numbers) {
  if (!isElementwise(program, numbers) || hasOwnRows(program) ||
      program.getRows().size() != 1)
    return false;
  auto type = cast<MemRefType>(program.getRows()[0].getType());
  auto made = cast<MemRefType>(program.getRowOuts()[0].getType());
  // The product reads what the program does only where it is.
  return type.getElementType() == made.getElementType() &&
         type.getDimSize(1) == made.getDimSize(1) &&
         llvm::none_of(program.getInputs(), [&](Value input) {
           return input == product.getOut() ||
                  mayChange(input, program, product);
         });
}

/// Has `product` do to its row operand what `program` does, and read what that
/// reads.
static void fusePrologue(ProductOp product, RowwiseOp program) {
  OpBuilder b(product);
  SmallVector<Attribute> names;
  for (unsigned i = 0; i < product->getNumOperands(); ++i) {
    bool isRead = product->getOperand(i) == product.getRowOperand() && i < 2;
    names.push_back(b.getStringAttr(isRead ? program.getOperandName(0)
                                           : product.getOperandName(i)));
  }
  for (unsigned i = 1; i < program.getNumDpsInputs(); ++i)
    names.push_back(b.getStringAttr(program.getOperandName(i)));
  Value rows = program.getRows()[0];
  if (product.getLhsTransposed())
    product.getRhsMutable().assign(rows);
  else
    product.getLhsMutable().assign(rows);
  product.getPrologueColumnsMutable().assign(program.getColumns());
  product.getPrologueScalarsMutable().assign(program.getScalars());
  product.setOperandNamesAttr(b.getArrayAttr(names));
  product.getPrologue().takeBody(program.getBody());
  replaceYield(product.getPrologue().front());
  program.erase();
}

namespace {
class FuseProducts : public lnbwd::impl::FuseProductsPassBase<FuseProducts> {
public:
  using FuseProductsPassBase::FuseProductsPassBase;

  void runOnOperation() override {
    Operation *root = getOperation();
    FailureOr<const ChipInfo *> found = getChipOption(root, chip);
    if (failed(found))
      return signalPassFailure();
    for (const auto *option : {&epilogues, &prologues})
      if (failed(checkModeOption(root, option->getArgStr(), *option)))
        return signalPassFailure();
    if (epilogues != "never")
      for (ProductOp product : getProducts())
        addEpilogue(product);
    if (prologues != "never")
      for (ProductOp product : getProducts())
        addPrologue(product, **found);
  }

private:
  SmallVector<ProductOp> getProducts() {
    SmallVector<ProductOp> products;
    getOperation()->walk([&](ProductOp op) { products.push_back(op); });
    return products;
  }

  void addPrologue(ProductOp product, const ChipInfo &info) {
    Value operand = product.getRowOperand();
    auto buffer = operand.getDefiningOp<memref::AllocOp>();
    if (!buffer || product.hasPrologue() ||
        product.getLhs() == product.getRhs())
      return;
    RowwiseOp program;
    SmallVector<Operation *> ends;
    for (Operation *user : buffer->getUsers()) {
      auto rowwise = dyn_cast<RowwiseOp>(user);
      if (isa<memref::DeallocOp>(user))
        ends.push_back(user);
      else if (rowwise && !program &&
               llvm::is_contained(rowwise.getRowOuts(), operand))
        program = rowwise;
      else if (user != product)
        return;
    }
    if (!program || program->getBlock() != product->getBlock())
      return;
    SmallVector<Value> numbers = getRowNumbers(program);
    if (!fitsPrologue(product, program, numbers) ||
        (prologues == "auto" && !isPrologueFaster(product, numbers, info)))
      return;
    if (!numbers.empty()) {
      SmallVector<Value> allocations;
      program = takeStatisticsApart(program, numbers, allocations);
      OpBuilder b(product->getContext());
      b.setInsertionPointAfter(product);
      for (Value allocation : allocations)
        memref::DeallocOp::create(b, product.getLoc(), allocation);
      ++numStatistics;
    }
    fusePrologue(product, program);
    for (Operation *end : ends)
      end->erase();
    buffer.erase();
    ++numPrologues;
  }

  void addEpilogue(ProductOp product) {
    auto buffer = product.getOut().getDefiningOp<memref::AllocOp>();
    if (!buffer || product.hasEpilogue())
      return;
    SmallVector<Operation *> readers = getReaders(product);
    auto program = readers.size() == 1 ? dyn_cast<RowwiseOp>(readers.front())
                                       : RowwiseOp();
    if (!program || program->getBlock() != product->getBlock() ||
        !fitsEpilogue(product, program))
      return;
    fuse(product, program);
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
      user->erase();
    buffer.erase();
    ++numEpilogues;
  }
};
} // namespace
