//===- LNBwdRowwiseMaps.cpp - The maps of a row program -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operands of `lnbwd.rowwise` are by their maps, how maps are built
// from operands of which that is known, and their syntax.
//
//===----------------------------------------------------------------------===//

#include "OperandChecks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

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

SmallVector<unsigned> lnbwd::detail::getDims(AffineMap map) {
  SmallVector<unsigned> dims;
  for (AffineExpr result : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      dims.push_back(dim.getPosition());
  return dims;
}

unsigned lnbwd::detail::countRowDims(RowwiseOp op, AffineMap map) {
  return unsigned(llvm::count_if(
      getDims(map), [&](unsigned dim) { return dim < op.getNumRowDims(); }));
}

bool lnbwd::detail::isAdded(RowwiseOp op, unsigned index) {
  auto numInputs = unsigned(op.getInputs().size());
  return index >= numInputs &&
         cast<ReductionAttr>(op.getReductions()[index - numInputs])
                 .getValue() == Reduction::Add;
}

Access RowwiseOp::getAccess(unsigned index) {
  AffineMap map = getMap(index);
  SmallVector<unsigned> dims = getDims(map);
  unsigned numRows = countRowDims(*this, map);
  if (numRows == dims.size() && !isAdded(*this, index))
    return Access::Scalar;
  if (numRows > 0)
    return map.isFunctionOfDim(unsigned(getNumRowDims()) - 1)
               ? Access::Row
               : Access::GroupColumn;
  // Of a domain of one row, columns are rows.
  if (getNumRowDims() == 0 && !isAdded(*this, index))
    return Access::Row;
  bool isOfRows = dims.size() < 2 ||
                  llvm::any_of(
                      getIndexingMaps(),
                      [&](Attribute other) {
                        AffineMap rows = cast<AffineMapAttr>(other).getValue();
                        return rows != map &&
                               countRowDims(*this, rows) == getNumRowDims() &&
                               llvm::all_of(dims, [&](unsigned dim) {
                                 return rows.isFunctionOfDim(dim);
                               });
                      });
  return isOfRows ? Access::Column : Access::Matrix;
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

//===----------------------------------------------------------------------===//
// Maps of operands by what they are
//===----------------------------------------------------------------------===//

namespace {
/// Makes the maps of operands of which it is known what they are.
class MapBuilder {
public:
  MapBuilder(MLIRContext *context, int64_t numRowDims, int64_t rowRank)
      : context(context), numRowDims(numRowDims), rowRank(rowRank) {}

  /// Where rows have lengths of their own, there is a column dimension for
  /// each length.
  void addLength(int64_t length) {
    if (!llvm::is_contained(lengths, length))
      lengths.push_back(length);
  }

  /// Row blocks, columns and group columns, inputs or sums: of the row
  /// dimensions they have as many as their rank says, the last ones if they
  /// vary from row to row of a group, else the first.
  void addRow(ShapedType type, bool hasLast) {
    int64_t count = type.getRank() - rowRank;
    SmallVector<AffineExpr> exprs =
        getRowDims(hasLast ? numRowDims - count : 0, count);
    if (lengths.empty())
      for (int64_t i = 0; i < rowRank; ++i)
        exprs.push_back(getColumnDim(i));
    else
      exprs.push_back(getColumnDim(getLengthIndex(type.getShape().back())));
    add(exprs, false);
  }

  /// Row scalars have the last row dimensions, all or fewer.
  void addScalar(ShapedType type) {
    bool isSplit = type.getRank() > numRowDims;
    int64_t count = std::min(type.getRank(), numRowDims);
    SmallVector<AffineExpr> exprs = getRowDims(numRowDims - count, count);
    if (isSplit)
      exprs.push_back(getAffineSymbolExpr(0, context));
    add(exprs, isSplit);
  }

  void addMatrix(ShapedType type) {
    int64_t rows = getLengthIndex(type.getDimSize(0));
    int64_t columns = getLengthIndex(type.getDimSize(1));
    // Of a square matrix, the two are not the same dimension.
    if (rows == columns) {
      if (!squares.contains(columns)) {
        squares[columns] = int64_t(lengths.size());
        lengths.push_back(type.getDimSize(0));
      }
      rows = squares[columns];
    }
    add({getColumnDim(rows), getColumnDim(columns)}, false);
  }

  ArrayAttr build() {
    int64_t numDims =
        numRowDims + (lengths.empty() ? rowRank : int64_t(lengths.size()));
    SmallVector<AffineMap> maps;
    for (auto &[exprs, isPartial] : results)
      maps.push_back(
          AffineMap::get(unsigned(numDims), isPartial ? 1 : 0, exprs, context));
    return Builder(context).getAffineMapArrayAttr(maps);
  }

private:
  SmallVector<AffineExpr> getRowDims(int64_t first, int64_t count) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i = first; i < first + count; ++i)
      exprs.push_back(getAffineDimExpr(unsigned(i), context));
    return exprs;
  }
  AffineExpr getColumnDim(int64_t index) {
    return getAffineDimExpr(unsigned(numRowDims + index), context);
  }
  int64_t getLengthIndex(int64_t length) {
    addLength(length);
    return llvm::find(lengths, length) - lengths.begin();
  }
  void add(ArrayRef<AffineExpr> exprs, bool isPartial) {
    results.emplace_back(SmallVector<AffineExpr>(exprs), isPartial);
  }

  MLIRContext *context;
  int64_t numRowDims, rowRank;
  SmallVector<int64_t> lengths;
  llvm::SmallDenseMap<int64_t, int64_t> squares;
  SmallVector<std::pair<SmallVector<AffineExpr>, bool>> results;
};
} // namespace

