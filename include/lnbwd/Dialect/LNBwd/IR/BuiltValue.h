//===- BuiltValue.h - Arithmetic of values by operators ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that know their builder: operators make operations of them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_BUILTVALUE_H
#define LNBWD_DIALECT_LNBWD_IR_BUILTVALUE_H

#include "lnbwd/Dialect/LNBwd/IR/NumberOperators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <type_traits>

namespace lnbwd {

/// A value and the builder of others. Types that derive from it have operators
/// of integers that are not negative, or if their Number is a float of floats,
/// whose sums, products and quotients have the fast-math flags `flags`.
template <typename Builder> struct BuiltValue {
  BuiltValue() = default;
  BuiltValue(Builder *b, mlir::Value value) : b(b), value(value) {}
  operator mlir::Value() const { return value; }

  Builder *b = nullptr;
  mlir::Value value;
};

template <typename Op, typename T, typename... Args>
T applyOp(T x, Args... args) {
  return {x.b, Op::create(*x.b, x.value, args...)};
}
template <typename T> T select(mlir::Value condition, T x, T y) {
  return {x.b, mlir::arith::SelectOp::create(*x.b, condition, x, y)};
}

template <typename T>
using IfFloat =
    std::enable_if_t<std::is_floating_point_v<typename T::Number>, T>;
template <typename T>
using IfInteger = std::enable_if_t<std::is_integral_v<typename T::Number>, T>;

template <typename T> IfFloat<T> operator+(T x, mlir::Value y) {
  return applyOp<mlir::arith::AddFOp>(x, y, T::flags);
}
template <typename T> IfFloat<T> operator-(T x, mlir::Value y) {
  return applyOp<mlir::arith::SubFOp>(x, y);
}
template <typename T> IfFloat<T> operator*(T x, mlir::Value y) {
  return applyOp<mlir::arith::MulFOp>(x, y, T::flags);
}
template <typename T> IfFloat<T> operator/(T x, mlir::Value y) {
  return applyOp<mlir::arith::DivFOp>(x, y, T::flags);
}
template <typename T> IfFloat<T> operator-(T x) {
  return applyOp<mlir::arith::NegFOp>(x);
}
template <typename T, typename = IfFloat<T>>
mlir::Value compare(mlir::arith::CmpFPredicate predicate, T x, mlir::Value y) {
  return mlir::arith::CmpFOp::create(*x.b, predicate, x, y);
}
template <typename T, IfFloat<T> * = nullptr>
mlir::Value operator<(T x, mlir::Value y) {
  return compare(mlir::arith::CmpFPredicate::OLT, x, y);
}

template <typename T> IfInteger<T> operator+(T x, mlir::Value y) {
  return applyOp<mlir::arith::AddIOp>(x, y);
}
template <typename T> IfInteger<T> operator-(T x, mlir::Value y) {
  return applyOp<mlir::arith::SubIOp>(x, y);
}
template <typename T> IfInteger<T> operator*(T x, mlir::Value y) {
  return applyOp<mlir::arith::MulIOp>(x, y);
}
template <typename T> IfInteger<T> operator/(T x, mlir::Value y) {
  return applyOp<mlir::arith::DivUIOp>(x, y);
}
template <typename T> IfInteger<T> operator%(T x, mlir::Value y) {
  return applyOp<mlir::arith::RemUIOp>(x, y);
}
template <typename T> IfInteger<T> operator&(T x, mlir::Value y) {
  return applyOp<mlir::arith::AndIOp>(x, y);
}
template <typename T> IfInteger<T> operator|(T x, mlir::Value y) {
  return applyOp<mlir::arith::OrIOp>(x, y);
}
template <typename T> IfInteger<T> operator^(T x, mlir::Value y) {
  return applyOp<mlir::arith::XOrIOp>(x, y);
}
template <typename T> IfInteger<T> operator<<(T x, mlir::Value y) {
  return applyOp<mlir::arith::ShLIOp>(x, y);
}
template <typename T> IfInteger<T> operator>>(T x, mlir::Value y) {
  return applyOp<mlir::arith::ShRUIOp>(x, y);
}
template <typename T, IfInteger<T> * = nullptr>
mlir::Value operator<(T x, mlir::Value y) {
  return mlir::arith::CmpIOp::create(*x.b, mlir::arith::CmpIPredicate::ult, x,
                                     y);
}
template <typename T, IfInteger<T> * = nullptr>
mlir::Value operator==(T x, mlir::Value y) {
  return mlir::arith::CmpIOp::create(*x.b, mlir::arith::CmpIPredicate::eq, x,
                                     y);
}

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_BUILTVALUE_H
