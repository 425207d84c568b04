//===- LNBwdRowwise.cpp - The row program ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier and the small questions of `lnbwd.rowwise`.
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

MutableOperandRange RowwiseOp::getDpsInitsMutable() {
  return getTrailingOperands(getOperation(),
                             getRowOuts().size() + getScalarOuts().size() +
                                 getAllSums().size() + getOuterSums().size());
}

void RowwiseOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects, getAccumulate());
}

Value RowwiseOp::getRowBlock() {
  return getRows().empty() ? getRowOuts().front() : getRows().front();
}

/// The rows that a row program works through.
static RowLayout getRows(RowwiseOp op) {
  return getRowLayout(cast<ShapedType>(op.getRowBlock().getType()),
                      int64_t(op.getRowRank()));
}

std::optional<int64_t> RowwiseOp::getStaticRowCount() {
  return ::getRows(*this).count;
}

int64_t RowwiseOp::getRowLength() { return ::getRows(*this).length; }

bool RowwiseOp::hasContractions() {
  return !getMatrices().empty() || !getOuterSums().empty();
}

Type RowwiseOp::getRegionType(unsigned index) {
  auto type = cast<ShapedType>(getOperand(index).getType());
  auto isIn = [&](OperandRange range) {
    return !range.empty() && index >= range.getBeginOperandIndex() &&
           index < range.getBeginOperandIndex() + range.size();
  };
  if (isIn(getScalars()) || isIn(getScalarOuts()))
    return type.getElementType();
  bool isOuterSum = isIn(getOuterSums());
  if (isOuterSum || isIn(getMatrices()))
    return VectorType::get(type.getShape(), isOuterSum
                                                ? Float32Type::get(getContext())
                                                : type.getElementType());
  int64_t length = getRowLayout(type, int64_t(getRowRank())).length;
  bool isSum = isIn(getColumnSums()) || isIn(getGroupSums());
  return VectorType::get({length}, isSum ? Float32Type::get(getContext())
                                         : type.getElementType());
}

int64_t RowwiseOp::getRowStride(unsigned index) {
  RowLayout layout = getRowLayout(cast<ShapedType>(getOperand(index).getType()),
                                  int64_t(getRowRank()));
  return layout.stride.value_or(layout.length);
}

int64_t RowwiseOp::getScalarSplits(unsigned index) {
  auto type = cast<ShapedType>(getOperand(index).getType());
  auto block = cast<ShapedType>(getRowBlock().getType());
  bool isSplit = type.getRank() > block.getRank() - int64_t(getRowRank());
  return isSplit ? type.getShape().back() : 0;
}

bool RowwiseOp::hasSplitScalarOuts() {
  OperandRange outs = getScalarOuts();
  return llvm::any_of(llvm::seq<size_t>(0, outs.size()), [&](size_t i) {
    return getScalarSplits(outs.getBeginOperandIndex() + unsigned(i)) != 0;
  });
}

std::string RowwiseOp::getOperandName(unsigned index) {
  if (std::optional<ArrayAttr> names = getOperandNames())
    return cast<StringAttr>((*names)[index]).str();
  return "operand" + std::to_string(index);
}

Value RowwiseOp::getYielded(unsigned index) {
  return cast<YieldOp>(getBody().front().getTerminator()).getValues()[index];
}

OperandRange RowwiseOp::getAllColumns() {
  return getOperation()->getOperands().slice(
      getRows().size(), getColumns().size() + getGroupColumns().size());
}

OperandRange RowwiseOp::getAllSums() {
  return getOperation()
      ->getOperands()
      .drop_back(getOuterSums().size())
      .take_back(getColumnSums().size() + getGroupSums().size());
}

Value RowwiseOp::getGroupOperand() {
  for (OperandRange range : {getGroupColumns(), getGroupSums()})
    if (!range.empty())
      return range.front();
  return {};
}

std::optional<int64_t> RowwiseOp::getStaticGroupCount() {
  if (!getGroupOperand())
    return 1;
  for (OperandRange range : {getGroupColumns(), getGroupSums()})
    for (Value value : range)
      if (auto type = cast<ShapedType>(value.getType()); !type.isDynamicDim(0))
        return type.getDimSize(0);
  return std::nullopt;
}

std::optional<int64_t> RowwiseOp::getStaticGroupRows() {
  std::optional<int64_t> rows = getStaticRowCount();
  std::optional<int64_t> groups = getStaticGroupCount();
  if (!rows || !groups)
    return std::nullopt;
  return *groups == 0 ? 0 : *rows / *groups;
}