void RowwiseOp::build(OpBuilder &builder, OperationState &state,
                      TypeRange results, StringRef entry, ValueRange rows,
                      ValueRange columns, ValueRange groupColumns,
                      ValueRange scalars, ValueRange matrices,
                      ValueRange rowOuts, ValueRange scalarOuts,
                      ValueRange columnSums, ValueRange groupSums,
                      ValueRange outerSums, ArrayAttr operandNames,
                      ScheduleAttr schedule, int64_t rowRank, bool accumulate,
                      int64_t fixedWorkgroups) {
  MLIRContext *context = builder.getContext();
  auto typeOf = [](Value value) { return cast<ShapedType>(value.getType()); };
  int64_t numRowDims = 0;
  for (ValueRange values : {rows, rowOuts})
    for (Value value : values)
      numRowDims = std::max(numRowDims, typeOf(value).getRank() - rowRank);
  MapBuilder maps(context, numRowDims, rowRank);
  if (!matrices.empty() || !outerSums.empty())
    for (ValueRange values : {rows, rowOuts})
      for (Value value : values)
        maps.addLength(typeOf(value).getShape().back());

  SmallVector<Value> inputs, outputs;
  SmallVector<Attribute> reductions;
  auto add = [&](ValueRange values, Access access, bool isOutput) {
    for (Value value : values) {
      if (access == Access::Scalar)
        maps.addScalar(typeOf(value));
      else if (access == Access::Matrix)
        maps.addMatrix(typeOf(value));
      else
        maps.addRow(typeOf(value), /*hasLast=*/access == Access::Row);
      (isOutput ? outputs : inputs).push_back(value);
      bool isAdded = access != Access::Row && access != Access::Scalar;
      if (isOutput)
        reductions.push_back(ReductionAttr::get(
            context, isAdded ? Reduction::Add : Reduction::None));
    }
  };
  add(rows, Access::Row, false);
  add(columns, Access::Column, false);
  add(groupColumns, Access::GroupColumn, false);
  add(scalars, Access::Scalar, false);
  add(matrices, Access::Matrix, false);
  add(rowOuts, Access::Row, true);
  add(scalarOuts, Access::Scalar, true);
  add(columnSums, Access::Column, true);
  add(groupSums, Access::GroupColumn, true);
  add(outerSums, Access::Matrix, true);
  build(builder, state, results, entry, inputs, outputs, maps.build(),
        uint64_t(numRowDims), builder.getArrayAttr(reductions), operandNames,
        schedule, accumulate, uint64_t(fixedWorkgroups));
}

void RowwiseOp::makeSumsPartial(ValueRange partials) {
  SmallVector<Attribute> maps(getIndexingMaps().getValue());
  OperandRange sums = getAllSums();
  assert(partials.size() == sums.size() && "expected a buffer for each sum");
  unsigned first = sums.getBeginOperandIndex();
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
          return parser.emitError(loc, "expected one '*', for the dimension of "
                                       "partial sums, got two");
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
      exprs.push_back(getAffineDimExpr(unsigned(dim - dims.begin()), context));
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
              if (isOutput)
                combined.push_back(ReductionAttr::get(
                    context, succeeded(parser.parseOptionalKeyword("add"))
                                 ? Reduction::Add
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
                if (auto dim = dyn_cast<AffineDimExpr>(result))
                  printer << getDimName(dim.getPosition(), numRows, numDims);
                else
                  printer << '*';
              });
          printer << ']';
          if (isOutput &&
              cast<ReductionAttr>(reductions[i]).getValue() == Reduction::Add)
            printer << " add";
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
