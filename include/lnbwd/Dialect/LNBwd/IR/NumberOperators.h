//===- NumberOperators.h - Numbers as operands ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that take a number in the place of an operand, for types with
// operators, a type Number and x.like(number), a constant of the type of x.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_NUMBEROPERATORS_H
#define LNBWD_DIALECT_LNBWD_IR_NUMBEROPERATORS_H

namespace lnbwd {

template <typename T> T operator+(T x, typename T::Number y) {
  return x + x.like(y);
}
template <typename T> T operator-(T x, typename T::Number y) {
  return x - x.like(y);
}
template <typename T> T operator*(T x, typename T::Number y) {
  return x * x.like(y);
}
template <typename T> T operator/(T x, typename T::Number y) {
  return x / x.like(y);
}
template <typename T> T operator%(T x, typename T::Number y) {
  return x % x.like(y);
}
template <typename T> T operator&(T x, typename T::Number y) {
  return x & x.like(y);
}
template <typename T> T operator|(T x, typename T::Number y) {
  return x | x.like(y);
}
template <typename T> T operator<<(T x, typename T::Number y) {
  return x << x.like(y);
}
template <typename T> T operator>>(T x, typename T::Number y) {
  return x >> x.like(y);
}
template <typename T> auto operator<(T x, typename T::Number y) {
  return x < x.like(y);
}
template <typename T> auto operator==(T x, typename T::Number y) {
  return x == x.like(y);
}
template <typename T> T operator-(typename T::Number x, T y) {
  return y.like(x) - y;
}
template <typename T> T operator/(typename T::Number x, T y) {
  return y.like(x) / y;
}
template <typename T> auto operator<(typename T::Number x, T y) {
  return y.like(x) < y;
}

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_NUMBEROPERATORS_H
