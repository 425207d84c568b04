//===- OperandForms.cpp - What the operands of a program are --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements OperandForms.h, and the questions that a form answers.
//
//===----------------------------------------------------------------------===//

#include "OperandForms.h"

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

std::optional<MappedDim> lnbwd::detail::getMappedDim(AffineExpr result) {
  if (auto dim = dyn_cast<AffineDimExpr>(result))
    return MappedDim{dim.getPosition()};
  auto sum = dyn_cast<AffineBinaryOpExpr>(result);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(sum.getLHS());
  auto by = dyn_cast<AffineConstantExpr>(sum.getRHS());
  if (!dim || !by)
    return std::nullopt;
  return MappedDim{dim.getPosition(), by.getValue()};
}

unsigned lnbwd::detail::countDims(AffineMap map, int64_t begin, int64_t end) {
  return unsigned(llvm::count_if(map.getResults(), [&](AffineExpr result) {
    std::optional<MappedDim> mapped = getMappedDim(result);
    int64_t position = mapped ? int64_t(mapped->dim) : -1;
    return position >= begin && position < end;
  }));
}

unsigned lnbwd::detail::countRowDims(RowwiseOp op, AffineMap map) {
  return countDims(map, 0, int64_t(op.getNumRowDims()));
}

int lnbwd::detail::getAccessOrder(Access access, bool isOutput) {
  static constexpr int outputs[] = {0, 2, 3, 1, 4, 5};
  return isOutput ? outputs[size_t(access)] : int(access);
}

//===----------------------------------------------------------------------===//
// Which dimensions an operand has
//===----------------------------------------------------------------------===//

/// Whether `map` has all dimensions from `begin` to `end`.
static bool hasDims(AffineMap map, int64_t begin, int64_t end) {
  return int64_t(countDims(map, begin, end)) == end - begin;
}

/// Whether an operand has other indices than the domain along some dimension.
static bool isMoved(AffineMap map) {
  return llvm::any_of(map.getResults(), [](AffineExpr result) {
    std::optional<MappedDim> mapped = getMappedDim(result);
    return mapped && mapped->by != 0;
  });
}

static bool isReduced(const OperandForms &operands, unsigned index) {
  size_t numInputs = operands.maps.size() - operands.reductions.size();
  return index >= numInputs &&
         cast<ReductionAttr>(operands.reductions[index - numInputs])
                 .getValue() != Reduction::None;
}

static bool doMapsFit(const OperandForms &operands) {
  if (operands.maps.empty() || operands.maps.size() != operands.types.size() ||
      operands.reductions.size() > operands.maps.size())
    return false;
  unsigned numDims = operands.getMap(0).getNumDims();
  return operands.numRowDims >= 0 && operands.numRowDims < int64_t(numDims) &&
         llvm::all_of(
             llvm::seq<unsigned>(0, operands.maps.size()),
             [&](unsigned i) {
               auto type = dyn_cast<ShapedType>(operands.types[i]);
               return type && type.hasRank() &&
                      operands.getMap(i).getNumDims() == numDims &&
                      type.getRank() ==
                          int64_t(operands.getMap(i).getNumResults());
             });
}

/// Whether a row block has all dimensions that `map`, of columns, has.
static bool isOfRows(const OperandForms &operands, AffineMap map) {
  return llvm::any_of(operands.maps, [&](Attribute other) {
    AffineMap rows = cast<AffineMapAttr>(other).getValue();
    return rows != map &&
           countDims(rows, 0, operands.numRowDims) == operands.numRowDims &&
           llvm::all_of(map.getResults(), [&](AffineExpr result) {
             std::optional<MappedDim> mapped = getMappedDim(result);
             return !mapped || rows.isFunctionOfDim(mapped->dim);
           });
  });
}

