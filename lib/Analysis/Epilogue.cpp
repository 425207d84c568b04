//===- Epilogue.cpp - Row programs in kernels of products -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks from the rows that a program reads to the products that they are.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/Epilogue.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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
      hasOwnRows(program) ||
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

/// The product that leaves its result in `rows`, which `program` alone reads,
/// once.
static ProductOp findProduct(Value rows, RowwiseOp program) {
  if (!rows.getDefiningOp<memref::AllocOp>())
    return {};
  ProductOp product;
  unsigned numReads = 0;
  for (Operation *user : rows.getUsers()) {
    auto writer = dyn_cast<ProductOp>(user);
    if (!product && writer && writer.getOut() == rows)
      product = writer;
    else if (user == program)
      ++numReads;
    else if (!isa<memref::DeallocOp>(user))
      return {};
  }
  return numReads == 1 ? product : ProductOp();
}

/// Whether `product` can be computed where `program` is.
static bool canMove(ProductOp product, RowwiseOp program) {
  return !product.getLhsTransposed() &&
         product->getBlock() == program->getBlock() &&
         llvm::none_of(ValueRange{product.getLhs(), product.getRhs()},
                       [&](Value matrix) {
                         return matrix == program.getRowOuts()[0] ||
                                mayChange(matrix, product, program);
                       });
}

ProductOp lnbwd::findProductOfEpilogue(RowwiseOp program) {
  if (!program.hasPureBufferSemantics() || !isElementwise(program))
    return {};
  ProductOp first;
  for (Value rows : program.getRows()) {
    ProductOp product = findProduct(rows, program);
    if (product && canMove(product, program) &&
        (!first || product->isBeforeInBlock(first)))
      first = product;
  }
  return first;
}
