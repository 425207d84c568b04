//===- LNBwdRowwiseMaps.cpp - The maps of a row program -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operands of `lnbwd.rowwise` are by their maps, and their syntax.
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"

#include "lnbwd/Dialect/LNBwd/IR/RowLayout.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;
using Access = RowwiseOp::Access;

//===----------------------------------------------------------------------===//
// What an operand is
//===----------------------------------------------------------------------===//

AffineMap RowwiseOp::getMap(unsigned index) {
  return cast<AffineMapAttr>(getIndexingMaps()[index]).getValue();
}

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

Reduction RowwiseOp::getReduction(unsigned index) {
  auto numInputs = unsigned(getInputs().size());
  return index < numInputs
             ? Reduction::None
             : cast<ReductionAttr>(getReductions()[index - numInputs])
                   .getValue();
}

/// Whether a row block has all dimensions that `map`, of columns, has.
static bool isOfRows(AffineMap map, int64_t numRowDims,
                     ArrayRef<Attribute> maps) {
  return llvm::any_of(maps, [&](Attribute other) {
    AffineMap rows = cast<AffineMapAttr>(other).getValue();
    return rows != map && countDims(rows, 0, numRowDims) == numRowDims &&
           llvm::all_of(map.getResults(), [&](AffineExpr result) {
             std::optional<MappedDim> mapped = getMappedDim(result);
             return !mapped || rows.isFunctionOfDim(mapped->dim);
           });
  });
}

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

bool lnbwd::detail::isStrided(unsigned index, int64_t numRowDims,
                              ArrayRef<Attribute> maps, TypeRange types) {
  AffineMap map = cast<AffineMapAttr>(maps[index]).getValue();
  if (isMoved(map))
    return true;
  auto type = cast<ShapedType>(types[index]);
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
  int64_t numRows = countDims(map, 0, numRowDims);
  unsigned numColumns = countDims(map, numRowDims, map.getNumDims());
  // A matrix may have its dimensions in any order.
  if (!isInOrder)
    return !isDense || numRows > 0 || numColumns < 2 ||
           isOfRows(map, numRowDims, maps);
  // Rows may lie apart.
  bool hasRows = numRows == numRowDims ||
                 (!type.hasStaticShape() && !hasDims(map, 0, numRows));
  return !hasRows || numColumns == 0 || map.getNumSymbols() ||
         !getRowLayout(type, numColumns).stride;
}

/// How many row dimensions all those operands have that have the first alone.
static int64_t getLeadingDims(int64_t numRowDims, ArrayRef<Attribute> maps,
                              TypeRange types) {
  // Sums are taken group by group; what is read can be found in any case.
  for (unsigned i = unsigned(maps.size()); i-- > 0;) {
    AffineMap map = cast<AffineMapAttr>(maps[i]).getValue();
    int64_t count = countDims(map, 0, numRowDims);
    if (count > 0 && count < numRowDims && hasDims(map, 0, count) &&
        !isStrided(i, numRowDims, maps, types))
      return count;
  }
  return 0;
}

int64_t RowwiseOp::getNumGroupDims() {
  auto all = int64_t(getNumRowDims());
  if (all < 2)
    return 0;
  if (int64_t count = getLeadingDims(all, getIndexingMaps().getValue(),
                                     getOperation()->getOperandTypes()))
    return count;
  // What all groups share is found by the row's number if the rows of a group
  // are known.
  for (unsigned i = 0; i < getNumOperands(); ++i) {
    int64_t count = countRowDims(*this, getMap(i));
    if (count > 0 && count < all && hasDims(getMap(i), all - count, all) &&
        !cast<ShapedType>(getOperand(i).getType()).hasStaticShape())
      return all - count;
  }
  return 0;
}

Access lnbwd::detail::getAccess(unsigned index, bool isReduced,
                                int64_t numRowDims, ArrayRef<Attribute> maps,
                                TypeRange types) {
  AffineMap map = cast<AffineMapAttr>(maps[index]).getValue();
  unsigned numRows = countDims(map, 0, numRowDims);
  unsigned numColumns = countDims(map, numRowDims, map.getNumDims());
  bool isTable = map.getNumSymbols() > 0 && numRows == 0 && !isReduced;
  if (isTable && (numColumns > 0 || numRowDims > 0))
    return Access::Table;
  if (numColumns == 0)
    return Access::Scalar;
  if (numRows > 0)
    return numRows < numRowDims &&
                   numRows == getLeadingDims(numRowDims, maps, types) &&
                   hasDims(map, 0, numRows) &&
                   !isStrided(index, numRowDims, maps, types)
               ? Access::GroupColumn
               : Access::Row;
  // Of a domain of one row, columns are rows.
  if (numRowDims == 0 && !isReduced)
    return Access::Row;
  return numColumns < 2 || isOfRows(map, numRowDims, maps) ? Access::Column
                                                           : Access::Matrix;
}

