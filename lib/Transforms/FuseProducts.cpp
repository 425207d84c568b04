//===- FuseProducts.cpp - Row programs as epilogues of products -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks from a product's result to the one program that reads it.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
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

/// Whether all that `program` does is elementwise, with one row block as its
/// output, of dense buffers of two dimensions.
static bool isElementwise(RowwiseOp program) {
  if (program.getNumDpsInits() != 1 || program.getRowOuts().size() != 1 ||
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
  return llvm::all_of(program.getBody().front().without_terminator(),
                      isRowElementOp);
}

/// Whether `program`, which reads the result of `product`, can be its epilogue.
static bool fitsEpilogue(ProductOp product, RowwiseOp program) {
  if (!isElementwise(program) ||
      llvm::count(program->getOperands(), product.getOut()) != 1 ||
      !llvm::is_contained(program.getRows(), product.getOut()) ||
      product.getLhsTransposed() || hasOwnRows(program))
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
  auto fused = ProductOp::create(
      b, product.getLoc(), program.getEntry(), product.getLhs(),
      product.getRhs(), program.getRowOuts()[0], rows, program.getColumns(),
      program.getScalars(), /*lhs_transposed=*/false,
      product.getRhsTransposed(), product.getParts(), b.getArrayAttr(names),
      product.getPrecision());
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

namespace {
class FuseProducts : public lnbwd::impl::FuseProductsPassBase<FuseProducts> {
public:
  using FuseProductsPassBase::FuseProductsPassBase;

  void runOnOperation() override {
    SmallVector<ProductOp> products;
    getOperation()->walk([&](ProductOp op) { products.push_back(op); });
    for (ProductOp product : products)
      addEpilogue(product);
  }

private:
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