bool RowwiseOp::hasPartialSums() {
  auto rankIsAbove = [](int64_t rank) {
    return [rank](Value value) {
      return cast<ShapedType>(value.getType()).getRank() > rank;
    };
  };
  auto rowRank = int64_t(getRowRank());
  return llvm::any_of(getColumnSums(), rankIsAbove(rowRank)) ||
         llvm::any_of(getGroupSums(), rankIsAbove(rowRank + 1));
}

Value lnbwd::getSummedRow(Operation *op) {
  if (auto sum = dyn_cast<vector::ReductionOp>(op))
    if ((sum.getKind() == vector::CombiningKind::ADD ||
         sum.getKind() == vector::CombiningKind::MAXIMUMF) &&
        !sum.getAcc() && sum.getDest().getType().isF32())
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

bool lnbwd::isRowMaximum(Operation *op) {
  auto reduction = dyn_cast<vector::ReductionOp>(op);
  return reduction && reduction.getKind() == vector::CombiningKind::MAXIMUMF;
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

/// The shape that the row of an operand of type `type` must have: that of the
/// first row block, or with contractions its own, a static length.
static FailureOr<SmallVector<int64_t>>
getExpectedRow(RowwiseOp op, StringRef name, ShapedType type,
               ArrayRef<int64_t> rowShape) {
  if (!op.hasContractions())
    return llvm::to_vector(rowShape);
  if (failed(verifyRowBlock(op, name, type, op.getRowRank())))
    return failure();
  return llvm::to_vector(type.getShape().take_back(1));
}

/// The groups of rows: the shapes of group columns, and that all operands agree
/// on a number of groups that divides the number of rows.
static LogicalResult verifyGroups(RowwiseOp op, ArrayRef<int64_t> rowShape) {
  for (Value value : op.getGroupColumns()) {
    auto type = cast<ShapedType>(value.getType());
    auto row = getExpectedRow(op, "a group column", type, rowShape);
    if (failed(row))
      return failure();
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    llvm::append_range(shape, *row);
    if (failed(verifyShape(op, "a group column", type, shape, op.getRowRank(),
                           "one row for each group of rows")) ||
        failed(verifyRowElement(op, "a group column", type)))
      return failure();
  }
  std::optional<int64_t> groups;
  for (OperandRange range : {op.getGroupColumns(), op.getGroupSums()})
    for (Value value : range) {
      auto type = cast<ShapedType>(value.getType());
      if (type.getRank() == 0 || type.isDynamicDim(0))
        continue;
      int64_t count = type.getDimSize(0);
      if (groups && *groups != count)
        return op.emitOpError("expected all group columns and group sums to "
                              "have the same number of groups, got ")
               << *groups << " and " << count;
      groups = count;
    }
  std::optional<int64_t> rows = op.getStaticRowCount();
  if (groups && rows && (*groups == 0 ? *rows != 0 : *rows % *groups != 0))
    return op.emitOpError("expected the number of rows to be a multiple of the "
                          "number of groups, ")
           << *groups << ", got " << *rows
           << " rows; all groups have the same number of rows";
  return success();
}

/// Column sums and group sums: their shapes and elements, and that all are
/// partial or none.
static LogicalResult verifySums(RowwiseOp op, ArrayRef<int64_t> rowShape) {
  int64_t rowRank = op.getRowRank();
  // What tells partial sums, and how many dimensions more they have.
  std::optional<bool> partial;
  auto verify = [&](Value value, int64_t leading, StringRef name,
                    StringRef rows) -> LogicalResult {
    auto type = cast<ShapedType>(value.getType());
    bool isPartial = type.getRank() == rowRank + leading + 1;
    std::string what = (isPartial ? "a partial " : "a ") + name.str();
    auto row = getExpectedRow(op, what, type, rowShape);
    if (failed(row))
      return failure();
    SmallVector<int64_t> shape(size_t(leading + isPartial),
                               ShapedType::kDynamic);
    llvm::append_range(shape, *row);
    std::string why = rows.str();
    if (isPartial)
      why = "one row for each workgroup" +
            std::string(leading ? " of each group" : "");
    if (failed(verifyShape(op, what, type, shape, rowRank, why)))
      return failure();
    if (isPartial && !type.getElementType().isF32())
      return op.emitOpError("expected partial ")
             << name << "s to be f32, got " << type;
    if (!isPartial && failed(verifyRowElement(op, what, type)))
      return failure();
    if (op.getAccumulate() && !type.getElementType().isF32())
      return op.emitOpError("expected ")
             << name << "s that accumulate to be f32, got " << type;
    if (partial && *partial != isPartial)
      return op.emitOpError("expected all column sums and group sums to be "
                            "partial or none");
    partial = isPartial;
    return success();
  };
  for (Value value : op.getColumnSums())
    if (failed(verify(value, 0, "column sum", "one row")))
      return failure();
  for (Value value : op.getGroupSums())
    if (failed(verify(value, 1, "group sum", "one row for each group of rows")))
      return failure();
  if (op.getAccumulate() && (partial ? *partial : op.getOuterSums().empty()))
    return op.emitOpError("expected column sums or group sums, and none "
                          "partial, to accumulate into");
  return success();
}

/// The launch plan knows operands by their names. One buffer that is read and
/// written may have one name at both places.
static LogicalResult verifyOperandNames(RowwiseOp op) {
  llvm::StringMap<unsigned> seen;
  std::optional<ArrayAttr> names = op.getOperandNames();
  if (!names)
    return success();
  for (auto [index, name] :
       llvm::enumerate(names->getAsValueRange<StringAttr>())) {
    if (name.empty())
      continue;
    auto [first, isNew] = seen.try_emplace(name, unsigned(index));
    if (!isNew && op.getOperand(first->second) != op.getOperand(index))
      return op.emitOpError("expected operand_names to differ, got '")
             << name << "' for operands " << first->second << " and " << index;
  }
  return success();
}

/// Matrices and outer sums: their shapes and elements.
static LogicalResult verifyMatrices(RowwiseOp op) {
  if (!op.hasContractions())
    return success();
  if (op.getRowRank() != 1)
    return op.emitOpError("expected row_rank 1 in a program with matrices or "
                          "outer sums, got ")
           << op.getRowRank() << "; collapse the dimensions of a row";
  auto verify = [&](Value value, StringRef name) -> LogicalResult {
    auto type = cast<ShapedType>(value.getType());
    if (type.getRank() != 2 || !type.hasStaticShape() ||
        llvm::is_contained(type.getShape(), 0))
      return op.emitOpError("expected ")
             << name
             << " to have two static dimensions of at least 1 (a kernel is "
                "compiled for one size of them), got "
             << type;
    return verifyRowElement(op, name, type);
  };
  for (Value value : op.getMatrices())
    if (failed(verify(value, "a matrix")))
      return failure();
  for (Value value : op.getOuterSums()) {
    if (failed(verify(value, "an outer sum")))
      return failure();
    auto type = cast<ShapedType>(value.getType());
    if (op.getAccumulate() && !type.getElementType().isF32())
      return op.emitOpError("expected outer sums that accumulate to be f32, "
                            "got ")
             << type;
  }
  return success();
}

/// A row scalar: one number for each row, or one for each slice of its columns.
static LogicalResult verifyScalar(RowwiseOp op, unsigned index,
                                  ArrayRef<int64_t> leading) {
  auto type = cast<ShapedType>(op->getOperand(index).getType());
  SmallVector<int64_t> shape(leading);
  bool isSplit = type.getRank() == int64_t(leading.size()) + 1;
  if (isSplit) {
    if (!isa<MemRefType>(type) || !type.getElementType().isF32() ||
        type.getShape().back() < 1)
      return op.emitOpError("expected a split row scalar to be a memref of "
                            "f32 with a static number of them, got ")
             << type;
    shape.push_back(type.getShape().back());
  }
  if (failed(verifyShape(op, "a row scalar", type, shape, 0,
                         "the leading dimensions of the row blocks")))
    return failure();
  return verifyRowElement(op, "a row scalar", type);
}

LogicalResult RowwiseOp::verify() {
  if (getRows().empty() && getRowOuts().empty())
    return emitOpError("expected at least one row block, read or written: it "
                       "gives the number of rows");
  if (getDpsInits().empty())
    return emitOpError("expected at least one output");

  if (failed(verifyMatrices(*this)))
    return failure();
  int64_t rowRank = getRowRank();
  auto first = cast<ShapedType>(getRowBlock().getType());
  if (failed(verifyRowBlock(*this, "the first row block", first, rowRank,
                            verifyRowElementOrByte)))
    return failure();
  ArrayRef<int64_t> rowShape = first.getShape().take_back(size_t(rowRank));
  SmallVector<Value> rowBlocks;
  for (ValueRange values : {ValueRange(getRows()), ValueRange(getRowOuts())})
    for (Value value : values) {
      auto type = cast<ShapedType>(value.getType());
      SmallVector<int64_t> shape(first.getShape());
      if (hasContractions() && type.getRank() > 0)
        shape.back() = type.getShape().back();
      if (failed(verifyShape(*this, "a row block", type, shape, rowRank,
                             hasContractions()
                                 ? "the leading dimensions of the first row "
                                   "block, and a length of its own"
                                 : "that of the first row block")) ||
          failed(verifyRowBlock(*this, "a row block", type, rowRank,
                                verifyRowElementOrByte)))
        return failure();
      rowBlocks.push_back(value);
    }
  for (Value value : getColumns()) {
    auto type = cast<ShapedType>(value.getType());
    auto row = getExpectedRow(*this, "a column operand", type, rowShape);
    if (failed(row) ||
        failed(verifyShape(*this, "a column operand", type, *row, rowRank,
                           "one row")) ||
        failed(verifyRowElement(*this, "a column operand", type)))
      return failure();
  }
  for (OperandRange values : {getScalars(), getScalarOuts()})
    for (auto [i, value] : llvm::enumerate(values))
      if (failed(verifyScalar(*this,
                              values.getBeginOperandIndex() + unsigned(i),
                              first.getShape().drop_back(size_t(rowRank)))))
        return failure();
  if (failed(verifyGroups(*this, rowShape)) ||
      failed(verifySums(*this, rowShape)))
    return failure();
  auto fixed = int64_t(getFixedWorkgroups());
  if (fixed < 0 || fixed > std::numeric_limits<int32_t>::max())
    return emitOpError("expected fixed_workgroups from 0 to ")
           << std::numeric_limits<int32_t>::max() << ", got " << fixed;
  if (std::optional<ArrayAttr> names = getOperandNames())
    if (names->size() != getNumOperands())
      return emitOpError("expected operand_names to name ")
             << getNumOperands() << " operands, got " << names->size();
  if (failed(verifyOperandNames(*this)))
    return failure();
  if (failed(verifyOptionNames(*this)) ||
      failed(verifyTensorsOrMemRefs(*this)) ||
      failed(verifyDistinctOutputs(*this)))
    return failure();
  return verifyLayouts(*this, rowRank, rowBlocks);
}

/// A matrix is an operand of products, and an outer sum one of outer products:
/// nothing is done with their elements.
static LogicalResult verifyMatrixUses(RowwiseOp op) {
  auto isMatrix = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && vector.getRank() == 2;
  };
  for (Operation &bodyOp : op.getBody().front().without_terminator()) {
    if (isa<LinearOp>(bodyOp))
      continue;
    bool isSum = isa<vector::OuterProductOp, arith::AddFOp>(bodyOp) ||
                 matchPattern(&bodyOp, m_AnyZeroFloat());
    if (!isSum &&
        llvm::any_of(llvm::concat<const Type>(bodyOp.getOperandTypes(),
                                              bodyOp.getResultTypes()),
                     isMatrix))
      return bodyOp.emitOpError("expected matrices of a row program to be "
                                "operands of lnbwd.linear, or the results of "
                                "vector.outerproduct and arith.addf of such");
    for (Value operand : bodyOp.getOperands())
      if (isMatrix(operand.getType()) && isa<BlockArgument>(operand))
        return bodyOp.emitOpError("expected a matrix operand of the row "
                                  "program to be used by lnbwd.linear alone");
  }
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    if (isMatrix(value.getType()) && isa<BlockArgument>(value))
      return yield.emitOpError("expected value ")
             << index
             << " to be a sum of vector.outerproduct, got a matrix operand of "
                "the row program";
  return success();
}

LogicalResult RowwiseOp::verifyRegions() {
  Block &block = getBody().front();
  unsigned numInputs = getNumDpsInputs();
  if (block.getNumArguments() != numInputs)
    return emitOpError("expected the region to have ")
           << numInputs << " arguments, one for each input, got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments())
    if (Type expected = getRegionType(argument.getArgNumber());
        argument.getType() != expected)
      return emitOpError("expected argument ")
             << argument.getArgNumber() << " of the region to be " << expected
             << ", got " << argument.getType();

  auto yield = cast<YieldOp>(block.getTerminator());
  auto numOutputs = size_t(getNumDpsInits());
  if (yield.getValues().size() != numOutputs)
    return yield.emitOpError("expected ")
           << numOutputs << " values, one for each output, got "
           << yield.getValues().size();
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    if (Type expected = getRegionType(numInputs + unsigned(index));
        value.getType() != expected)
      return yield.emitOpError("expected value ")
             << index << " to be " << expected << ", got " << value.getType();
  auto firstScalar = unsigned(getRowOuts().size());
  for (unsigned i = 0; i < getScalarOuts().size(); ++i) {
    if (!getScalarSplits(numInputs + firstScalar + i))
      continue;
    // No workgroup has the sum itself.
    Operation *sum = getYielded(firstScalar + i).getDefiningOp();
    if (!sum || !getSummedRow(sum) || isRowMaximum(sum) || !sum->hasOneUse())
      return yield.emitOpError("expected value ")
             << firstScalar + i
             << ", a split row scalar, to be a vector.reduction <add> that "
                "has no other use";
  }
  return hasContractions() ? verifyMatrixUses(*this) : success();
}
