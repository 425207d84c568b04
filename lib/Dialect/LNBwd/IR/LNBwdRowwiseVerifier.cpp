//===- LNBwdRowwiseVerifier.cpp - The verifier of row programs ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifies the maps, the domain and each operand of `lnbwd.rowwise`.
//
//===----------------------------------------------------------------------===//

#include "OperandForms.h"

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

/// What the accesses of AMD's chips reach: offsets of 32 bits, signed.
static constexpr int64_t maxStridedBytes = std::numeric_limits<int32_t>::max();

static constexpr StringRef accessNames[] = {"a row block",    "a column",
                                            "a group column", "a row scalar",
                                            "a matrix",       "a table"};
static constexpr StringRef sumNames[] = {
    "a sum", "a column sum", "a group sum", "a scalar sum", "an outer sum", ""};

/// What operand `index` is, in the words of a diagnostic.
static StringRef getAccessName(RowwiseOp op, unsigned index) {
  auto access = size_t(op.getForm(index).getAccess());
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
  // A program of numbers for each row has one column, which no operand has.
  for (unsigned dim = 0; dim < (op.isOfNumbers() ? numRows : numDims); ++dim)
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

namespace {
/// Checks that there is a kernel for the map and the elements of one operand.
class OperandVerifier {
public:
  OperandVerifier(RowwiseOp op, unsigned index, ArrayRef<int64_t> sizes)
      : op(op), index(index), sizes(sizes) {}

  LogicalResult verify();

private:
  InFlightDiagnostic emitError() {
    return op.emitOpError("operand ") << index << ": expected ";
  }
  /// Ends an error: what the operand is.
  InFlightDiagnostic addFound(InFlightDiagnostic diag) {
    return std::move(diag << ", got " << type << " with "
                          << AffineMapAttr::get(map));
  }
  LogicalResult verifyRows();
  LogicalResult verifyStrided();
  LogicalResult verifyKnownSizes();
  LogicalResult verifySum();
  LogicalResult verifyColumns();
  LogicalResult verifyTable();
  LogicalResult verifyOrder();
  LogicalResult verifyPartial();
  LogicalResult verifyElements();

  RowwiseOp op;
  unsigned index;
  /// Those of the domain.
  ArrayRef<int64_t> sizes;
  OperandFormAttr form = op.getForm(index);
  ShapedType type = cast<ShapedType>(op->getOperand(index).getType());
  AffineMap map = op.getMap(index);
  Access access = form.getAccess();
  StringRef name = getAccessName(op, index);
  bool hasContractions = op.hasContractions();
  bool isOutput = index >= op.getInputs().size();
  bool isAdded = op.getReduction(index) != Reduction::None;
  bool isSplit = isAdded && form.getSplit();
  int64_t numRows = int64_t(op.getNumRowDims());
  int64_t rows = countRowDims(op, map), columns = form.getColumnDims();
  bool isFirst = columns > 0 && hasFirstOfBlocks(map, numRows, sizes);
};
} // namespace

LogicalResult OperandVerifier::verifyRows() {
  if (isOutput && numRows > 0 && isAdded == (rows == numRows))
    return emitError() << (isAdded ? "no 'add' or 'max', since it has all "
                                     "row dimensions and combines nothing"
                                   : "'add' or 'max', which says how rows are "
                                     "combined that its map does not tell "
                                     "apart");
  if (access == Access::Scalar && rows != numRows && isOutput && !isAdded)
    return addFound(emitError() << "a row scalar that is written to have all "
                                   "row dimensions");
  bool isOfRows = access == Access::Row || access == Access::Scalar;
  bool isNumber = !isOutput && map.getNumResults() == 0;
  if (hasContractions && isOfRows && rows != numRows && !isNumber)
    return emitError() << name << " to have all row dimensions in a program "
                       << "with matrices, got " << AffineMapAttr::get(map);
  return success();
}

LogicalResult OperandVerifier::verifyStrided() {
  if (!form.getStrided())
    return success();
  bool isWhole = rows == numRows && (isFirst || access == Access::Scalar);
  if (hasContractions || form.isPartial() || (isOutput && !isWhole))
    return addFound(emitError()
                    << "the dimensions of the domain in its order, and dense "
                       "rows, of what is "
                    << (hasContractions    ? "in a program with matrices"
                        : form.isPartial() ? "in parts"
                                           : "written and lacks dimensions"))
           << "; transpose or copy it";
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (op.getOperand(i) == op.getOperand(index) && op.getMap(i) != map &&
        isa<MemRefType>(type) && (isOutput || i >= op.getInputs().size()))
      return emitError() << "the map of operand " << i
                         << ", which is the same buffer, got "
                         << AffineMapAttr::get(map)
                         << ": a row may be written before another is read";
  return verifyStrides(op, index, isOutput);
}

/// Which of its elements a row has follows from the number of the row; how many
/// it has, from its type.
LogicalResult OperandVerifier::verifyKnownSizes() {
  if (form.getRows() != RowDims::Some || numRows == 0)
    return success();
  bool hasFirst = map.isFunctionOfDim(0);
  if (llvm::is_contained(
          sizes.take_front(size_t(numRows)).drop_front(!hasFirst),
          ShapedType::kDynamic))
    return addFound(emitError()
                    << "row dimensions" << (hasFirst ? "" : " but the first")
                    << " to be static where an operand has only "
                       "some of them");
  return success();
}

LogicalResult OperandVerifier::verifySum() {
  if (isSplit && !form.getKept())
    return emitError() << name
                       << " to have all column dimensions and the leading row "
                          "dimensions or none, or neighbouring dimensions "
                          "without the first, all static from these on; got "
                       << type << " with " << AffineMapAttr::get(map)
                       << "; write rows, and combine them afterwards";
  if (isAdded && !isSplit && rows > 0 &&
      llvm::is_contained(sizes.slice(1, size_t(rows) - 1),
                         ShapedType::kDynamic))
    return addFound(emitError()
                    << "dimensions of groups but the first to be static")
           << "; collapse them into one";
  return success();
}

LogicalResult OperandVerifier::verifyColumns() {
  int64_t all = int64_t(map.getNumDims()) - numRows;
  bool mayLackColumns =
      !hasContractions &&
      (access == Access::Table
           ? columns == 0
           : !isOutput || isSplit || (access == Access::Row && isFirst));
  bool hasWrong = access == Access::Matrix
                      ? columns != 2
                      : access != Access::Scalar && !mayLackColumns &&
                            columns != (hasContractions ? 1 : all);
  if (!hasWrong)
    return success();
  return addFound(emitError()
                  << name << " to have "
                  << (access == Access::Matrix ? "two column dimensions"
                      : hasContractions
                          ? "one column dimension in a program with matrices"
                      : access == Access::Row && isOutput
                          ? "all column dimensions but the last ones"
                          : "all column dimensions"));
}

LogicalResult OperandVerifier::verifyTable() {
  if (access != Access::Table ||
      (!isOutput && !hasContractions && type.hasStaticShape() &&
       type.getDimSize(0) >= 1 &&
       type.getDimSize(0) <= maxRowLength / form.getRowLength() &&
       isa<AffineSymbolExpr>(map.getResult(0))))
    return success();
  return addFound(emitError()
                  << "a table to be an input '[*, n]' or '[*]' of a static "
                     "number of rows, of at most "
                  << maxRowLength
                  << " elements together, in a program without matrices");
}

LogicalResult OperandVerifier::verifyOrder() {
  Access last = Access::Row;
  if (index > 0 && index != op.getInputs().size())
    last = op.getForm(index - 1).getAccess();
  if (getAccessOrder(access, isOutput) >= getAccessOrder(last, isOutput))
    return success();
  return emitError() << "operands in the order row blocks, columns, group "
                        "columns, row scalars, matrices, tables; row blocks, "
                        "row scalars, column sums, group sums, outer sums; got "
                     << name << " after " << getAccessName(op, index - 1);
}

LogicalResult OperandVerifier::verifyPartial() {
  if (!form.isPartial())
    return success();
  bool isLeading = isa<AffineSymbolExpr>(map.getResult(unsigned(rows)));
  bool isScalar = access == Access::Scalar;
  if (isScalar == isAdded || !isLeading)
    return emitError() << "partial sums to be '[..., *]' of a row scalar, "
                          "'[*, n]' of a column sum or '[b, *, n]' of a group "
                          "sum, got "
                       << AffineMapAttr::get(map);
  if (!type.getElementType().isF32())
    return emitError() << "partial sums to be f32, got " << type;
  if (isScalar && (!isa<MemRefType>(type) || type.getShape().back() < 1))
    return emitError() << "a split row scalar to be a memref with a static "
                          "number of partial sums, got "
                       << type;
  return success();
}

LogicalResult OperandVerifier::verifyElements() {
  bool isMaximum = op.getReduction(index) == Reduction::Maximum;
  if (isMaximum &&
      (access == Access::Matrix || hasContractions || op.getAccumulate()))
    return addFound(emitError()
                    << "'max' of a column or a group column, in a program "
                       "without matrices that does not accumulate");
  if (isAdded && op.getAccumulate() && !type.getElementType().isF32())
    return emitError() << "sums that accumulate to be f32, got " << type;
  const Dims &dims = access == Access::Row      ? kRowBlock
                     : access == Access::Scalar ? kRowScalar
                                                : kColumn;
  bool isFloat = isAdded || access == Access::Matrix ||
                 (access == Access::Table && columns > 0);
  return verifyRowElement(op, name, type, isFloat ? nullptr : &dims);
}

LogicalResult OperandVerifier::verify() {
  return success(succeeded(verifyRows()) && succeeded(verifyStrided()) &&
                 succeeded(verifyKnownSizes()) && succeeded(verifySum()) &&
                 succeeded(verifyColumns()) && succeeded(verifyTable()) &&
                 succeeded(verifyOrder()) && succeeded(verifyPartial()) &&
                 succeeded(verifyElements()));
}

/// The maps that there are kernels for, of which elements.
static LogicalResult verifyAccesses(RowwiseOp op) {
  SmallVector<int64_t> sizes = op.getDimSizes();
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (failed(OperandVerifier(op, index, sizes).verify()))
      return failure();
  std::optional<bool> arePartial;
  auto numInputs = unsigned(op.getInputs().size());
  for (unsigned index = numInputs; index < op->getNumOperands(); ++index) {
    OperandFormAttr form = op.getForm(index);
    if (op.getReduction(index) == Reduction::None ||
        form.getAccess() == Access::Matrix)
      continue;
    if (arePartial.value_or(form.isPartial()) != form.isPartial())
      return op.emitOpError("expected all column sums and group sums to be "
                            "partial or none");
    arePartial = form.isPartial();
  }
  if (op.getAccumulate() &&
      (arePartial ? *arePartial : op.getOuterSums().empty()))
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
  if (getOperandForms() != OperandForms(*this).get(getContext()))
    return emitOpError("expected operand_forms that follow from the maps and "
                       "types, ")
           << OperandForms(*this).get(getContext()) << ", got "
           << getOperandForms();
  if (!getRowBlock())
    return emitOpError("expected at least one row block, read or written, or "
                       "a row scalar where no rows are combined: it gives the "
                       "number of rows");
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
