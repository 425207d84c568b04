//===- LNBwdRowwiseMaps.cpp - The syntax of a row program -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and prints the domain, the operands and the maps of `lnbwd.rowwise`.
//
//===----------------------------------------------------------------------===//

#include "OperandForms.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lnbwd;
using namespace lnbwd::detail;

std::string lnbwd::detail::getDimName(unsigned dim, unsigned numRows,
                                      unsigned numDims) {
  bool isRow = dim < numRows;
  unsigned index = isRow ? dim : dim - numRows;
  unsigned count = isRow ? numRows : numDims - numRows;
  return (isRow ? "m" : "n") + (count == 1 ? "" : std::to_string(index));
}

namespace {
/// Parses the domain and the operands of a program.
struct OperandParser {
  ParseResult parseDomain();
  /// Those within the parentheses after `ins` or `outs`.
  ParseResult
  parseOperands(SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                SmallVectorImpl<Type> &types, bool isOutput);

  OpAsmParser &parser;
  SmallVector<StringRef> dims = {};
  size_t numRows = 0;
  SmallVector<AffineMap> maps = {};
  SmallVector<Attribute> reductions = {};

private:
  ParseResult parseDims();
  ParseResult parseIndex(SmallVectorImpl<AffineExpr> &exprs, bool &isPartial);
  ParseResult parseMap();
};
} // namespace

ParseResult OperandParser::parseDims() {
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
}

ParseResult OperandParser::parseDomain() {
  if (parser.parseKeyword("domain") || parser.parseLParen() || parseDims() ||
      parser.parseVerticalBar())
    return failure();
  numRows = dims.size();
  return failure(parseDims() || parser.parseRParen());
}

ParseResult OperandParser::parseIndex(SmallVectorImpl<AffineExpr> &exprs,
                                      bool &isPartial) {
  MLIRContext *context = parser.getContext();
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
  int64_t by = 0;
  if (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(by))
    return failure();
  exprs.push_back(getAffineDimExpr(unsigned(dim - dims.begin()), context) + by);
  return success();
}

ParseResult OperandParser::parseMap() {
  SmallVector<AffineExpr> exprs;
  bool isPartial = false;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parseIndex(exprs, isPartial);
      }))
    return failure();
  maps.push_back(AffineMap::get(unsigned(dims.size()), isPartial ? 1 : 0, exprs,
                                parser.getContext()));
  return success();
}

ParseResult OperandParser::parseOperands(
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
    SmallVectorImpl<Type> &types, bool isOutput) {
  auto has = [&](Reduction reduction) {
    return succeeded(
        parser.parseOptionalKeyword(stringifyReduction(reduction)));
  };
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        if (parser.parseOperand(operands.emplace_back()) || parseMap())
          return failure();
        if (isOutput)
          reductions.push_back(
              ReductionAttr::get(parser.getContext(),
                                 has(Reduction::Add)       ? Reduction::Add
                                 : has(Reduction::Maximum) ? Reduction::Maximum
                                                           : Reduction::None));
        return parser.parseColonType(types.emplace_back());
      });
}

ParseResult lnbwd::detail::parseRowwiseOperands(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
    SmallVectorImpl<Type> &inputTypes,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &outputs,
    SmallVectorImpl<Type> &outputTypes, ArrayAttr &maps,
    IntegerAttr &numRowDims, ArrayAttr &reductions, ArrayAttr &forms) {
  OperandParser operands{parser};
  if (operands.parseDomain() ||
      (succeeded(parser.parseOptionalKeyword("ins")) &&
       operands.parseOperands(inputs, inputTypes, /*isOutput=*/false)) ||
      parser.parseKeyword("outs") ||
      operands.parseOperands(outputs, outputTypes, /*isOutput=*/true))
    return failure();
  Builder &builder = parser.getBuilder();
  auto numRows = int64_t(operands.numRows);
  numRowDims = builder.getI64IntegerAttr(numRows);
  maps = builder.getAffineMapArrayAttr(operands.maps);
  reductions = builder.getArrayAttr(operands.reductions);
  SmallVector<Type> types =
      llvm::to_vector(llvm::concat<Type>(inputTypes, outputTypes));
  forms = OperandForms(numRows, maps.getValue(), operands.reductions, types)
              .get(parser.getContext());
  return success();
}

void lnbwd::detail::printRowwiseOperands(OpAsmPrinter &printer, RowwiseOp op,
                                         OperandRange inputs, TypeRange,
                                         OperandRange outputs, TypeRange,
                                         ArrayAttr maps, IntegerAttr numRowDims,
                                         ArrayAttr reductions, ArrayAttr) {
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
