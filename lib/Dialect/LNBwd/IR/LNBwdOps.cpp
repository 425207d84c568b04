//===- LNBwdOps.cpp - Operations of the lnbwd dialect ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, effects and small helpers of the operations. Folds and
// canonicalisations are in LNBwdFolds.cpp.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared by the operations in destination style
//===----------------------------------------------------------------------===//

/// Outputs are a consecutive range at the end of the operands. The segment
/// sizes follow when the range is written to.
static MutableOperandRange getTrailingOperands(Operation *op, unsigned count) {
  return MutableOperandRange(op, op->getNumOperands() - count, count);
}

/// Memrefs are read (inputs) and written (outputs); tensors have no effects.
static void
addEffects(DestinationStyleOpInterface op,
           SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
               &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

/// All operands are tensors, each output giving a result, or all are memrefs.
static LogicalResult verifyTensorsOrMemRefs(DestinationStyleOpInterface op) {
  if (!op.hasPureTensorSemantics() && !op.hasPureBufferSemantics())
    return op->emitOpError(
        "expected all operands to be tensors or all to be memrefs");
  size_t expected = op.hasPureTensorSemantics() ? op.getNumDpsInits() : 0;
  if (op->getNumResults() != expected)
    return op->emitOpError("expected ")
           << expected << " results, one for each tensor output, got "
           << op->getNumResults();
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (type && !type.getLayout().isIdentity())
      return op->emitOpError("expected memrefs with the identity layout "
                             "(dense rows), got ")
             << type;
  }
  return success();
}

static bool isRowElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

static LogicalResult verifyRowElement(Operation *op, StringRef name,
                                      ShapedType type) {
  if (isRowElement(type.getElementType()))
    return success();
  return op->emitOpError("expected the elements of ")
         << name << " to be f16, bf16 or f32, got " << type.getElementType();
}

/// Whether a dimension can be at run time what is expected of it. The number of
/// rows may be dynamic on either side; the row length, which is static where it
/// is expected, must be so everywhere if `isRowLength`.
static bool compatible(int64_t dim, int64_t expected, bool isRowLength) {
  if (isRowLength && !ShapedType::isDynamic(expected))
    return dim == expected;
  return ShapedType::isDynamic(dim) || ShapedType::isDynamic(expected) ||
         dim == expected;
}

/// `endsInRow`: the last dimension is the row length.
static LogicalResult verifyShape(Operation *op, StringRef name, ShapedType type,
                                 ArrayRef<int64_t> expected, bool endsInRow,
                                 StringRef explanation) {
  ArrayRef<int64_t> shape = type.getShape();
  bool matches = shape.size() == expected.size();
  for (size_t i = 0; matches && i < shape.size(); ++i)
    matches =
        compatible(shape[i], expected[i], endsInRow && i + 1 == shape.size());
  if (matches)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << name << " to have the shape [";
  llvm::interleave(
      expected,
      [&](int64_t dim) {
        if (ShapedType::isDynamic(dim))
          diag << "?";
        else
          diag << dim;
      },
      [&] { diag << ", "; });
  return diag << "] (" << explanation << "), got " << type;
}

/// Bounds what is computed from row lengths, with room to multiply.
static constexpr int64_t maxRowLength = std::numeric_limits<int32_t>::max();

/// A row block has at least one dimension, and the last one is static.
static LogicalResult verifyRowBlock(Operation *op, StringRef name,
                                    ShapedType type) {
  if (type.getRank() < 1)
    return op->emitOpError("expected ")
           << name << " to have at least one dimension, got " << type;
  int64_t length = type.getShape().back();
  if (ShapedType::isDynamic(length) || length < 1)
    return op->emitOpError("expected the last dimension of ")
           << name
           << " to be static and at least 1 (a kernel is compiled for one row "
              "length), got "
           << type;
  if (length > maxRowLength)
    return op->emitOpError("expected the last dimension of ")
           << name << " to be at most " << maxRowLength << ", got " << type;
  return verifyRowElement(op, name, type);
}

//===----------------------------------------------------------------------===//
// LayerNormBwdOp
//===----------------------------------------------------------------------===//

MutableOperandRange LayerNormBwdOp::getDpsInitsMutable() {
  auto count = unsigned(bool(getDx())) + unsigned(bool(getDgamma())) +
               unsigned(bool(getDbeta()));
  return getTrailingOperands(getOperation(), count);
}

void LayerNormBwdOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects);
}