/// Whether an operand lies in memory in another way than its dimensions in the
/// domain's order, dense but for the distance between rows.
static bool isStrided(const OperandForms &operands, unsigned index) {
  AffineMap map = operands.getMap(index);
  if (isMoved(map))
    return true;
  ShapedType type = operands.getType(index);
  auto memref = dyn_cast<MemRefType>(type);
  bool isDense = !memref || memref.getLayout().isIdentity();
  bool isInOrder =
      llvm::is_sorted(map.getResults(), [](AffineExpr lhs, AffineExpr rhs) {
        std::optional<MappedDim> first = getMappedDim(lhs);
        std::optional<MappedDim> second = getMappedDim(rhs);
        return first && second && first->dim < second->dim;
      });
  if (isInOrder && isDense)
    return false;
  int64_t numRows = operands.countRows(index);
  unsigned numColumns = operands.countColumns(index);
  // A matrix may have its dimensions in any order.
  if (!isInOrder)
    return !isDense || numRows > 0 || numColumns < 2 || isOfRows(operands, map);
  // Rows may lie apart.
  bool hasRows = numRows == operands.numRowDims ||
                 (!type.hasStaticShape() && !hasDims(map, 0, numRows));
  return !hasRows || numColumns == 0 || map.getNumSymbols() ||
         !getRowLayout(type, numColumns).stride;
}

/// How many row dimensions all those operands have that have the first alone.
static int64_t getLeadingDims(const OperandForms &operands) {
  // Sums are taken group by group; what is read can be found in any case.
  for (unsigned i = unsigned(operands.maps.size()); i-- > 0;) {
    int64_t count = operands.countRows(i);
    if (count > 0 && count < operands.numRowDims &&
        hasDims(operands.getMap(i), 0, count) && !isStrided(operands, i))
      return count;
  }
  return 0;
}

int64_t OperandForms::getNumGroupDims() const {
  if (numRowDims < 2)
    return 0;
  if (int64_t count = getLeadingDims(*this))
    return count;
  // What all groups share is found by the row's number if the rows of a group
  // are known.
  for (unsigned i = 0; i < maps.size(); ++i) {
    int64_t count = countRows(i);
    if (count > 0 && count < numRowDims &&
        hasDims(getMap(i), numRowDims - count, numRowDims) &&
        !getType(i).hasStaticShape())
      return numRowDims - count;
  }
  return 0;
}

SmallVector<int64_t> OperandForms::getDimSizes() const {
  SmallVector<int64_t> sizes(getMap(0).getNumDims(), ShapedType::kDynamic);
  for (unsigned i = 0; i < maps.size(); ++i)
    for (auto [result, size] :
         llvm::zip_equal(getMap(i).getResults(), getType(i).getShape()))
      if (std::optional<MappedDim> mapped = getMappedDim(result);
          mapped && !mapped->by && !ShapedType::isDynamic(size))
        sizes[mapped->dim] = size;
  // Columns that no operand has are one: the rows are numbers.
  for (unsigned dim = unsigned(numRowDims); dim < sizes.size(); ++dim)
    if (llvm::none_of(maps, [&](Attribute map) {
          return cast<AffineMapAttr>(map).getValue().isFunctionOfDim(dim);
        }))
      sizes[dim] = 1;
  return sizes;
}

Access OperandForms::getAccess(unsigned index) const {
  AffineMap map = getMap(index);
  unsigned numRows = countRows(index), numColumns = countColumns(index);
  bool isTable =
      map.getNumSymbols() > 0 && numRows == 0 && !isReduced(*this, index);
  if (isTable && (numColumns > 0 || numRowDims > 0))
    return Access::Table;
  if (numColumns == 0)
    return Access::Scalar;
  if (numRows > 0)
    return numRows < numRowDims && numRows == getLeadingDims(*this) &&
                   hasDims(map, 0, numRows) && !isStrided(*this, index)
               ? Access::GroupColumn
               : Access::Row;
  // Of a domain of one row, columns are rows.
  if (numRowDims == 0 && !isReduced(*this, index))
    return Access::Row;
  return numColumns < 2 || isOfRows(*this, map) ? Access::Column
                                                : Access::Matrix;
}

static RowDims getRowDims(const OperandForms &operands, unsigned index) {
  AffineMap map = operands.getMap(index);
  int64_t count = operands.countRows(index);
  // Of a domain of one row, columns are rows.
  if (operands.numRowDims == 0 ? operands.getAccess(index) != Access::Row
                               : count == 0)
    return RowDims::None;
  if (isStrided(operands, index))
    return RowDims::Some;
  if (count == operands.numRowDims)
    return RowDims::All;
  int64_t groups = operands.getNumGroupDims();
  if (count == groups && hasDims(map, 0, groups))
    return RowDims::OfGroup;
  return count == operands.numRowDims - groups &&
                 hasDims(map, groups, operands.numRowDims) &&
                 !isReduced(operands, index)
             ? RowDims::WithinGroup
             : RowDims::Some;
}