Access RowwiseOp::getAccess(unsigned index) {
  return detail::getAccess(
      index, getReduction(index) != Reduction::None, int64_t(getNumRowDims()),
      getIndexingMaps().getValue(), getOperation()->getOperandTypes());
}

bool RowwiseOp::isStrided(unsigned index) {
  return detail::isStrided(index, int64_t(getNumRowDims()),
                           getIndexingMaps().getValue(),
                           getOperation()->getOperandTypes());
}

/// Which row dimensions operand `index` has, wherever it lies.
static RowwiseOp::RowDims getMappedRowDims(RowwiseOp op, unsigned index) {
  using RowDims = RowwiseOp::RowDims;
  AffineMap map = op.getMap(index);
  auto all = int64_t(op.getNumRowDims()), groups = op.getNumGroupDims();
  int64_t count = countRowDims(op, map);
  // Of a domain of one row, columns are rows.
  if (all == 0)
    return op.getAccess(index) == Access::Row ? RowDims::All : RowDims::None;
  if (count == all)
    return RowDims::All;
  if (count == 0)
    return RowDims::None;
  if (count == groups && hasDims(map, 0, groups))
    return RowDims::OfGroup;
  return count == all - groups && hasDims(map, groups, all) &&
                 op.getReduction(index) == Reduction::None
             ? RowDims::WithinGroup
             : RowDims::Some;
}

RowwiseOp::RowDims RowwiseOp::getRowDims(unsigned index) {
  RowDims rows = getMappedRowDims(*this, index);
  return rows != RowDims::None && isStrided(index) ? RowDims::Some : rows;
}

namespace {
/// How the elements of an operand lie along a dimension of the domain: how far
/// from one index to the next, 0 of one that it lacks; if its indices are
/// moved, by how much, and how many it has.
struct DimLayout {
  int64_t stride = 0, shift = 0, wrap = 0;
};
} // namespace

