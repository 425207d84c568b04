//===- RowBuilder.h - Builder of row programs -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it takes to write a formula down for one row: the operands by role, and
// short names for the operations. LNBwdNormBodies.cpp has the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_ROWBUILDER_H
#define LNBWD_DIALECT_LNBWD_IR_ROWBUILDER_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

#include <array>

namespace lnbwd {

/// Writes the region of a row program: the operations that formulas are made
/// of, on `vector<N x f32>`, on rows of another length where no scalar is
/// spread, and on float32 scalars. Multiplications and
/// additions may be contracted to fused ones, which round once instead of
/// twice.
class RowBuilder {
public:
  RowBuilder(mlir::OpBuilder &builder, mlir::Location loc, int64_t rowLength);

  /// Widens a row or a scalar to float32.
  mlir::Value widen(mlir::Value value);
  /// Rounds a float32 row to the element of `output`, a tensor, memref or row.
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

protected:
  mlir::ImplicitLocOpBuilder b;

private:
  mlir::VectorType rowType;
};

/// A named operation while its formula becomes the region of a row program: the
/// block arguments that its inputs are, and the values that its outputs get.
class RowBody {
public:
  /// Puts a row program, named like `op` without the dialect, in its place; the
  /// operation's buildBody writes its region. `textbook`: statistics as
  /// textbooks have them, for a program that is to be differentiated.
  static void replace(mlir::PatternRewriter &rewriter, NormOpInterface op,
                      bool textbook);

  /// An input of the region, in its own element; null if it is absent.
  mlir::Value get(Role input) const {
    return arguments[static_cast<size_t>(input)];
  }
  /// Whether the output is wanted.
  bool wants(Role output) { return bool(op.getOutput(output)); }
  /// Says what an output is: a float32 row or scalar, which is rounded here.
  /// One that is not wanted is left out.
  void set(Role output, mlir::Value value);

  int64_t getRowLength() const { return rowLength; }
  double getEpsilon() { return op.getEpsilon().convertToDouble(); }
  bool isGammaZeroCentred() { return op.getZeroCentredGamma(); }
  bool hasMean() { return op.getInfo().hasMean(); }
  bool isTextbook() const { return textbook; }

private:
  RowBody(NormOpInterface op, bool textbook) : op(op), textbook(textbook) {}

  NormOpInterface op;
  bool textbook;
  int64_t rowLength = 0;
  RowBuilder *builder = nullptr;
  std::array<mlir::Value, kRoleCount> arguments;
  std::array<mlir::Value, kRoleCount> outputs;
};

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_ROWBUILDER_H