LogicalResult LayerNormBwdOp::verify() {
  if (!getDx() && !getDgamma() && !getDbeta())
    return emitOpError("expected at least one of the outputs dx, dgamma and "
                       "dbeta");
  auto x = cast<ShapedType>(getX().getType());
  if (failed(verifyRowBlock(*this, "x", x)))
    return failure();

  StringRef likeX = "that of x";
  auto verifyLikeX = [&](StringRef name, Value value) -> LogicalResult {
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(*this, name, type, x.getShape(), true, likeX)))
      return failure();
    if (type.getElementType() != x.getElementType())
      return emitOpError("expected the elements of ")
             << name << " to be those of x, " << x.getElementType() << ", got "
             << type.getElementType();
    return success();
  };
  if (failed(verifyLikeX("dy", getDy())) ||
      (getDx() && failed(verifyLikeX("dx", getDx()))))
    return failure();

  Type f32 = Float32Type::get(getContext());
  auto verifyColumn = [&](StringRef name, Value value) -> LogicalResult {
    if (!value)
      return success();
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(*this, name, type, x.getShape().take_back(), true,
                           "the last dimension of x")))
      return failure();
    if (type.getElementType() != x.getElementType() &&
        type.getElementType() != f32)
      return emitOpError("expected the elements of ")
             << name << " to be f32 or those of x, " << x.getElementType()
             << ", got " << type.getElementType();
    return success();
  };
  if (failed(verifyColumn("gamma", getGamma())) ||
      failed(verifyColumn("dgamma", getDgamma())) ||
      failed(verifyColumn("dbeta", getDbeta())))
    return failure();

  for (auto [name, value] : {std::pair<StringRef, Value>("mean", getMean()),
                             std::pair<StringRef, Value>("rstd", getRstd())}) {
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(*this, name, type, x.getShape().drop_back(), false,
                           "the leading dimensions of x")))
      return failure();
    if (type.getElementType() != f32)
      return emitOpError("expected the elements of ")
             << name << " to be f32 (statistics are never kept in less), got "
             << type.getElementType();
  }
  return verifyTensorsOrMemRefs(*this);
}

//===----------------------------------------------------------------------===//
// RowwiseOp
//===----------------------------------------------------------------------===//

MutableOperandRange RowwiseOp::getDpsInitsMutable() {
  return getTrailingOperands(getOperation(), getRowOuts().size() +
                                                 getScalarOuts().size() +
                                                 getColumnSums().size());
}

void RowwiseOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects);
}

Value RowwiseOp::getRowBlock() {
  return getRows().empty() ? getRowOuts().front() : getRows().front();
}

int64_t RowwiseOp::getRowLength() {
  return cast<ShapedType>(getRowBlock().getType()).getShape().back();
}

std::string RowwiseOp::getOperandName(unsigned index) {
  if (std::optional<ArrayAttr> names = getOperandNames())
    return cast<StringAttr>((*names)[index]).str();
  return "operand" + std::to_string(index);
}

Value RowwiseOp::getYielded(unsigned index) {
  return cast<YieldOp>(getBody().front().getTerminator()).getValues()[index];
}

bool RowwiseOp::hasPartialColumnSums() {
  return llvm::any_of(getColumnSums(), [](Value value) {
    return cast<ShapedType>(value.getType()).getRank() == 2;
  });
}

Value lnbwd::getSummedRow(Operation *op) {
  if (auto sum = dyn_cast<vector::ReductionOp>(op))
    if (sum.getKind() == vector::CombiningKind::ADD && !sum.getAcc() &&
        sum.getDest().getType().isF32())
      return sum.getVector();
  if (auto element = dyn_cast<vector::ExtractOp>(op)) {
    VectorType row = element.getSourceVectorType();
    if (row.getShape() == ArrayRef<int64_t>{1} &&
        row.getElementType().isF32() &&
        element.getStaticPosition() == ArrayRef<int64_t>{0})
      return element.getSource();
  }
  return {};
}

bool RowwiseOp::hasRowSums() {
  return llvm::any_of(getBody().front(),
                      [](Operation &op) { return bool(getSummedRow(&op)); });
}

unsigned RowwiseOp::getRowElementBits() {
  unsigned bits = 0;
  for (ValueRange values : {ValueRange(getRows()), ValueRange(getRowOuts())})
    for (Value value : values)
      bits = std::max(
          bits, cast<ShapedType>(value.getType()).getElementTypeBitWidth());
  return bits;
}

void RowwiseOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  if (region.empty() || !getOperandNames())
    return;
  for (BlockArgument arg : region.getArguments())
    if (arg.getArgNumber() < getOperandNames()->size())
      setName(arg, getOperandName(arg.getArgNumber()));
}

LogicalResult RowwiseOp::verify() {
  if (getRows().empty() && getRowOuts().empty())
    return emitOpError("expected at least one row block, read or written: it "
                       "gives the number of rows");
  if (getRowOuts().empty() && getScalarOuts().empty() &&
      getColumnSums().empty())
    return emitOpError("expected at least one output");

  auto first = cast<ShapedType>(getRowBlock().getType());
  if (failed(verifyRowBlock(*this, "the first row block", first)))
    return failure();
  for (ValueRange values : {ValueRange(getRows()), ValueRange(getRowOuts())})
    for (Value value : values) {
      auto type = cast<ShapedType>(value.getType());
      if (failed(verifyShape(*this, "a row block", type, first.getShape(), true,
                             "that of the first row block")) ||
          failed(verifyRowBlock(*this, "a row block", type)))
        return failure();
    }
  for (Value value : getColumns()) {
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(*this, "a column operand", type,
                           first.getShape().take_back(), true, "one row")) ||
        failed(verifyRowElement(*this, "a column operand", type)))
      return failure();
  }
  for (ValueRange values :
       {ValueRange(getScalars()), ValueRange(getScalarOuts())})
    for (Value value : values) {
      auto type = cast<ShapedType>(value.getType());
      if (failed(verifyShape(*this, "a row scalar", type,
                             first.getShape().drop_back(), false,
                             "the leading dimensions of the row blocks")) ||
          failed(verifyRowElement(*this, "a row scalar", type)))
        return failure();
    }
  int64_t rank = 0;
  for (Value value : getColumnSums()) {
    auto type = cast<ShapedType>(value.getType());
    int64_t length = getRowLength();
    if (type.getRank() == 2) {
      if (failed(verifyShape(*this, "a partial column sum", type,
                             {ShapedType::kDynamic, length}, true,
                             "one row for each workgroup")))
        return failure();
      if (!type.getElementType().isF32())
        return emitOpError("expected partial column sums to be f32, got ")
               << type;
    } else if (failed(verifyShape(*this, "a column sum", type, {length}, true,
                                  "one row")) ||
               failed(verifyRowElement(*this, "a column sum", type))) {
      return failure();
    }
    if (rank != 0 && rank != type.getRank())
      return emitOpError("expected all column sums to be partial or none");
    rank = type.getRank();
  }
  if (std::optional<ArrayAttr> names = getOperandNames())
    if (names->size() != getNumOperands())
      return emitOpError("expected operand_names to name ")
             << getNumOperands() << " operands, got " << names->size();
  return verifyTensorsOrMemRefs(*this);
}

LogicalResult RowwiseOp::verifyRegions() {
  Block &block = getBody().front();
  int64_t length = getRowLength();
  auto rowOf = [&](Value value) -> Type {
    return VectorType::get({length}, getElementTypeOrSelf(value.getType()));
  };

  SmallVector<Type> arguments;
  for (Value value : getRows())
    arguments.push_back(rowOf(value));
  for (Value value : getColumns())
    arguments.push_back(rowOf(value));
  for (Value value : getScalars())
    arguments.push_back(getElementTypeOrSelf(value.getType()));
  if (block.getNumArguments() != arguments.size())
    return emitOpError("expected the region to have ")
           << arguments.size() << " arguments, one for each input, got "
           << block.getNumArguments();
  for (auto [index, expected] : llvm::enumerate(arguments))
    if (block.getArgument(index).getType() != expected)
      return emitOpError("expected argument ")
             << index << " of the region to be " << expected << ", got "
             << block.getArgument(index).getType();

  SmallVector<Type> outputs;
  for (Value value : getRowOuts())
    outputs.push_back(rowOf(value));
  for (Value value : getScalarOuts())
    outputs.push_back(getElementTypeOrSelf(value.getType()));
  for (size_t i = 0; i < getColumnSums().size(); ++i)
    outputs.push_back(
        VectorType::get({length}, Float32Type::get(getContext())));
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().size() != outputs.size())
    return yield.emitOpError("expected ")
           << outputs.size() << " values, one for each output, got "
           << yield.getValues().size();
  for (auto [index, expected] : llvm::enumerate(outputs))
    if (yield.getValues()[index].getType() != expected)
      return yield.emitOpError("expected value ")
             << index << " to be " << expected << ", got "
             << yield.getValues()[index].getType();
  return success();
}