//===----------------------------------------------------------------------===//
// Where its elements are
//===----------------------------------------------------------------------===//

namespace {
/// How the elements of an operand lie along a dimension of the domain: how far
/// from one index to the next, 0 of one that it lacks; if its indices are
/// moved, by how much, and how many it has.
struct DimLayout {
  int64_t stride = 0, shift = 0, wrap = 0;
};
} // namespace

static SmallVector<DimLayout> getDimLayouts(AffineMap map, ShapedType type) {
  SmallVector<int64_t> own;
  SmallVector<DimLayout> layouts(map.getNumDims());
  int64_t offset;
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    memref = MemRefType::get(type.getShape(), type.getElementType());
  if (succeeded(memref.getStridesAndOffset(own, offset)))
    for (auto [result, stride, size] :
         llvm::zip_equal(map.getResults(), own, type.getShape()))
      if (std::optional<MappedDim> mapped = getMappedDim(result))
        layouts[mapped->dim] = {stride, mapped->by, mapped->by ? size : 0};
  return layouts;
}

/// Maps an element's number, in dimensions of these sizes, to its offset.
static SmallVector<IndexTerm> locate(ArrayRef<int64_t> sizes,
                                     ArrayRef<DimLayout> layouts) {
  SmallVector<IndexTerm> terms;
  int64_t inner = 1;
  // Neighbouring dimensions are one if the outer goes on where the inner ends.
  for (size_t last = sizes.size(); last-- > 0;) {
    int64_t size = sizes[last];
    DimLayout layout = layouts[last];
    auto goesOn = [&](size_t outer) {
      int64_t stride = layouts[outer].stride;
      if (layout.wrap || layouts[outer].wrap)
        return false;
      if (layout.stride == 0 || stride == 0)
        return layout.stride == stride;
      return size == 1 || sizes[outer] == 1 || stride == size * layout.stride;
    };
    while (last > 0 && goesOn(last - 1)) {
      --last;
      if (size == 1)
        layout.stride = layouts[last].stride;
      size *= sizes[last];
    }
    if (layout.stride != 0)
      terms.push_back({inner, last == 0 ? 0 : size, layout.stride, layout.shift,
                       layout.wrap});
    inner *= size;
  }
  return terms;
}

static DenseI64ArrayAttr toAttr(MLIRContext *context,
                                ArrayRef<IndexTerm> terms) {
  SmallVector<int64_t> numbers;
  for (const IndexTerm &term : terms)
    numbers.append(
        {term.divisor, term.modulus, term.factor, term.shift, term.wrap});
  return terms.empty() ? DenseI64ArrayAttr()
                       : DenseI64ArrayAttr::get(context, numbers);
}

static SmallVector<IndexTerm> fromAttr(DenseI64ArrayAttr numbers) {
  SmallVector<IndexTerm> terms;
  if (numbers)
    for (int64_t i = 0; i + 5 <= numbers.size(); i += 5)
      terms.push_back({numbers[i], numbers[i + 1], numbers[i + 2],
                       numbers[i + 3], numbers[i + 4]});
  return terms;
}

/// Whether a sum with the map of an operand, which has `form`, takes programs
/// of its own.
static bool isSplit(const OperandForms &operands, unsigned index,
                    OperandFormAttr form) {
  AffineMap map = operands.getMap(index);
  bool isScalar = form.getAccess() == Access::Scalar;
  if (int64_t(map.getNumResults()) ==
      (isScalar ? operands.numRowDims : int64_t(map.getNumDims())))
    return false;
  return form.getRows() == RowDims::WithinGroup ||
         form.getRows() == RowDims::Some || !form.isPlain();
}

/// The dimensions that this sum keeps: neighbours without the first, all static
/// from these on. Null if it has others.
static DenseI64ArrayAttr getKept(const OperandForms &operands, unsigned index,
                                 OperandFormAttr form) {
  AffineMap map = operands.getMap(index);
  if (map.getNumResults() == 0 || map.getNumSymbols() || form.getStrided())
    return {};
  int64_t first = map.getDimPosition(0);
  int64_t last = map.getDimPosition(map.getNumResults() - 1) + 1;
  bool areNeighbours = last - first == int64_t(map.getNumResults());
  if (first == 0 || !areNeighbours ||
      llvm::is_contained(
          ArrayRef(operands.getDimSizes()).drop_front(size_t(first)),
          ShapedType::kDynamic))
    return {};
  return DenseI64ArrayAttr::get(
      form.getContext(),
      {first, last,
       form.getColumnDims() ? int64_t(map.getNumDims()) : operands.numRowDims});
}

