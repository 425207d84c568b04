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

ParseResult lnbwd::detail::parseRowwiseOperands(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
    SmallVectorImpl<Type> &inputTypes,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &outputs,
    SmallVectorImpl<Type> &outputTypes, ArrayAttr &maps,
    IntegerAttr &numRowDims, ArrayAttr &reductions, ArrayAttr &forms) {
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
  SmallVector<Type> types =
      llvm::to_vector(llvm::concat<Type>(inputTypes, outputTypes));
  forms = OperandForms(int64_t(numRows), maps.getValue(), combined, types)
              .get(context);
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
