//===- RowBuilder.h - To write row programs down ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it takes to write a formula down for one row: the operands by name, and
// short names for the operations.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWBUILDER_H
#define LNBWD_LIB_TRANSFORMS_ROWBUILDER_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace lnbwd {

/// Writes the region of a row program: the operations that formulas are made
/// of, all on `vector<N x f32>` and float32 scalars. Multiplications and
/// additions may be contracted to fused ones, which round once instead of
/// twice.
class RowBuilder {
public:
  RowBuilder(mlir::OpBuilder &builder, mlir::Location loc, int64_t rowLength);

  /// Widens a row or a scalar to float32.
  mlir::Value widen(mlir::Value value);
  /// Rounds a float32 row to the element of `output`, a tensor or memref.
  mlir::Value narrow(mlir::Value value, mlir::Value output);
  mlir::Value constant(double value);
  /// A scalar as a row.
  mlir::Value spread(mlir::Value scalar);
  mlir::Value rowSum(mlir::Value row);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value negate(mlir::Value value);
  mlir::Value abs(mlir::Value value);
  mlir::Value rsqrt(mlir::Value value);
  /// x * y + z of rows.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value less(mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value lhs, mlir::Value rhs);
  /// The row, no element beyond `bound` to either side; a NaN stays one.
  mlir::Value clamp(mlir::Value row, mlir::Value bound);

  void yield(mlir::ValueRange values);

private:
  mlir::ImplicitLocOpBuilder b;
  mlir::VectorType rowType;
};

/// The operands of a row program by name, in the order of the launch plan.
/// Entries without a value are absent.
class RowProgram {
public:
  using Named = std::pair<llvm::StringRef, mlir::Value>;

  void rows(llvm::ArrayRef<Named> named) { add(rowValues, named); }
  void columns(llvm::ArrayRef<Named> named) { add(columnValues, named); }
  void scalars(llvm::ArrayRef<Named> named) { add(scalarValues, named); }
  void rowOutputs(llvm::ArrayRef<Named> named) { add(rowOutValues, named); }
  void scalarOutputs(llvm::ArrayRef<Named> named) {
    add(scalarOutValues, named);
  }
  void columnSums(llvm::ArrayRef<Named> named, bool accumulate) {
    add(columnSumValues, named);
    accumulates = accumulate && !columnSumValues.empty();
  }

  /// Puts the program, named like `op` without the dialect, in its place.
  /// `fill` writes the region and ends it with a yield.
  void replace(mlir::PatternRewriter &rewriter, mlir::Operation *op,
               int64_t rowRank, llvm::function_ref<void(RowBuilder &)> fill);

  /// While the region is written: an input of it, null if absent.
  mlir::Value get(llvm::StringRef name) const { return arguments.lookup(name); }
  bool hasOutput(llvm::StringRef name) const;
  int64_t getRowLength() const { return rowLength; }

private:
  struct Entry {
    llvm::StringRef name;
    mlir::Value value;
  };
  using Entries = llvm::SmallVector<Entry>;
  static void add(Entries &entries, llvm::ArrayRef<Named> named);

  Entries rowValues, columnValues, scalarValues;
  Entries rowOutValues, scalarOutValues, columnSumValues;
  bool accumulates = false;
  llvm::StringMap<mlir::Value> arguments;
  int64_t rowLength = 0;
};

/// What `function` computes, if the only operation of this dialect in it is a
/// named one; null otherwise.
NamedOperationAttr describeNamedOperation(mlir::FunctionOpInterface function);

/// The patterns of lnbwd-lower-to-rowwise.
void populateLowerToRowwisePatterns(mlir::RewritePatternSet &patterns,
                                    bool textbook);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWBUILDER_H