static OperandFormAttr getForm(const OperandForms &operands, unsigned index,
                               bool hasContractions) {
  AffineMap map = operands.getMap(index);
  ShapedType type = operands.getType(index);
  Access access = operands.getAccess(index);
  RowDims rows = getRowDims(operands, index);
  unsigned numColumns = operands.countColumns(index);
  SmallVector<int64_t> own, sizes = operands.getDimSizes();
  for (auto [result, size] : llvm::zip_equal(map.getResults(), type.getShape()))
    if (std::optional<MappedDim> mapped = getMappedDim(result);
        mapped && int64_t(mapped->dim) >= operands.numRowDims)
      own.push_back(size);
  auto columnSizes = ArrayRef(sizes).drop_front(size_t(operands.numRowDims));
  int64_t length = multiplySizes(own).value_or(0), stride = length;
  if (rows != RowDims::Some && numColumns > 0)
    stride = getRowLayout(type, numColumns).stride.value_or(length);

  SmallVector<IndexTerm> rowTerms, columnTerms;
  SmallVector<DimLayout> layouts = getDimLayouts(map, type);
  if (rows == RowDims::Some) {
    rowTerms =
        locate(ArrayRef(sizes).take_front(size_t(operands.numRowDims)),
               ArrayRef(layouts).take_front(size_t(operands.numRowDims)));
    // The only row of a domain without row dimensions.
    if (rowTerms.empty())
      rowTerms.push_back({1, 1, 0});
  }
  if (numColumns > 0 && !hasContractions &&
      (multiplySizes(columnSizes) != length || isStrided(operands, index)))
    columnTerms = locate(
        columnSizes, ArrayRef(layouts).drop_front(size_t(operands.numRowDims)));
  if (columnTerms.size() == 1 && columnTerms[0].divisor == 1 &&
      columnTerms[0].modulus == 0 && columnTerms[0].factor == 1 &&
      columnTerms[0].wrap == 0)
    columnTerms.clear();
  int64_t parts = 0;
  if (map.getNumSymbols() != 0 && access != Access::Table)
    parts = access == Access::Scalar && type.getShape().back() > 0
                ? type.getShape().back()
                : OperandFormAttr::partsOfWorkgroups;
  MLIRContext *context = type.getContext();
  auto make = [&](bool isSplit, DenseI64ArrayAttr kept) {
    return OperandFormAttr::get(context, access, rows, numColumns, length,
                                stride, parts, isStrided(operands, index),
                                isSplit, kept, toAttr(context, rowTerms),
                                toAttr(context, columnTerms));
  };
  OperandFormAttr form = make(/*isSplit=*/false, {});
  if (!isSplit(operands, index, form))
    return form;
  return make(/*isSplit=*/true, hasContractions
                                    ? DenseI64ArrayAttr()
                                    : getKept(operands, index, form));
}

ArrayAttr OperandForms::get(MLIRContext *context) const {
  SmallVector<Attribute> forms;
  if (doMapsFit(*this)) {
    auto operands = llvm::seq<unsigned>(0, maps.size());
    bool hasContractions = llvm::any_of(
        operands, [&](unsigned i) { return getAccess(i) == Access::Matrix; });
    for (unsigned i : operands)
      forms.push_back(getForm(*this, i, hasContractions));
  }
  return ArrayAttr::get(context, forms);
}

//===----------------------------------------------------------------------===//
// What a form says
//===----------------------------------------------------------------------===//

SmallVector<IndexTerm> OperandFormAttr::getRowTerms() const {
  return fromAttr(getRowIndex());
}

SmallVector<IndexTerm> OperandFormAttr::getColumnTerms() const {
  return fromAttr(getColumnIndex());
}

