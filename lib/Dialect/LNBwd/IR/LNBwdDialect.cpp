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
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"

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

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
#define LNBWD_SCHEDULE_PARAMETERS
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
#undef LNBWD_SCHEDULE_PARAMETERS
) {
  const int64_t values[] = {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, start) member,
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"
  };
  for (auto [info, value] : llvm::zip_equal(kScheduleFields, values))
    if (!info.takes(value))
      return emitError() << "expected " << info.name << " to be " << info.values
                         << ", got " << value;
  // Factors are bounded before they are multiplied.
  constexpr int64_t bound = int64_t(1) << 20;
  if (threadsPerRow > bound || rowGroups > bound)
    return emitError() << "expected " << field::threadsPerRow << " and "
                       << field::rowGroups << " below " << bound;
  if (columnTile % (threadsPerRow * vectorWidth) != 0)
    return emitError() << "expected " << field::columnTile
                       << " to be a multiple of " << field::threadsPerRow
                       << " * " << field::vectorWidth << ", got " << columnTile;
  if (reload && (prefetch || stages))
    return emitError() << "expected " << field::prefetch << " and "
                       << field::stages << " 0 where " << field::reload
                       << " is set: a row that is read again does not stay "
                          "anywhere";
  if (unroll > 1 && (stages || reload))
    return emitError()
           << "expected " << field::stages << " 0 and " << field::reload
           << " unset where " << field::unroll
           << " is above 1: the tiles of rows of an iteration are held in "
              "registers";
  if (unroll > 2 && prefetch)
    return emitError() << "expected " << field::unroll << " to be 1 or 2 where "
                       << field::prefetch << " is 1, got " << unroll;
  if (workgroupsPerRow > 1 && (columnTile || reload))
    return emitError() << "expected " << field::columnTile << " 0 and "
                       << field::reload << " unset where "
                       << field::workgroupsPerRow
                       << " is above 1: the row is split between workgroups "
                          "already";
  if (rowSplits && (workgroupsPerRow > 1 || reload))
    return emitError() << "expected " << field::workgroupsPerRow << " 1 and "
                       << field::reload << " unset where " << field::rowSplits
                       << " is set: no row sums are left to share or to wait "
                          "for";
  if (prefetchBeforeDependency && (!dependentLaunch || reload))
    return emitError() << "expected " << field::dependentLaunch << " set and "
                       << field::reload << " unset where "
                       << field::prefetchBeforeDependency
                       << " is set: rows are brought near while the kernel "
                          "waits, and rows that are read again are too long";
  if (lanesAcross && (vectorWidth > 1 || rowGroups < 2 ||
                      !llvm::isPowerOf2_64(rowGroups) || rowSplits))
    return emitError() << "expected " << field::vectorWidth << " 1, "
                       << field::rowGroups << " a power of two above 1 and "
                       << field::rowSplits << " 0 where " << field::lanesAcross
                       << " is set, got " << vectorWidth << ", " << rowGroups
                       << " and " << rowSplits;
  if (stages && columnTile)
    return emitError() << "expected " << field::columnTile << " 0 where "
                       << field::stages
                       << " is set: a bulk copy brings whole rows";
  return success();
}
