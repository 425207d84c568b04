//===- LNBwdOps.cpp - Operations of the lnbwd dialect ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations' generated parts, and what the smallest of them need. The
// named operations are in LNBwdNorms.cpp and LNBwdNormBodies.cpp, row programs
// in LNBwdRowwise.cpp, folds and canonicalisations in LNBwdFolds.cpp.
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

#include "lnbwd/Dialect/LNBwd/IR/LNBwdInterfaces.cpp.inc"

/// A row program sees nothing of what surrounds it, so that its arguments may
/// have the names of the buffers that they are rows of.
static ParseResult parseRowProgramBody(OpAsmParser &parser, Region &body) {
  if (parser.parseRegion(body, /*arguments=*/{}, /*enableNameShadowing=*/true))
    return failure();
  if (body.empty())
    body.emplaceBlock();
  RowwiseOp::ensureTerminator(body, parser.getBuilder(),
                              parser.getBuilder().getUnknownLoc());
  return success();
}

static void printRowProgramBody(OpAsmPrinter &printer, Operation *,
                                Region &body) {
  printer.printRegion(body);
}

#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdOps.cpp.inc"

LogicalResult RowCountOp::verify() {
  return verifyRowRatio(*this, getRowRatio());
}

LogicalResult GroupCountOp::verify() {
  auto type = cast<ShapedType>(getSource().getType());
  if (int64_t(getDims()) < 1 || type.getRank() <= int64_t(getDims()))
    return emitOpError("expected rows behind the 1 or more dimensions of the "
                       "groups, got ")
           << getDims() << " of " << type;
  return success();
}

bool lnbwd::hasRows(Operation &op) {
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  return llvm::any_of(op.getOperandTypes(), isVector) ||
         llvm::any_of(op.getResultTypes(), isVector);
}

Value lnbwd::getNarrowRow(Value row) {
  auto widened = row.getDefiningOp<arith::ExtFOp>();
  Type element = widened ? getElementTypeOrSelf(widened.getIn()) : Type();
  return element && (element.isF16() || element.isBF16()) ? widened.getIn()
                                                          : row;
}

bool lnbwd::isRowElementOp(Operation &op) {
  // Not of its operands alone is where a row is. A division by 0, which lanes
  // without an element may do, is no fault on a GPU.
  if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op) || isa<IndexOp>(op))
    return false;
  if (!hasRows(op))
    return true;
  if (auto spread = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(spread.getSourceType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<vector::FMAOp>(op) || OpTrait::hasElementwiseMappableTraits(&op);
}

//===----------------------------------------------------------------------===//
// LinearOp. What a row program may do with matrices is in its own verifier.
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto matrix = dyn_cast<VectorType>(adaptor.getMatrix().getType());
  if (!matrix || matrix.getRank() != 2)
    return emitOptionalError(location,
                             "expected a matrix, a vector of two "
                             "dimensions, got ",
                             adaptor.getMatrix().getType());
  results.push_back(VectorType::get(
      {matrix.getDimSize(adaptor.getTransposed())}, Float32Type::get(context)));
  return success();
}

LogicalResult LinearOp::verify() {
  int64_t expected = getMatrix().getType().getDimSize(getTransposed() ? 0 : 1);
  int64_t length = getRow().getType().getDimSize(0);
  if (length != expected)
    return emitOpError("expected a row of ")
           << expected << " elements, one for each "
           << (getTransposed() ? "row" : "column") << " of the matrix "
           << getMatrix().getType() << (getTransposed() ? " (transposed)" : "")
           << ", got " << getRow().getType();
  if (!isa<BlockArgument>(getMatrix()))
    return emitOpError("expected the matrix to be one of the row program's "
                       "matrices, got a result of ")
           << getMatrix().getDefiningOp()->getName();
  return success();
}

/// Products widen their operands: what was widened before is the same.
static LogicalResult takeNarrowRow(LinearOp op, PatternRewriter &rewriter) {
  Value narrow = getNarrowRow(op.getRow());
  if (narrow == op.getRow())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getRowMutable().assign(narrow); });
  return success();
}

/// A row of zeros gives one. (So an infinite element of the matrix would not
/// count: a gradient that is 0 stays 0.)
static LogicalResult multiplyZeros(LinearOp op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getRow(), m_AnyZeroFloat()))
    return failure();
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(
      op, rewriter.getZeroAttr(op.getType()));
  return success();
}

void LinearOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                           MLIRContext *) {
  results.add(takeNarrowRow);
  results.add(multiplyZeros);
}
