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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd::lane;

#include "lnbwd/Dialect/Lane/IR/LaneDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneTypes.cpp.inc"

void LaneDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "lnbwd/Dialect/Lane/IR/LaneTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lnbwd/Dialect/Lane/IR/LaneOps.cpp.inc"
      >();
}

Operation *LaneDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

VectorType lnbwd::lane::asFragment(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 2 ? vector : VectorType();
}

LogicalResult LayoutType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rowLength, int64_t lanes,
                                 int64_t groups, int64_t width, int64_t columns,
                                 int64_t span, bool across) {
  for (auto [name, value] :
       {std::pair<StringLiteral, int64_t>{"row_length", rowLength},
        {"lanes", lanes},
        {"groups", groups},
        {"width", width}})
    if (value < 1)
      return emitError() << "expected " << name << " to be at least 1, got "
                         << value;
  if (across && !llvm::isPowerOf2_64(uint64_t(groups)))
    return emitError()
           << "expected groups to be a power of two with across, got "
           << groups;
  if (!llvm::isPowerOf2_64(uint64_t(width)))
    return emitError() << "expected width to be a power of two, got " << width;
  if (span && (span % width != 0 || span < rowLength + width - 1))
    return emitError() << "expected span to be a multiple of width, and at "
                          "least row_length + width - 1, "
                       << rowLength + width - 1 << ", got " << span;
  int64_t covered = span ? span : rowLength;
  if (columns < 0 || columns > covered)
    return emitError() << "expected columns to be 1 to "
                       << (span ? "span, " : "row_length, ") << covered
                       << ", got " << columns;
  for (auto [name, value] : {std::pair<StringLiteral, int64_t>{
                                 "row_length", span ? span : rowLength},
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
