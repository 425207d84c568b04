//===- Reference.h - The float64 reference ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The named operations in float64 on the host, on all cores, with every option
// that they have. It starts from the very numbers that the kernel was given
// (rounded inputs, saved statistics in float32), so that the difference to the
// kernel's results is the kernel's own error. Formulas.cpp has a formula for
// one row of each; everything else goes by the table of operands.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_REFERENCE_H
#define LNBWD_REFERENCE_REFERENCE_H

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Reference/FloatFormat.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace lnbwd::reference {

/// Something for each role.
template <typename T> class ByRole {
public:
  T &operator[](Role role) { return values[static_cast<size_t>(role)]; }
  const T &operator[](Role role) const {
    return values[static_cast<size_t>(role)];
  }

private:
  std::array<T, kRoleCount> values{};
};

/// An array that somebody else owns. Without data it is absent.
struct ConstArray {
  Element format = Element::F32;
  const void *data = nullptr;
  /// Of a row block, the elements from row to row; 0: the rows are dense.
  int64_t stride = 0;

  double operator[](size_t index) const {
    return loadElement(format, data, index);
  }
  /// Element of a row block whose rows have `columns` elements.
  double at(int64_t row, int64_t column, int64_t columns) const {
    return (
        *this)[static_cast<size_t>(row) * (stride ? stride : columns) + column];
  }
};

/// An operation and what it is given.
struct Inputs {
  NamedOperation operation = NamedOperation::LayerNorm;
  int64_t rows = 0;
  int64_t columns = 0;
  /// 1 + gamma stands in the place of gamma.
  bool zeroCentredGamma = false;
  /// Where statistics are computed.
  double epsilon = 1e-5;
  /// What a kernel computes itself is float32: rstd is NaN where the sum of
  /// squares is beyond its range.
  bool inFloat32 = true;
  /// The inputs, and what column sums are added to: row blocks [rows, columns],
  /// columns [columns], row scalars [rows].
  ByRole<ConstArray> arrays;

  /// The elements of a row of an operand.
  int64_t rowLength(Role role) const {
    return getInfo(role).dims == kRowScalar ? 1 : columns;
  }
};

/// What a formula reads: one row of each input in float64, all of a column, one
/// number of a row scalar. Absent inputs are empty.
struct RowInputs : Inputs {
  explicit RowInputs(const Inputs &inputs) : Inputs(inputs) {}

  ByRole<std::vector<double>> values;

  const std::vector<double> &operator[](Role role) const {
    return values[role];
  }
  bool has(Role role) const { return !values[role].empty(); }
  /// What normalised elements are multiplied by.
  double gamma(int64_t column) const;
};

/// What a formula writes: one row of each row block, one number of each row
/// scalar, and of each column sum what this row adds to it.
struct RowOutputs {
  ByRole<std::vector<double>> values;
  /// Of row blocks and row scalars: how large the terms are that the largest
  /// element is a sum of. A result that is a small difference of large terms
  /// cannot be had to its own precision, in any order of summation: this says
  /// how near one can get.
  ByRole<double> terms;

  std::vector<double> &operator[](Role role) { return values[role]; }
  const std::vector<double> &operator[](Role role) const {
    return values[role];
  }
  /// Notes the size of an element's terms.
  void raise(Role role, double size);
};

/// A formula for one row. The outputs have their sizes already.
using Formula = void (*)(const RowInputs &in, RowOutputs &out);

/// That of an operation.
Formula formulaOf(NamedOperation operation);

/// Takes a finished row. Called from several threads at once, each with its own
/// `worker` number (workerCount of Parallel.h).
using RowConsumer = std::function<void(unsigned worker, int64_t row,
                                       const RowOutputs &outputs)>;

/// What is known once all rows are done.
struct Result {
  /// The column sums, with what they are added to.
  ByRole<std::vector<double>> sums;
  /// Of each output the size of its terms: of a column sum the largest root of
  /// the sum of squared terms of a column, and what was there before.
  ByRole<double> terms;
};

/// Computes the operation row by row. The sums are taken in an order that
/// depends on the sizes alone. Row blocks and row scalars are only handed to
/// `consumer`, which may be null.
Result evaluate(const Inputs &inputs, const RowConsumer &consumer);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_REFERENCE_H
