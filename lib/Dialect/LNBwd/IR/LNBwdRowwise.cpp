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

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

MutableOperandRange RowwiseOp::getDpsInitsMutable() {
  return getTrailingOperands(getOperation(), getRowOuts().size() +
                                                 getScalarOuts().size() +
                                                 getAllSums().size());
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

int64_t RowwiseOp::getRowStride(unsigned index) {
  RowLayout layout = getRowLayout(cast<ShapedType>(getOperand(index).getType()),
                                  int64_t(getRowRank()));
  return layout.stride.value_or(layout.length);
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
  return getOperation()->getOperands().take_back(getColumnSums().size() +
                                                 getGroupSums().size());
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

/// The groups of rows: the shapes of group columns, and that all operands agree
/// on a number of groups that divides the number of rows.
static LogicalResult verifyGroups(RowwiseOp op, ArrayRef<int64_t> rowShape) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, rowShape);
  for (Value value : op.getGroupColumns()) {
    auto type = cast<ShapedType>(value.getType());
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
    SmallVector<int64_t> shape(size_t(leading + isPartial),
                               ShapedType::kDynamic);
    llvm::append_range(shape, rowShape);
    std::string what = (isPartial ? "a partial " : "a ") + name.str();
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
  if (op.getAccumulate() && (!partial || *partial))
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

LogicalResult RowwiseOp::verify() {
  if (getRows().empty() && getRowOuts().empty())
    return emitOpError("expected at least one row block, read or written: it "
                       "gives the number of rows");
  if (getDpsInits().empty())
    return emitOpError("expected at least one output");

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
      if (failed(verifyShape(*this, "a row block", type, first.getShape(),
                             rowRank, "that of the first row block")) ||
          failed(verifyRowBlock(*this, "a row block", type, rowRank,
                                verifyRowElementOrByte)))
        return failure();
      rowBlocks.push_back(value);
    }
  for (Value value : getColumns()) {
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyShape(*this, "a column operand", type, rowShape, rowRank,
                           "one row")) ||
        failed(verifyRowElement(*this, "a column operand", type)))
      return failure();
  }
  for (ValueRange values :
       {ValueRange(getScalars()), ValueRange(getScalarOuts())})
    for (Value value : values) {
      auto type = cast<ShapedType>(value.getType());
      if (failed(verifyShape(*this, "a row scalar", type,
                             first.getShape().drop_back(size_t(rowRank)), 0,
                             "the leading dimensions of the row blocks")) ||
          failed(verifyRowElement(*this, "a row scalar", type)))
        return failure();
    }
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

LogicalResult RowwiseOp::verifyRegions() {
  Block &block = getBody().front();
  int64_t length = getRowLength();
  auto rowOf = [&](Value value) -> Type {
    return VectorType::get({length}, getElementTypeOrSelf(value.getType()));
  };

  SmallVector<Type> arguments;
  for (Value value : getRows())
    arguments.push_back(rowOf(value));
  for (Value value : getAllColumns())
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
  for (size_t i = 0; i < getAllSums().size(); ++i)
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
