//===- LNBwdRowwise.cpp - The row program ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The small questions of `lnbwd.rowwise`, the verifier of its region, and the
// operations there.
//
//===----------------------------------------------------------------------===//

#include "OperandForms.h"

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

void RowwiseOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, effects, getAccumulate());
}

/// The operand that is the row block of `op`, else one that is a number for
/// each row, where no rows are combined and others say what the columns are; or
/// the number of operands.
static unsigned findRowBlock(RowwiseOp op) {
  bool hasMatrices = op.hasContractions();
  int64_t numRows = op.getNumRowDims();
  unsigned numColumns = op.getMap(0).getNumDims() - unsigned(numRows);
  unsigned none = op->getNumOperands(), found = none, scalar = none;
  bool combinesRows = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    combinesRows |= op.getReduction(i) != Reduction::None;
    if (op.getForm(i).getAccess() == Access::Scalar &&
        !op.getForm(i).isPartial() &&
        countRowDims(op, op.getMap(i)) == numRows && numRows > 0)
      scalar = std::min(scalar, i);
    if (op.getForm(i).getAccess() != Access::Row ||
        countRowDims(op, op.getMap(i)) != numRows ||
        (!hasMatrices && op.getForm(i).getColumnDims() != numColumns))
      continue;
    if (!op.getForm(i).getStrided())
      return i;
    found = std::min(found, i);
  }
  if (found != none || hasMatrices || combinesRows)
    return found;
  SmallVector<int64_t> sizes = op.getDimSizes();
  bool hasColumns = !llvm::is_contained(ArrayRef(sizes).drop_front(numRows),
                                        ShapedType::kDynamic);
  return hasColumns ? scalar : none;
}

Value RowwiseOp::getRowBlock() {
  unsigned index = findRowBlock(*this);
  return index < getNumOperands() ? getOperand(index) : Value();
}

SmallVector<int64_t> RowwiseOp::getRowBlockShape() {
  unsigned index = findRowBlock(*this);
  SmallVector<int64_t> known = getDimSizes();
  if (getForm(index).getAccess() == Access::Scalar)
    return known;
  SmallVector<std::pair<unsigned, int64_t>> sizes;
  for (auto [result, size] : llvm::zip_equal(
           getMap(index).getResults(),
           cast<ShapedType>(getOperand(index).getType()).getShape()))
    // Of what lies in some of a dimension, others have its size.
    if (MappedDim mapped = *getMappedDim(result); mapped.by)
      sizes.emplace_back(mapped.dim, known[mapped.dim]);
    else
      sizes.emplace_back(mapped.dim, size);
  llvm::sort(sizes);
  return llvm::to_vector(llvm::make_second_range(sizes));
}

int64_t RowwiseOp::getRowRank() {
  unsigned index = findRowBlock(*this);
  int64_t rank = getForm(index).getAccess() == Access::Scalar
                     ? getMap(index).getNumDims()
                     : getMap(index).getNumResults();
  return rank - int64_t(getNumRowDims());
}

std::optional<int64_t> RowwiseOp::getStaticRowCount() {
  SmallVector<int64_t> shape = getRowBlockShape();
  return multiplySizes(ArrayRef(shape).take_front(size_t(getNumRowDims())));
}

int64_t RowwiseOp::getRowLength() {
  SmallVector<int64_t> shape = getRowBlockShape();
  return llvm::product_of(ArrayRef(shape).take_back(size_t(getRowRank())));
}

bool RowwiseOp::isOfNumbers() {
  return llvm::all_of(llvm::seq(getNumOperands()), [&](unsigned i) {
    return getForm(i).getAccess() == Access::Scalar;
  });
}

bool RowwiseOp::hasContractions() {
  return !getMatrices().empty() || !getOuterSums().empty();
}

