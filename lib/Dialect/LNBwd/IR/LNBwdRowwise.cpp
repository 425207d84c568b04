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
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;
using Access = RowwiseOp::Access;

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
    if (op.getAccess(i) == Access::Scalar && !op.isPartial(i) &&
        countRowDims(op, op.getMap(i)) == numRows && numRows > 0)
      scalar = std::min(scalar, i);
    if (op.getAccess(i) != Access::Row ||
        countRowDims(op, op.getMap(i)) != numRows ||
        (!hasMatrices && op.countColumnDims(i) != numColumns))
      continue;
    if (!op.isStrided(i))
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
  if (getAccess(index) == Access::Scalar)
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

unsigned RowwiseOp::countColumnDims(unsigned index) {
  AffineMap map = getMap(index);
  return countDims(map, int64_t(getNumRowDims()), map.getNumDims());
}

SmallVector<int64_t> RowwiseOp::getDimSizes() {
  SmallVector<int64_t> sizes(getMap(0).getNumDims(), ShapedType::kDynamic);
  for (unsigned i = 0; i < getNumOperands(); ++i)
    for (auto [result, size] :
         llvm::zip_equal(getMap(i).getResults(),
                         cast<ShapedType>(getOperand(i).getType()).getShape()))
      if (std::optional<MappedDim> mapped = getMappedDim(result);
          mapped && !mapped->by && !ShapedType::isDynamic(size))
        sizes[mapped->dim] = size;
  return sizes;
}

int64_t RowwiseOp::getOwnRowLength(unsigned index) {
  int64_t length = 1;
  for (auto [result, size] : llvm::zip_equal(
           getMap(index).getResults(),
           cast<ShapedType>(getOperand(index).getType()).getShape()))
    if (std::optional<MappedDim> mapped = getMappedDim(result);
        mapped && int64_t(mapped->dim) >= int64_t(getNumRowDims()))
      length *= size;
  return length;
}

int64_t RowwiseOp::getRowRank() {
  unsigned index = findRowBlock(*this);
  int64_t rank = getAccess(index) == Access::Scalar
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

bool RowwiseOp::hasContractions() {
  return !getMatrices().empty() || !getOuterSums().empty();
}

std::optional<RowwiseOp::Product> RowwiseOp::getProduct() {
  if (!hasContractions() || getNumDpsInits() != 1 || getNumRowDims() != 1 ||
      getAccumulate() || getSchedule() || getOwnRows())
    return std::nullopt;
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    bool isSplit = isPartial(unsigned(i)) &&
                   (getOuterSums().empty() || !type.hasStaticShape());
    if (!type || !type.getLayout().isIdentity() || isSplit)
      return std::nullopt;
  }
  auto getRead = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? getOperand(argument.getArgNumber()) : Value();
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
  Access access = getAccess(index);
  bool isReduced = getReduction(index) != Reduction::None;
  Type element =
      isReduced ? Type(Float32Type::get(getContext())) : type.getElementType();
  if (access == Access::Scalar)
    return element;
  if (access == Access::Matrix)
    return VectorType::get(type.getShape().take_back(2), element);
  if (access == Access::Table && countColumnDims(index) == 0)
    return VectorType::get({type.getDimSize(0)}, element);
  if (access == Access::Table)
    return VectorType::get({type.getDimSize(0), getOwnRowLength(index)},
                           element);
  int64_t length = hasContractions() ? getOwnRowLength(index) : getRowLength();
  return VectorType::get({length}, element);
}

int64_t RowwiseOp::getRowStride(unsigned index) {
  RowLayout layout = getRowLayout(cast<ShapedType>(getOperand(index).getType()),
                                  countColumnDims(index));
  return layout.stride.value_or(layout.length);
}

int64_t RowwiseOp::getScalarSplits(unsigned index) {
  auto type = cast<ShapedType>(getOperand(index).getType());
  return isPartial(index) ? type.getShape().back() : 0;
}