Dims OperandFormAttr::getDims() const {
  // Partial sums are rows of a row block. To a launcher, matrices and tables
  // are buffers whose size no launch chooses.
  bool hasColumns = getAccess() != Access::Scalar;
  if (isPartial() && getAccess() != Access::Matrix)
    return {true, true, hasColumns};
  RowDims rows = getRows();
  // Of static size, whatever the number of rows.
  if (rows == RowDims::Some)
    return kColumn;
  return {rows == RowDims::All || rows == RowDims::OfGroup,
          rows == RowDims::All || rows == RowDims::WithinGroup, hasColumns};
}

/// The sum of `terms` of `number`, which is that itself where there are none.
static AffineExpr addTerms(ArrayRef<IndexTerm> terms, AffineExpr number) {
  if (terms.empty())
    return number;
  int64_t common = 0;
  for (const IndexTerm &term : terms)
    common = std::gcd(common, term.factor);
  AffineExpr result = getAffineConstantExpr(0, number.getContext());
  for (const IndexTerm &term : terms) {
    AffineExpr index = number.floorDiv(term.divisor);
    if (term.modulus)
      index = index % term.modulus;
    if (term.wrap)
      index = (index + term.shift) % term.wrap;
    result = result + index * (common ? term.factor / common : 0);
  }
  return result * common;
}

AffineMap OperandFormAttr::getAccessMap() const {
  bool hasColumns = getColumnDims() > 0;
  // Of a number for each row there is the row alone.
  bool hasRow = !hasColumns || getAccess() == Access::Row;
  SmallVector<AffineExpr> results;
  if (hasRow)
    results.push_back(
        addTerms(getRowTerms(), getAffineDimExpr(0, getContext())));
  if (hasColumns)
    results.push_back(addTerms(getColumnTerms(),
                               getAffineDimExpr(hasRow ? 1 : 0, getContext())));
  auto numDims = unsigned(results.size());
  if (getRowIndex() && hasColumns)
    results = {results[0] + results[1]};
  return AffineMap::get(numDims, 0, results, getContext());
}

//===----------------------------------------------------------------------===//
// What a program asks
//===----------------------------------------------------------------------===//

AffineMap RowwiseOp::getMap(unsigned index) {
  return cast<AffineMapAttr>(getIndexingMaps()[index]).getValue();
}

Reduction RowwiseOp::getReduction(unsigned index) {
  auto numInputs = unsigned(getInputs().size());
  return index < numInputs
             ? Reduction::None
             : cast<ReductionAttr>(getReductions()[index - numInputs])
                   .getValue();
}

void RowwiseOp::updateForms() {
  setOperandFormsAttr(OperandForms(*this).get(getContext()));
}

int64_t RowwiseOp::getNumGroupDims() {
  return OperandForms(*this).getNumGroupDims();
}

SmallVector<int64_t> RowwiseOp::getDimSizes() {
  return OperandForms(*this).getDimSizes();
}

/// Those of `range` that are accessed in one way: they follow each other.
static OperandRange select(RowwiseOp op, OperandRange range, Access access) {
  if (range.empty())
    return range;
  auto first = range.getBeginOperandIndex();
  auto isWanted = [&](unsigned i) {
    return op.getForm(first + i).getAccess() == access;
  };
  unsigned begin = 0;
  while (begin < range.size() && !isWanted(begin))
    ++begin;
  unsigned end = begin;
  while (end < range.size() && isWanted(end))
    ++end;
  return range.slice(begin, end - begin);
}

OperandRange RowwiseOp::getInputsOf(Access access) {
  return select(*this, getInputs(), access);
}

OperandRange RowwiseOp::getOutputsOf(Access access) {
  return select(*this, getOutputs(), access);
}

void RowwiseOp::makeSumsPartial(ValueRange partials) {
  SmallVector<Attribute> maps(getIndexingMaps().getValue());
  // Sums are the last operands.
  unsigned first = getNumOperands() - unsigned(partials.size());
  for (auto [i, partial] : llvm::enumerate(partials)) {
    AffineMap map = getMap(first + unsigned(i));
    SmallVector<AffineExpr> results(map.getResults());
    results.insert(results.begin() + countRowDims(*this, map),
                   getAffineSymbolExpr(0, getContext()));
    maps[first + i] = AffineMapAttr::get(
        AffineMap::get(map.getNumDims(), 1, results, getContext()));
    getOperation()->setOperand(first + unsigned(i), partial);
  }
  setIndexingMapsAttr(ArrayAttr::get(getContext(), maps));
  setAccumulate(false);
  updateForms();
}
