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
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.cpp.inc"

// Not by its header, which needs the dialect's.
#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProductOps.h.inc"

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
  addOperations<
#define GET_OP_LIST
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProductOps.cpp.inc"
      >();
}

Operation *LNBwdDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
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

LogicalResult
ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                     int64_t threadsPerRow, int64_t rowGroups,
                     int64_t vectorWidth, int64_t rowsPerWorkgroup,
                     int64_t workgroupsPerComputeUnit, int64_t workgroupsPerRow,
                     int64_t columnTile, int64_t prefetch, int64_t unroll,
                     int64_t stages, bool /*earlyStart*/, bool reload) {
  auto expect = [&](bool holds, StringRef field, StringRef expected,
                    int64_t got) -> LogicalResult {
    if (holds)
      return success();
    return emitError() << "expected " << field << " to be " << expected
                       << ", got " << got;
  };
  if (failed(expect(threadsPerRow >= 1, "threads_per_row", "at least 1",
                    threadsPerRow)) ||
      failed(expect(rowGroups >= 1, "row_groups", "at least 1", rowGroups)) ||
      failed(expect(vectorWidth >= 1 && vectorWidth <= 16 &&
                        (vectorWidth & (vectorWidth - 1)) == 0,
                    "vector_width", "a power of two from 1 to 16",
                    vectorWidth)) ||
      failed(expect(rowsPerWorkgroup >= 0, "rows_per_workgroup", "at least 0",
                    rowsPerWorkgroup)) ||
      failed(expect(workgroupsPerComputeUnit >= 0,
                    "workgroups_per_compute_unit", "at least 0",
                    workgroupsPerComputeUnit)) ||
      failed(expect(workgroupsPerRow >= 1 && workgroupsPerRow <= 16 &&
                        llvm::isPowerOf2_64(uint64_t(workgroupsPerRow)),
                    "workgroups_per_row", "a power of two from 1 to 16",
                    workgroupsPerRow)) ||
      failed(expect(prefetch == 0 || prefetch == 1, "prefetch", "0 or 1",
                    prefetch)) ||
      failed(expect(unroll == 1 || unroll == 2 || unroll == 4 || unroll == 8,
                    "unroll", "1, 2, 4 or 8", unroll)) ||
      failed(expect(stages == 0 || (stages >= 2 && stages <= 16), "stages",
                    "0, or from 2 to 16", stages)))
    return failure();
  // Factors are bounded before they are multiplied.
  constexpr int64_t bound = int64_t(1) << 20;
  if (threadsPerRow > bound || rowGroups > bound)
    return emitError() << "expected threads_per_row and row_groups below "
                       << bound;
  if (failed(expect(
          columnTile >= 0 && columnTile % (threadsPerRow * vectorWidth) == 0,
          "column_tile", "a multiple of threads_per_row * vector_width",
          columnTile)))
    return failure();
  if (reload && (prefetch || stages))
    return emitError() << "expected prefetch and stages 0 where reload is set: "
                          "a row that is read again does not stay anywhere";
  if (unroll > 1 && (stages || reload))
    return emitError() << "expected stages 0 and reload unset where unroll is "
                          "above 1: the sets of rows of a turn are held in "
                          "registers";
  if (unroll > 2 && prefetch)
    return emitError() << "expected unroll to be 1 or 2 where prefetch is 1, "
                          "got "
                       << unroll;
  if (workgroupsPerRow > 1 && (columnTile || reload))
    return emitError() << "expected column_tile 0 and reload unset where "
                          "workgroups_per_row is above 1: the row is split "
                          "between workgroups already";
  if (stages && columnTile)
    return emitError() << "expected column_tile 0 where stages is set: a bulk "
                          "copy brings whole rows";
  return success();
}
