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

#include "lnbwd/Dialect/LNBwd/IR/BuiltValue.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

#include <array>

namespace lnbwd {

/// Writes the region of a row program.
class RowBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
};

/// A float32 row or scalar. Multiplications, additions and quotients may be
/// contracted to fused ones, which round once instead of twice.
struct RowValue : BuiltValue<RowBuilder> {
  using Number = double;
  static constexpr auto flags = mlir::arith::FastMathFlags::contract;
  using BuiltValue::BuiltValue;
  RowValue like(double number) const;
};

/// Widens a row or a scalar to float32.
RowValue widen(RowBuilder &b, mlir::Value value);
/// Rounds to the element of `output`, a tensor, memref or row.
mlir::Value narrow(RowValue row, mlir::Value output);
RowValue constant(RowBuilder &b, double number);
/// A scalar as a row.
RowValue spread(RowValue scalar, int64_t length);
RowValue rowSum(RowValue row);
RowValue abs(RowValue x);
RowValue rsqrt(RowValue x);
/// x * y + z.
RowValue fma(RowValue x, RowValue y, RowValue z);

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
  bool has(Role input) const { return bool(get(input)); }
  /// An input that is there, as float32.
  RowValue widened(RowBuilder &b, Role input) const {
    return widen(b, get(input));
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