std::optional<RowwiseOp::Product> RowwiseOp::getProduct() {
  if (!hasContractions() || getNumDpsInits() != 1 || getNumRowDims() != 1 ||
      getAccumulate() || getSchedule() || getOwnRows())
    return std::nullopt;
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    bool isSplit = getForm(unsigned(i)).isPartial() &&
                   (getOuterSums().empty() || !type.hasStaticShape());
    if (!type || !type.getLayout().isIdentity() || isSplit)
      return std::nullopt;
  }
  // A row block or a matrix: a column is a matrix to no kernel.
  auto getRead = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    Value read = argument ? getOperand(argument.getArgNumber()) : Value();
    return read && cast<MemRefType>(read.getType()).getRank() == 2 ? read
                                                                   : Value();
  };
  Product product{};
  Value yielded = getYielded(0);
  if (auto outer = yielded.getDefiningOp<vector::OuterProductOp>()) {
    if (!outer.getAcc())
      product = {getRead(getNarrowRow(outer.getLhs())),
                 getRead(getNarrowRow(outer.getRhs())), yielded,
                 /*sumsRows=*/true, /*isTransposed=*/false};
  } else if (!getRowOuts().empty() &&
             !getElementTypeOrSelf(getOutputs()[0]).isInteger()) {
    for (Operation &op : getBody().front().without_terminator()) {
      auto linear = dyn_cast<LinearOp>(op);
      if (linear ? bool(product.value) : !isRowElementOp(op))
        return std::nullopt;
      if (linear)
        product = {getRead(linear.getRow()), getRead(linear.getMatrix()),
                   linear.getResult(), /*sumsRows=*/false,
                   /*isTransposed=*/!linear.getTransposed()};
    }
  }
  // Other workgroups read while one writes.
  if (!product.lhs || !product.rhs ||
      llvm::is_contained({product.lhs, product.rhs}, getOutputs()[0]))
    return std::nullopt;
  return product;
}

Type RowwiseOp::getRegionType(unsigned index) {
  auto type = cast<ShapedType>(getOperand(index).getType());
  Access access = getForm(index).getAccess();
  bool isReduced = getReduction(index) != Reduction::None;
  Type element =
      isReduced ? Type(Float32Type::get(getContext())) : type.getElementType();
  if (access == Access::Scalar)
    return element;
  if (access == Access::Matrix)
    return VectorType::get(type.getShape().take_back(2), element);
  if (access == Access::Table && getForm(index).getColumnDims() == 0)
    return VectorType::get({type.getDimSize(0)}, element);
  if (access == Access::Table)
    return VectorType::get({type.getDimSize(0), getForm(index).getRowLength()},
                           element);
  int64_t length =
      hasContractions() ? getForm(index).getRowLength() : getRowLength();
  return VectorType::get({length}, element);
}

