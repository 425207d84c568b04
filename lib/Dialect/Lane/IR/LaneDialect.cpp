//===- LaneDialect.cpp - The lane dialect ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers the dialect, and verifies its types and attributes.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd::lane;

#include "lnbwd/Dialect/Lane/IR/LaneDialect.cpp.inc"
#include "lnbwd/Dialect/Lane/IR/LaneEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneTypes.cpp.inc"

void LaneDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lnbwd/Dialect/Lane/IR/LaneAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "lnbwd/Dialect/Lane/IR/LaneTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lnbwd/Dialect/Lane/IR/LaneOps.cpp.inc"
      >();
}

LogicalResult LaneDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != partAttr)
    return op->emitOpError("has an unknown attribute '")
           << attribute.getName().getValue() << "'; expected '" << partAttr
           << "'";
  if (!isa<PartAttr>(attribute.getValue()))
    return op->emitOpError("expected '")
           << partAttr << "' to be a #lane.part, got " << attribute.getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

PartAttr PartAttr::within(PartAttr around) const {
  return get(getContext(), getKind() ? getKind() : around.getKind(),
             getReload() || around.getReload(),
             getScalars() || around.getScalars(),
             getGroups() ? getGroups() : around.getGroups());
}

void PartAttr::print(AsmPrinter &printer) const {
  SmallVector<std::string> items;
  if (getKind())
    items.push_back(stringifyPartKind(*getKind()).str());
  if (getReload())
    items.push_back("reload");
  if (getScalars())
    items.push_back("scalars");
  if (getGroups())
    items.push_back("groups = " + std::to_string(getGroups()));
  printer << '<' << llvm::join(items, ", ") << '>';
}

Attribute PartAttr::parse(AsmParser &parser, Type) {
  std::optional<PartKind> kind;
  bool reload = false, scalars = false;
  unsigned groups = 0;
  auto parseItem = [&]() -> ParseResult {
    SMLoc where = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    if (word == "reload")
      reload = true;
    else if (word == "scalars")
      scalars = true;
    else if (word == "groups")
      return failure(parser.parseEqual() || parser.parseInteger(groups));
    else if (!(kind = symbolizePartKind(word)))
      return parser.emitError(where, "expected a kind of part, 'reload', "
                                     "'scalars' or 'groups', got '")
             << word << "'";
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseItem))
    return {};
  return get(parser.getContext(), kind, reload, scalars, groups);
}

// A note is the metadata of a fused location, which keeps the one it is about:
// messages name the source as before.
Location lnbwd::lane::notePart(Location location, PartAttr part) {
  return FusedLoc::get(location.getContext(), {location}, part);
}

PartAttr lnbwd::lane::getNotedPart(Location location) {
  PartAttr part;
  location->walk([&](Location inner) {
    auto fused = dyn_cast<FusedLoc>(inner);
    part = fused ? dyn_cast_or_null<PartAttr>(fused.getMetadata()) : PartAttr();
    return part ? WalkResult::interrupt() : WalkResult::advance();
  });
  return part;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult LayoutType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rowLength, int64_t lanes,
                                 int64_t groups, int64_t width,
                                 int64_t columns) {
  for (auto [name, value] :
       {std::pair<StringLiteral, int64_t>{"row_length", rowLength},
        {"lanes", lanes},
        {"groups", groups},
        {"width", width}})
    if (value < 1)
      return emitError() << "expected " << name << " to be at least 1, got "
                         << value;
  if (!llvm::isPowerOf2_64(uint64_t(width)))
    return emitError() << "expected width to be a power of two, got " << width;
  if (columns < 0 || columns > rowLength)
    return emitError() << "expected columns to be 1 to row_length, "
                       << rowLength << ", got " << columns;
  for (auto [name, value] :
       {std::pair<StringLiteral, int64_t>{"row_length", rowLength},
        {"columns", columns}})
    if (value % width != 0)
      return emitError() << "expected width to divide " << name << ", " << value
                         << ", got " << width;
  return success();
}

LogicalResult StagesType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t count, ArrayRef<Type> elements) {
  if (count < 2)
    return emitError() << "expected at least 2 stages, got " << count;
  for (Type element : elements)
    if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
      return emitError() << "expected elements of whole bytes, got " << element;
  return success();
}

bool LayoutType::mayExceed(int64_t access) const {
  return (access + 1) * getAccessColumns() > getLastColumns();
}
