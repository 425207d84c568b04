//===- LNBwdDialect.cpp - The lnbwd dialect -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers the dialect, and verifies attributes of its own kinds.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lnbwd;

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.cpp.inc"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdAttrs.cpp.inc"

void LNBwdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lnbwd/Dialect/LNBwd/IR/LNBwdAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lnbwd/Dialect/LNBwd/IR/LNBwdOps.cpp.inc"
      >();
}

Operation *LNBwdDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult OperandFormAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, Access /*access*/,
    RowDims /*rows*/, int64_t /*columnDims*/, int64_t /*rowLength*/,
    int64_t /*rowStride*/, int64_t /*parts*/, bool /*strided*/, bool split,
    DenseI64ArrayAttr kept, DenseI64ArrayAttr rowIndex,
    DenseI64ArrayAttr columnIndex) {
  if (kept && (!split || kept.size() != 3))
    return emitError() << "expected three numbers of dimensions that a split "
                          "sum keeps, got "
                       << kept;
  for (DenseI64ArrayAttr terms : {rowIndex, columnIndex})
    if (terms && (terms.empty() || terms.size() % 5 != 0))
      return emitError() << "expected five numbers for each term of an index, "
                            "got "
                         << terms;
  return success();
}

LogicalResult
NamedOperationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           StringAttr name, FloatAttr epsilon,
                           bool /*zeroCentredGamma*/) {
  if (!findOperation(name.getValue())) {
    InFlightDiagnostic diag = emitError() << "expected name to be one of ";
    llvm::interleaveComma(
        kOperations, diag,
        [&](const NamedOperationInfo &known) { diag << known.name; });
    return diag << ", got " << name;
  }
  if (epsilon &&
      (!epsilon.getValue().isFinite() || epsilon.getValue().isNegative()))
    return emitError() << "expected epsilon to be a number of 0 or more, got "
                       << epsilon.getValueAsDouble();
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type /*type*/) {
  Schedule schedule;
  llvm::SmallPtrSet<const ScheduleFieldInfo *, 32> given;
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    const ScheduleFieldInfo *field = findScheduleField(name);
    if (!field || !given.insert(field).second)
      return parser.emitError(loc, "duplicate or unknown schedule field: ")
             << name;
    if (!field->isFlag)
      return parser.parseInteger(schedule.*field->member);
    FailureOr<bool> flag = FieldParser<bool>::parse(parser);
    if (failed(flag))
      return failure();
    schedule.*field->member = *flag;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseField))
    return {};
  for (const ScheduleFieldInfo &field : kScheduleFields)
    if (field.isRequired && !given.contains(&field)) {
      parser.emitError(parser.getCurrentLocation(), "missing schedule field: ")
          << field.name;
      return {};
    }
  return parser.getChecked<ScheduleAttr>(parser.getContext(), schedule);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(
      llvm::make_filter_range(kScheduleFields,
                              [&](const ScheduleFieldInfo &field) {
                                return field.isRequired ||
                                       getValue().*field.member !=
                                           Schedule().*field.member;
                              }),
      printer, [&](const ScheduleFieldInfo &field) {
        printer << field.name << " = ";
        if (field.isFlag)
          printer << (getValue().*field.member ? "true" : "false");
        else
          printer << getValue().*field.member;
      });
  printer << ">";
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   Schedule schedule) {
  for (const ScheduleFieldInfo &field : kScheduleFields)
    if (!field.takes(schedule.*field.member))
      return emitError() << "expected " << field.name << " to be "
                         << field.values << ", got " << schedule.*field.member;
  // Factors are bounded before they are multiplied.
  constexpr int64_t bound = int64_t(1) << 20;
  if (schedule.threadsPerRow > bound || schedule.rowGroups > bound)
    return emitError() << "expected " << field::threadsPerRow << " and "
                       << field::rowGroups << " below " << bound;
  if (schedule.columnTile % (schedule.threadsPerRow * schedule.vectorWidth) !=
      0)
    return emitError() << "expected " << field::columnTile
                       << " to be a multiple of " << field::threadsPerRow
                       << " * " << field::vectorWidth << ", got "
                       << schedule.columnTile;
  if (schedule.reload && (schedule.prefetch || schedule.stages))
    return emitError() << "expected " << field::prefetch << " and "
                       << field::stages << " 0 where " << field::reload
                       << " is set: a row that is read again does not stay "
                          "anywhere";
  if (schedule.unroll > 1 && (schedule.stages || schedule.reload))
    return emitError()
           << "expected " << field::stages << " 0 and " << field::reload
           << " unset where " << field::unroll
           << " is above 1: the tiles of rows of an iteration are held in "
              "registers";
  if (schedule.unroll > 2 && schedule.prefetch)
    return emitError() << "expected " << field::unroll << " to be 1 or 2 where "
                       << field::prefetch << " is 1, got " << schedule.unroll;
  if (schedule.workgroupsPerRow > 1 && (schedule.columnTile || schedule.reload))
    return emitError() << "expected " << field::columnTile << " 0 and "
                       << field::reload << " unset where "
                       << field::workgroupsPerRow
                       << " is above 1: the row is split between workgroups "
                          "already";
  if (schedule.rowSplits && (schedule.workgroupsPerRow > 1 || schedule.reload))
    return emitError() << "expected " << field::workgroupsPerRow << " 1 and "
                       << field::reload << " unset where " << field::rowSplits
                       << " is set: no row sums are left to share or to wait "
                          "for";
  if (schedule.prefetchBeforeDependency &&
      (!schedule.dependentLaunch || schedule.reload))
    return emitError() << "expected " << field::dependentLaunch << " set and "
                       << field::reload << " unset where "
                       << field::prefetchBeforeDependency
                       << " is set: rows are brought near while the kernel "
                          "waits, and rows that are read again are too long";
  if (schedule.lanesAcross &&
      (schedule.vectorWidth > 1 || schedule.rowGroups < 2 ||
       !llvm::isPowerOf2_64(schedule.rowGroups) || schedule.rowSplits))
    return emitError() << "expected " << field::vectorWidth << " 1, "
                       << field::rowGroups << " a power of two above 1 and "
                       << field::rowSplits << " 0 where " << field::lanesAcross
                       << " is set, got " << schedule.vectorWidth << ", "
                       << schedule.rowGroups << " and " << schedule.rowSplits;
  if (schedule.stages && schedule.columnTile)
    return emitError() << "expected " << field::columnTile << " 0 where "
                       << field::stages
                       << " is set: a bulk copy brings whole rows";
  return success();
}