bool RowwiseOp::hasSplitScalarOuts() {
  OperandRange outs = getScalarOuts();
  return llvm::any_of(llvm::seq<size_t>(0, outs.size()), [&](size_t i) {
    return getForm(outs.getBeginOperandIndex() + unsigned(i)).isPartial();
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
  return getInputs().slice(getRows().size(),
                           getColumns().size() + getGroupColumns().size());
}

OperandRange RowwiseOp::getAllSums() {
  return getOutputs().slice(getRowOuts().size() + getScalarOuts().size(),
                            getColumnSums().size() + getGroupSums().size());
}

bool RowwiseOp::takesMaxima() {
  return llvm::is_contained(
      getReductions(), ReductionAttr::get(getContext(), Reduction::Maximum));
}

std::optional<int64_t> RowwiseOp::getStaticGroupCount() {
  SmallVector<int64_t> shape = getRowBlockShape();
  return multiplySizes(ArrayRef(shape).take_front(size_t(getNumGroupDims())));
}

std::optional<int64_t> RowwiseOp::getStaticGroupRows() {
  std::optional<int64_t> rows = getStaticRowCount();
  std::optional<int64_t> groups = getStaticGroupCount();
  if (!rows || !groups)
    return std::nullopt;
  return *groups == 0 ? 0 : *rows / *groups;
}

bool RowwiseOp::hasPartialSums() {
  OperandRange sums = getAllSums();
  return !sums.empty() && getForm(sums.getBeginOperandIndex()).isPartial();
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
  unsigned bits = 0, repeated = 0;
  for (OperandRange values : {getRows(), getRowOuts()})
    for (auto [i, value] : llvm::enumerate(values)) {
      unsigned index = values.getBeginOperandIndex() + unsigned(i);
      // A number for each block goes by itself, and what is repeated along the
      // row as columns do.
      unsigned &widest =
          getForm(index).getRowLength() == getRowLength() ? bits : repeated;
      widest = std::max(
          widest, cast<ShapedType>(value.getType()).getElementTypeBitWidth());
    }
  if (!bits)
    bits = repeated;
  return bits ? bits : 32;
}

void RowwiseOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  if (region.empty() || !getOperandNames())
    return;
  for (BlockArgument arg : region.getArguments())
    if (arg.getArgNumber() < getOperandNames()->size())
      setName(arg, getOperandName(arg.getArgNumber()));
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

/// A matrix is an operand of products, and an outer sum one of outer products:
/// nothing is done with their elements.
static LogicalResult verifyMatrixUses(RowwiseOp op) {
  for (IndexOp index : op.getBody().getOps<IndexOp>())
    return index.emitOpError("is not supported in a program with matrices");
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

/// Indices along dimensions whose sizes are known where they have to be.
static LogicalResult verifyIndices(RowwiseOp op) {
  SmallVector<int64_t> sizes = op.getRowBlockShape();
  sizes.truncate(size_t(op.getNumRowDims()));
  for (IndexOp index : op.getBody().getOps<IndexOp>()) {
    auto dim = size_t(index.getDim());
    if (dim >= sizes.size()) {
      auto type = cast<VectorType>(index.getType());
      if (type.getDimSize(0) != op.getRowLength())
        return index.emitOpError("expected a vector of ")
               << op.getRowLength() << " elements, those of a row, got "
               << type;
      continue;
    }
    // Groups are numbered by themselves.
    auto numGroupDims = size_t(op.getNumGroupDims());
    size_t end = dim < numGroupDims ? numGroupDims : sizes.size();
    for (int64_t size : ArrayRef(sizes).slice(dim + 1, end - dim - 1))
      if (ShapedType::isDynamic(size))
        return index.emitOpError("expected static row dimensions after ")
               << dim << ", got " << op.getRowBlock().getType()
               << "; collapse them into one";
  }
  return success();
}

LogicalResult RowwiseOp::verifyRegions() {
  Block &block = getBody().front();
  for (BlockMaxOp op : block.getOps<BlockMaxOp>())
    if (hasContractions() || getRowLength() % op.getSpan() != 0)
      return op.emitOpError("expected rows of a multiple of ")
             << op.getSpan() << " elements, in a program without matrices, got "
             << op.getType();
  // No operand would say how long such a row is.
  if (isOfNumbers())
    for (Operation &op : block)
      for (Type type : op.getResultTypes())
        if (auto row = dyn_cast<VectorType>(type);
            row && row.getNumElements() != 1)
          return op.emitOpError("expected numbers in a program without row "
                                "blocks and columns, got ")
                 << row << "; add an operand that has the columns";
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

  for (BlockArgument argument : block.getArguments())
    for (OpOperand &use : argument.getUses())
      if (getForm(argument.getArgNumber()).getAccess() == Access::Table &&
          !isa<GatherOp, GatherSumOp>(use.getOwner()))
        return use.getOwner()->emitOpError(
            "expected a table of the row program to be used by lnbwd.gather "
            "and lnbwd.gather_sum alone");

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
    if (!getForm(numInputs + firstScalar + i).getParts())
      continue;
    // No workgroup has the sum itself.
    Operation *sum = getYielded(firstScalar + i).getDefiningOp();
    if (!sum || !getSummedRow(sum) || isRowMaximum(sum) || !sum->hasOneUse())
      return yield.emitOpError("expected value ")
             << firstScalar + i
             << ", a split row scalar, to be a vector.reduction <add> that "
                "has no other use";
  }
  return hasContractions() ? verifyMatrixUses(*this) : verifyIndices(*this);
}

//===----------------------------------------------------------------------===//
// Operations of the region
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto table = dyn_cast<VectorType>(adaptor.getTable().getType());
  if (!table || table.getRank() > 2)
    return failure();
  auto indices = dyn_cast<VectorType>(adaptor.getIndex().getType());
  if (table.getRank() == 2)
    results.push_back(
        VectorType::get({table.getDimSize(1)}, table.getElementType()));
  else
    results.push_back(indices ? Type(indices.clone(table.getElementType()))
                              : table.getElementType());
  return success();
}

/// Whether an operand of `op` is a table of the row program.
static LogicalResult verifyTable(Operation *op, Value table) {
  auto program = cast<RowwiseOp>(op->getParentOp());
  auto argument = dyn_cast<BlockArgument>(table);
  if (argument &&
      program.getForm(argument.getArgNumber()).getAccess() == Access::Table)
    return success();
  return op->emitOpError("expected a table to be an input of the row program "
                         "with the map '[*, n]' or '[*]'");
}

LogicalResult GatherOp::verify() {
  if (failed(verifyTable(*this, getTable())))
    return failure();
  if (getTable().getType().getRank() == 2 &&
      isa<VectorType>(getIndex().getType()))
    return emitOpError("expected one index for a row of a table '[*, n]', got ")
           << getIndex().getType() << "; take elements of a table '[*]'";
  return success();
}

Type GatherSumOp::getSumType(Type table) {
  auto type = dyn_cast<VectorType>(table);
  if (!type || type.getRank() != 2)
    return Type();
  return VectorType::get({type.getDimSize(1)},
                         Float32Type::get(table.getContext()));
}

LogicalResult GatherSumOp::verify() {
  if (failed(verifyTable(*this, getTable())))
    return failure();
  return getList() ? verifyTable(*this, getList()) : success();
}

LogicalResult BlockMaxOp::verify() {
  for (uint64_t number : {getSize(), getStride()})
    if (!llvm::isPowerOf2_64(number))
      return emitOpError("expected blocks of a power of two, got ") << number;
  return success();
}

//===----------------------------------------------------------------------===//
// IndexOp
//===----------------------------------------------------------------------===//

LogicalResult IndexOp::verify() {
  auto program = cast<RowwiseOp>(getOperation()->getParentOp());
  auto numRows = int64_t(program.getNumRowDims());
  int64_t numDims = program.getMap(0).getNumDims(), dim = getDim();
  if (dim >= numDims)
    return emitOpError("expected one of the domain's ")
           << numDims << " dimensions, got " << dim;
  if (isa<VectorType>(getType()) != (dim >= numRows))
    return emitOpError("expected ")
           << (dim >= numRows ? "a vector over the row for a column dimension"
                              : "i32 or i64 for a row dimension")
           << ", got " << getType();
  return success();
}

IndexOp::Formula IndexOp::getFormula() {
  auto op = cast<RowwiseOp>(getOperation()->getParentOp());
  auto dim = size_t(getDim()), numRows = size_t(op.getNumRowDims());
  SmallVector<int64_t> sizes = op.getRowBlockShape();
  // The number is made of the dimensions from `outermost` to `end`.
  auto numGroupDims = size_t(op.getNumGroupDims());
  size_t outermost = numGroupDims, end = numRows;
  Number number = numGroupDims ? Number::RowOfGroup : Number::Row;
  if (dim >= numRows) {
    number = Number::Column;
    outermost = numRows;
    end = sizes.size();
  } else if (dim < numGroupDims) {
    number = Number::Group;
    outermost = 0;
    end = numGroupDims;
  }
  ArrayRef<int64_t> inner = ArrayRef(sizes).slice(dim + 1, end - dim - 1);
  return {number, ShapedType::getNumElements(inner),
          dim == outermost ? 0 : sizes[dim]};
}