static SmallVector<DimLayout> getDimLayouts(RowwiseOp op, unsigned index) {
  AffineMap map = op.getMap(index);
  SmallVector<int64_t> own;
  SmallVector<DimLayout> layouts(map.getNumDims());
  int64_t offset;
  auto type = cast<ShapedType>(op.getOperand(index).getType());
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

/// Where the number of an element of dimensions of these sizes leads.
static SmallVector<RowwiseOp::PlaceTerm> locate(ArrayRef<int64_t> sizes,
                                                ArrayRef<DimLayout> layouts) {
  SmallVector<RowwiseOp::PlaceTerm> terms;
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

RowwiseOp::Place RowwiseOp::getPlace(unsigned index) {
  auto numRows = size_t(getNumRowDims());
  SmallVector<int64_t> sizes = getDimSizes();
  SmallVector<DimLayout> layouts = getDimLayouts(*this, index);
  Place place;
  if (getRowDims(index) == RowDims::Some) {
    place.row = locate(ArrayRef(sizes).take_front(numRows),
                       ArrayRef(layouts).take_front(numRows));
    // The only row of a domain without row dimensions.
    if (place.row.empty())
      place.row.push_back({1, 1, 0});
  }
  if (countColumnDims(index) > 0 && !hasContractions() &&
      (getOwnRowLength(index) != getRowLength() || isStrided(index)))
    place.column = locate(ArrayRef(sizes).drop_front(numRows),
                          ArrayRef(layouts).drop_front(numRows));
  if (place.column.size() == 1 && place.column[0].divisor == 1 &&
      place.column[0].modulus == 0 && place.column[0].factor == 1 &&
      place.column[0].wrap == 0)
    place.column.clear();
  return place;
}

bool RowwiseOp::isSplitSum(unsigned index) {
  AffineMap map = getMap(index);
  bool isScalar = getAccess(index) == Access::Scalar;
  if (map.getNumResults() ==
      (isScalar ? unsigned(getNumRowDims()) : map.getNumDims()))
    return false;
  RowDims rows = getRowDims(index);
  return rows == RowDims::WithinGroup || rows == RowDims::Some ||
         !getPlace(index).isPlain();
}

std::optional<RowwiseOp::KeptDims> RowwiseOp::getKeptDims(unsigned index) {
  AffineMap map = getMap(index);
  if (map.getNumResults() == 0 || map.getNumSymbols() || hasContractions() ||
      isStrided(index))
    return std::nullopt;
  KeptDims kept{
      map.getDimPosition(0), map.getDimPosition(map.getNumResults() - 1) + 1,
      countColumnDims(index) ? map.getNumDims() : unsigned(getNumRowDims())};
  SmallVector<int64_t> sizes = getDimSizes();
  bool isNeighbouring = kept.last - kept.first == map.getNumResults();
  if (kept.first == 0 || !isNeighbouring ||
      llvm::is_contained(ArrayRef(sizes).drop_front(kept.first),
                         ShapedType::kDynamic))
    return std::nullopt;
  return kept;
}

AffineMap RowwiseOp::getAccessMap(unsigned index) {
  MLIRContext *context = getContext();
  Place place = getPlace(index);
  auto sum = [](ArrayRef<PlaceTerm> terms, AffineExpr number) {
    if (terms.empty())
      return number;
    int64_t common = 0;
    for (const PlaceTerm &term : terms)
      common = std::gcd(common, term.factor);
    AffineExpr result = getAffineConstantExpr(0, number.getContext());
    for (const PlaceTerm &term : terms) {
      AffineExpr index = number.floorDiv(term.divisor);
      if (term.modulus)
        index = index % term.modulus;
      if (term.wrap)
        index = (index + term.shift) % term.wrap;
      result = result + index * (common ? term.factor / common : 0);
    }
    return result * common;
  };
  bool hasColumns = countColumnDims(index) > 0;
  // Of a number for each row there is the row alone.
  bool hasRow = !hasColumns || getAccess(index) == Access::Row;
  SmallVector<AffineExpr> results;
  if (hasRow)
    results.push_back(sum(place.row, getAffineDimExpr(0, context)));
  if (hasColumns)
    results.push_back(
        sum(place.column, getAffineDimExpr(hasRow ? 1 : 0, context)));
  auto numDims = unsigned(results.size());
  if (!place.row.empty() && hasColumns)
    results = {results[0] + results[1]};
  return AffineMap::get(numDims, 0, results, context);
}

int lnbwd::detail::getAccessOrder(Access access, bool isOutput) {
  static constexpr int outputs[] = {0, 2, 3, 1, 4, 5};
  return isOutput ? outputs[size_t(access)] : int(access);
}

/// Those of `range` that are accessed in one way: they follow each other.
static OperandRange select(RowwiseOp op, OperandRange range, Access access) {
  if (range.empty())
    return range;
  auto first = range.getBeginOperandIndex();
  auto isWanted = [&](unsigned i) { return op.getAccess(first + i) == access; };
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
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

std::string lnbwd::detail::getDimName(unsigned dim, unsigned numRows,
                                      unsigned numDims) {
  bool isRow = dim < numRows;
  unsigned index = isRow ? dim : dim - numRows;
  unsigned count = isRow ? numRows : numDims - numRows;
  return (isRow ? "m" : "n") + (count == 1 ? "" : std::to_string(index));
}

ParseResult lnbwd::detail::parseRowwiseOperands(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
    SmallVectorImpl<Type> &inputTypes,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &outputs,
    SmallVectorImpl<Type> &outputTypes, ArrayAttr &maps,
    IntegerAttr &numRowDims, ArrayAttr &reductions) {
  Builder &builder = parser.getBuilder();
  MLIRContext *context = builder.getContext();
  SmallVector<StringRef> dims;
  auto parseDims = [&]() -> ParseResult {
    do {
      SMLoc loc = parser.getCurrentLocation();
      StringRef name;
      if (failed(parser.parseOptionalKeyword(&name)))
        return success();
      if (llvm::is_contained(dims, name))
        return parser.emitError(loc, "expected dimensions of different names, "
                                     "got two called '")
               << name << "'";
      dims.push_back(name);
    } while (succeeded(parser.parseOptionalComma()));
    return success();
  };
  if (parser.parseKeyword("domain") || parser.parseLParen() || parseDims() ||
      parser.parseVerticalBar())
    return failure();
  size_t numRows = dims.size();
  if (parseDims() || parser.parseRParen())
    return failure();
  numRowDims = builder.getI64IntegerAttr(int64_t(numRows));

  SmallVector<AffineMap> parsed;
  SmallVector<Attribute> combined;
  auto parseMap = [&]() -> ParseResult {
    SmallVector<AffineExpr> exprs;
    bool isPartial = false;
    auto parseDim = [&]() -> ParseResult {
      SMLoc loc = parser.getCurrentLocation();
      if (succeeded(parser.parseOptionalStar())) {
        if (isPartial)
          return parser.emitError(loc, "expected one '*', for a dimension that "
                                       "is not part of the domain, got two");
        isPartial = true;
        exprs.push_back(getAffineSymbolExpr(0, context));
        return success();
      }
      StringRef name;
      if (parser.parseKeyword(&name))
        return failure();
      const auto *dim = llvm::find(dims, name);
      if (dim == dims.end())
        return parser.emitError(loc, "expected a dimension of the domain, ")
               << llvm::join(dims, ", ") << ", or '*', got '" << name << "'";
      AffineExpr expr = getAffineDimExpr(unsigned(dim - dims.begin()), context);
      int64_t by = 0;
      if (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(by))
        return failure();
      exprs.push_back(expr + by);
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                       parseDim))
      return failure();
    parsed.push_back(AffineMap::get(unsigned(dims.size()), isPartial ? 1 : 0,
                                    exprs, context));
    return success();
  };
  auto parseOperands =
      [&](SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
          SmallVectorImpl<Type> &types, bool isOutput) {
        return parser.parseCommaSeparatedList(
            OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
              if (parser.parseOperand(operands.emplace_back()) || parseMap())
                return failure();
              auto has = [&](Reduction reduction) {
                return succeeded(
                    parser.parseOptionalKeyword(stringifyReduction(reduction)));
              };
              if (isOutput)
                combined.push_back(ReductionAttr::get(
                    context, has(Reduction::Add)       ? Reduction::Add
                             : has(Reduction::Maximum) ? Reduction::Maximum
                                                       : Reduction::None));
              return parser.parseColonType(types.emplace_back());
            });
      };
  if (succeeded(parser.parseOptionalKeyword("ins")) &&
      parseOperands(inputs, inputTypes, false))
    return failure();
  if (parser.parseKeyword("outs") || parseOperands(outputs, outputTypes, true))
    return failure();
  maps = builder.getAffineMapArrayAttr(parsed);
  reductions = builder.getArrayAttr(combined);
  return success();
}

void lnbwd::detail::printRowwiseOperands(OpAsmPrinter &printer, RowwiseOp op,
                                         OperandRange inputs, TypeRange,
                                         OperandRange outputs, TypeRange,
                                         ArrayAttr maps, IntegerAttr numRowDims,
                                         ArrayAttr reductions) {
  auto numRows = unsigned(numRowDims.getInt());
  unsigned numDims = maps.empty()
                         ? numRows
                         : cast<AffineMapAttr>(maps[0]).getValue().getNumDims();
  auto printDims = [&](unsigned begin, unsigned end) {
    llvm::interleaveComma(llvm::seq(begin, end), printer, [&](unsigned dim) {
      printer << getDimName(dim, numRows, numDims);
    });
  };
  printer << "domain(";
  printDims(0, numRows);
  printer << (numRows ? " | " : "| ");
  printDims(numRows, numDims);
  printer << ") ";
  auto printOperands = [&](StringRef word, OperandRange operands, bool isOutput,
                           unsigned first) {
    printer << word << '(';
    llvm::interleaveComma(
        llvm::enumerate(operands), printer, [&](auto operand) {
          auto [i, value] = operand;
          printer << value << '[';
          llvm::interleaveComma(
              cast<AffineMapAttr>(maps[first + i]).getValue().getResults(),
              printer, [&](AffineExpr result) {
                std::optional<MappedDim> mapped = getMappedDim(result);
                if (!mapped) {
                  printer << '*';
                  return;
                }
                printer << getDimName(mapped->dim, numRows, numDims);
                if (mapped->by)
                  printer << " + " << mapped->by;
              });
          printer << ']';
          Reduction reduction =
              isOutput ? cast<ReductionAttr>(reductions[i]).getValue()
                       : Reduction::None;
          if (reduction != Reduction::None)
            printer << ' ' << stringifyReduction(reduction);
          printer << " : " << value.getType();
        });
    printer << ')';
  };
  if (!inputs.empty()) {
    printOperands("ins", inputs, false, 0);
    printer << ' ';
  }
  printOperands("outs", outputs, true, unsigned(inputs.size()));
}