bool RowwiseOp::hasSplitScalarOuts() {
  OperandRange outs = getScalarOuts();
  return llvm::any_of(llvm::seq<size_t>(0, outs.size()), [&](size_t i) {
    return isPartial(outs.getBeginOperandIndex() + unsigned(i));
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
  return !sums.empty() && isPartial(sums.getBeginOperandIndex());
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
          getOwnRowLength(index) == getRowLength() ? bits : repeated;
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
// Verifier
//===----------------------------------------------------------------------===//

/// What the accesses of AMD's chips reach: offsets of 32 bits, signed.
static constexpr int64_t maxStridedBytes = std::numeric_limits<int32_t>::max();

static constexpr StringRef accessNames[] = {"a row block",    "a column",
                                            "a group column", "a row scalar",
                                            "a matrix",       "a table"};
static constexpr StringRef sumNames[] = {
    "a sum", "a column sum", "a group sum", "a scalar sum", "an outer sum", ""};

/// What operand `index` is, in the words of a diagnostic.
static StringRef getAccessName(RowwiseOp op, unsigned index) {
  auto access = size_t(op.getAccess(index));
  return op.getReduction(index) != Reduction::None ? sumNames[access]
                                                   : accessNames[access];
}

/// Each map has the dimensions of its operand, all of the domain, each once.
static LogicalResult verifyMaps(RowwiseOp op) {
  auto numMaps = op.getIndexingMaps().size();
  if (numMaps != op->getNumOperands())
    return op.emitOpError("expected ")
           << op->getNumOperands() << " indexing_maps, one for each operand, "
           << "got " << numMaps;
  if (op.getReductions().size() != op.getOutputs().size())
    return op.emitOpError("expected ")
           << op.getOutputs().size() << " reductions, one for each output, got "
           << op.getReductions().size();
  if (op.getOutputs().empty())
    return op.emitOpError("expected at least one output");
  unsigned numDims = op.getMap(0).getNumDims();
  auto numRows = int64_t(op.getNumRowDims());
  if (numRows < 0 || numRows >= int64_t(numDims))
    return op.emitOpError("expected row dimensions and at least one column "
                          "dimension, got ")
           << numRows << " row dimensions of " << numDims << " in all";
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    AffineMap map = op.getMap(index);
    auto emitError = [&]() {
      return op.emitOpError("operand ") << index << ": expected ";
    };
    if (map.getNumDims() != numDims || map.getNumSymbols() > 1)
      return emitError() << "a map of the domain's " << numDims
                         << " dimensions and at most one symbol, got "
                         << AffineMapAttr::get(map);
    llvm::SmallBitVector seen(numDims);
    unsigned numSymbols = 0;
    for (AffineExpr result : map.getResults()) {
      if (isa<AffineSymbolExpr>(result)) {
        ++numSymbols;
        continue;
      }
      std::optional<MappedDim> mapped = getMappedDim(result);
      if (!mapped || seen.test(mapped->dim))
        return emitError()
               << "dimensions of the domain, each once, got the map "
               << AffineMapAttr::get(map);
      if (mapped->by < 0 || (mapped->by && index >= op.getInputs().size()))
        return emitError() << "indices of an input that are moved by 1 or "
                              "more, got the map "
                           << AffineMapAttr::get(map);
      seen.set(mapped->dim);
    }
    if (numSymbols != map.getNumSymbols())
      return emitError() << "the dimension '*' once, got "
                         << AffineMapAttr::get(map);
    auto type = cast<ShapedType>(op->getOperand(index).getType());
    if (type.getRank() != int64_t(map.getNumResults()))
      return emitError() << map.getNumResults() << " dimensions, as its map has"
                         << ", got " << type;
  }
  return success();
}

/// The domain: each dimension has one size, that of a column is static. The
/// number of rows may be dynamic here and static there.
static LogicalResult verifyDomain(RowwiseOp op) {
  unsigned numDims = op.getMap(0).getNumDims();
  auto numRows = unsigned(op.getNumRowDims());
  SmallVector<std::pair<int64_t, unsigned>> known(
      numDims, {ShapedType::kDynamic, unsigned(-1)});
  int64_t length = 1;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    auto type = cast<ShapedType>(op->getOperand(index).getType());
    for (auto [result, size] :
         llvm::zip_equal(op.getMap(index).getResults(), type.getShape())) {
      std::optional<MappedDim> mapped = getMappedDim(result);
      // What is moved may have another size.
      if (!mapped || mapped->by)
        continue;
      unsigned dim = mapped->dim;
      bool isRow = dim < numRows;
      if (!isRow && (ShapedType::isDynamic(size) || size < 1))
        return op.emitOpError("operand ")
               << index << ": expected column dimension '"
               << getDimName(dim, numRows, numDims)
               << "' to be static and at least 1 (a kernel is compiled for one "
                  "row length), got "
               << type;
      auto &[expected, first] = known[dim];
      if (ShapedType::isDynamic(expected)) {
        expected = size;
        first = index;
        if (!isRow && size > maxRowLength / length)
          return op.emitOpError("expected the columns of a row to be at most ")
                 << maxRowLength << " together, got " << type;
        if (!isRow)
          length *= size;
      } else if (!ShapedType::isDynamic(size) && size != expected) {
        return op.emitOpError("operand ")
               << index << ": expected dimension '"
               << getDimName(dim, numRows, numDims) << "' to be " << expected
               << ", as in operand " << first << ", got " << type;
      }
    }
  }
  for (unsigned dim = 0; dim < numDims; ++dim)
    if (llvm::none_of(op.getIndexingMaps(), [&](Attribute map) {
          return llvm::is_contained(
              cast<AffineMapAttr>(map).getValue().getResults(),
              getAffineDimExpr(dim, op.getContext()));
        }))
      return op.emitOpError("expected an operand with dimension '")
             << getDimName(dim, numRows, numDims) << "' of the domain";
  return success();
}

/// Where the elements of a strided operand are follows from its type.
static LogicalResult verifyStrides(RowwiseOp op, unsigned index,
                                   bool isOutput) {
  auto type = cast<ShapedType>(op->getOperand(index).getType());
  std::optional<int64_t> extent = getExtent(type);
  if (!extent)
    return op.emitOpError("operand ")
           << index << ": expected static sizes and strides of 1 or more, and "
           << "no offset, where an operand has not the domain's order or is "
              "not dense but for one static distance between its rows, got "
           << type << " with " << AffineMapAttr::get(op.getMap(index))
           << "; compile for the sizes that occur, or copy it into a dense "
              "buffer; pass a pointer to its first element";
  if (*extent > maxStridedBytes * 8 / int64_t(type.getElementTypeBitWidth()))
    return op.emitOpError("operand ")
           << index << ": expected at most " << maxStridedBytes
           << " bytes from the first element to the last, got " << type
           << "; split it, or copy it into a dense buffer";
  if (isOutput && hasOverlap(type))
    return op.emitOpError("operand ")
           << index << ": expected a place of its own for each element that is "
           << "written, got " << type;
  return success();
}

/// Whether it can be told by its number which is the first of the columns that
/// `map` does not tell apart: the dimensions that it lacks are the last, or
/// bits of the number.
static bool hasFirstOfBlocks(AffineMap map, int64_t firstColumn,
                             ArrayRef<int64_t> sizes) {
  bool isLast = true;
  uint64_t inner = 1;
  for (int64_t dim = map.getNumDims() - 1; dim >= firstColumn; --dim) {
    auto size = uint64_t(sizes[size_t(dim)]);
    bool hasDim = map.isFunctionOfDim(unsigned(dim));
    isLast &= !hasDim;
    if (!hasDim && !isLast && !llvm::isPowerOf2_64(size * inner))
      return false;
    inner *= size;
  }
  return true;
}

/// The maps that there are kernels for, of which elements.
static LogicalResult verifyAccesses(RowwiseOp op) {
  bool hasContractions = false;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    hasContractions |= op.getAccess(i) == Access::Matrix;
  unsigned numDims = op.getMap(0).getNumDims();
  int64_t numRows = op.getNumRowDims();
  int64_t numColumns = int64_t(numDims) - numRows;
  SmallVector<int64_t> sizes = op.getDimSizes();
  std::optional<bool> isPartialSum;
  Access last = Access::Row;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    auto type = cast<ShapedType>(op->getOperand(index).getType());
    AffineMap map = op.getMap(index);
    Access access = op.getAccess(index);
    bool isOutput = index >= op.getInputs().size();
    Reduction reduction = op.getReduction(index);
    bool added = reduction != Reduction::None;
    StringRef name = getAccessName(op, index);
    auto emitError = [&]() {
      return op.emitOpError("operand ") << index << ": expected ";
    };
    int64_t rows = countRowDims(op, map);
    int64_t columns = countDims(map, numRows, numDims);
    if (isOutput && numRows > 0 && added == (rows == numRows))
      return emitError() << (added ? "no 'add' or 'max', since it has all "
                                     "row dimensions and combines nothing"
                                   : "'add' or 'max', which says how rows are "
                                     "combined that its map does not tell "
                                     "apart");
    if (access == Access::Scalar && rows != numRows && isOutput && !added)
      return emitError() << "a row scalar that is written to have all row "
                            "dimensions, got "
                         << type << " with " << AffineMapAttr::get(map);
    bool isOfRows = access == Access::Row || access == Access::Scalar;
    bool isNumber = !isOutput && map.getNumResults() == 0;
    if (hasContractions && isOfRows && rows != numRows && !isNumber)
      return emitError() << name << " to have all row dimensions in a program "
                         << "with matrices, got " << AffineMapAttr::get(map);
    bool isFirst = columns > 0 && hasFirstOfBlocks(map, numRows, sizes);
    if (op.isStrided(index)) {
      bool isWhole = rows == numRows && (isFirst || access == Access::Scalar);
      if (hasContractions || op.isPartial(index) || (isOutput && !isWhole))
        return emitError() << "the dimensions of the domain in its order, and "
                              "dense rows, of what is "
                           << (hasContractions ? "in a program with matrices"
                               : op.isPartial(index)
                                   ? "in parts"
                                   : "written and lacks dimensions")
                           << ", got " << type << " with "
                           << AffineMapAttr::get(map)
                           << "; transpose or copy it";
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        if (op.getOperand(i) == op.getOperand(index) && op.getMap(i) != map &&
            isa<MemRefType>(type) && (isOutput || i >= op.getInputs().size()))
          return emitError() << "the map of operand " << i
                             << ", which is the same buffer, got "
                             << AffineMapAttr::get(map)
                             << ": a row may be written before another is read";
      if (failed(verifyStrides(op, index, isOutput)))
        return failure();
    }
    if (op.getRowDims(index) == RowwiseOp::RowDims::Some && numRows > 0) {
      // Which of its elements a row has follows from the number of the row; how
      // many it has, from its type.
      bool hasFirst = map.isFunctionOfDim(0);
      auto known = ArrayRef(sizes).take_front(numRows).drop_front(!hasFirst);
      if (llvm::is_contained(known, ShapedType::kDynamic))
        return emitError() << "row dimensions"
                           << (hasFirst ? "" : " but the first")
                           << " to be static where an operand has only some of "
                              "them, got "
                           << type << " with " << AffineMapAttr::get(map);
    }
    bool isSplit = added && op.isSplitSum(index);
    if (isSplit && !op.getKeptDims(index))
      return emitError()
             << name
             << " to have all column dimensions and the leading row "
                "dimensions or none, or neighbouring dimensions "
                "without the first, all static from these on; got "
             << type << " with " << AffineMapAttr::get(map)
             << "; write rows, and combine them afterwards";
    if (added && !isSplit && rows > 0 &&
        llvm::is_contained(ArrayRef(sizes).slice(1, size_t(rows) - 1),
                           ShapedType::kDynamic))
      return emitError() << "dimensions of groups but the first to be static, "
                            "got "
                         << type << " with " << AffineMapAttr::get(map)
                         << "; collapse them into one";
    bool mayLackColumns =
        !hasContractions &&
        (access == Access::Table
             ? columns == 0
             : !isOutput || isSplit || (access == Access::Row && isFirst));
    if (access == Access::Matrix
            ? columns != 2
            : access != Access::Scalar && !mayLackColumns &&
                  columns != (hasContractions ? 1 : numColumns))
      return emitError() << name << " to have "
                         << (access == Access::Matrix ? "two column dimensions"
                             : hasContractions
                                 ? "one column dimension in a program with "
                                   "matrices"
                             : access == Access::Row && isOutput
                                 ? "all column dimensions but the last ones"
                                 : "all column dimensions")
                         << ", got " << type << " with "
                         << AffineMapAttr::get(map);
    if (access == Access::Table &&
        (isOutput || hasContractions || !type.hasStaticShape() ||
         type.getDimSize(0) < 1 ||
         type.getDimSize(0) > maxRowLength / op.getOwnRowLength(index) ||
         !isa<AffineSymbolExpr>(map.getResult(0))))
      return emitError()
             << "a table to be an input '[*, n]' or '[*]' of a static number "
                "of "
                "rows, of at most "
             << maxRowLength
             << " elements together, in a program without matrices, got "
             << type << " with " << AffineMapAttr::get(map);
    if (isOutput && index == op.getInputs().size())
      last = Access::Row;
    if (getAccessOrder(access, isOutput) < getAccessOrder(last, isOutput))
      return emitError() << "operands in the order row blocks, columns, group "
                            "columns, row scalars, matrices, tables; row "
                            "blocks, row scalars, column sums, group sums, "
                            "outer sums; got "
                         << name << " after " << getAccessName(op, index - 1);
    last = access;

    bool isSum = added && access != Access::Matrix;
    if (op.isPartial(index)) {
      bool isLeading = isa<AffineSymbolExpr>(map.getResult(unsigned(rows)));
      bool isScalar = access == Access::Scalar;
      if (isScalar == added || !isLeading)
        return emitError() << "partial sums to be '[..., *]' of a row scalar, "
                              "'[*, n]' of a column sum or '[b, *, n]' of a "
                              "group sum, got "
                           << AffineMapAttr::get(map);
      if (!type.getElementType().isF32())
        return emitError() << "partial sums to be f32, got " << type;
      if (isScalar && (!isa<MemRefType>(type) || type.getShape().back() < 1))
        return emitError() << "a split row scalar to be a memref with a static "
                              "number of partial sums, got "
                           << type;
    }
    if (isSum &&
        isPartialSum.value_or(op.isPartial(index)) != op.isPartial(index))
      return op.emitOpError("expected all column sums and group sums to be "
                            "partial or none");
    if (isSum)
      isPartialSum = op.isPartial(index);
    bool isMaximum = reduction == Reduction::Maximum;
    if (isMaximum && (!isSum || hasContractions || op.getAccumulate()))
      return emitError() << "'max' of a column or a group column, in a program "
                            "without matrices that does not accumulate, got "
                         << type << " with " << AffineMapAttr::get(map);
    if (added && op.getAccumulate() && !type.getElementType().isF32())
      return emitError() << "sums that accumulate to be f32, got " << type;
    const Dims &dims = access == Access::Row      ? kRowBlock
                       : access == Access::Scalar ? kRowScalar
                                                  : kColumn;
    bool isFloat = added || access == Access::Matrix ||
                   (access == Access::Table && columns > 0);
    if (failed(verifyRowElement(op, name, type, isFloat ? nullptr : &dims)))
      return failure();
  }
  if (op.getAccumulate() &&
      (isPartialSum ? *isPartialSum : op.getOuterSums().empty()))
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
  if (names->size() != op->getNumOperands())
    return op.emitOpError("expected operand_names to name ")
           << op->getNumOperands() << " operands, got " << names->size();
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

/// How a program belongs to its launch and to other programs.
static LogicalResult verifyPart(RowwiseOp op) {
  if (op.getOwnRows() && (!op.getStaticRowCount() || op.hasGroups()))
    return op.emitOpError("expected own_rows of a program with a static number "
                          "of rows and no groups; leave it out here");
  if (op.getRowRatio() && op.hasGroups())
    return op.emitOpError("expected row_ratio of a program without groups; "
                          "leave it out here");
  if (op.getLeaves() &&
      (int64_t(*op.getLeaves()) < 1 || op.getAllSums().empty()))
    return op.emitOpError("expected leaves of at least 1 row, of a program "
                          "with column sums or group sums, got ")
           << *op.getLeaves();
  return verifyRowRatio(op, op.getRowRatio());
}

LogicalResult RowwiseOp::verify() {
  if (failed(verifyMaps(*this)))
    return failure();
  if (!getRowBlock())
    return emitOpError("expected at least one row block, read or written, or a "
                       "row scalar beside columns where no rows are combined: "
                       "it gives the number of rows");
  if (failed(verifyAccesses(*this)) || failed(verifyDomain(*this)))
    return failure();
  auto fixed = int64_t(getFixedWorkgroups());
  if (fixed < 0 || fixed > std::numeric_limits<int32_t>::max())
    return emitOpError("expected fixed_workgroups from 0 to ")
           << std::numeric_limits<int32_t>::max() << ", got " << fixed;
  if (failed(verifyPart(*this)) || failed(verifyOperandNames(*this)) ||
      failed(verifyOptionNames(*this)) || failed(verifyTensorsOrMemRefs(*this)))
    return failure();
  return verifyDistinctOutputs(*this);
}

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
      if (getAccess(argument.getArgNumber()) == Access::Table &&
          !isa<GatherOp>(use.getOwner()))
        return use.getOwner()->emitOpError("expected a table of the row "
                                           "program to be used by "
                                           "lnbwd.gather alone");

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
  return hasContractions() ? verifyMatrixUses(*this) : verifyIndices(*this);
}

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

LogicalResult GatherOp::verify() {
  auto program = cast<RowwiseOp>(getOperation()->getParentOp());
  auto table = dyn_cast<BlockArgument>(getTable());
  if (!table || program.getAccess(table.getArgNumber()) != Access::Table)
    return emitOpError("expected a table to be an input of the row program "
                       "with the map '[*, n]' or '[*]'");
  if (getTable().getType().getRank() == 2 &&
      isa<VectorType>(getIndex().getType()))
    return emitOpError("expected one index for a row of a table '[*, n]', got ")
           << getIndex().getType() << "; take elements of a table '[*]'";
  return success();
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
