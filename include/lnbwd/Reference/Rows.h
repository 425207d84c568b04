//===- Rows.h - What a formula reads and writes -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row of each operand in float64: what the reference hands to an
// operation's formula and what it gets back.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_ROWS_H
#define LNBWD_REFERENCE_ROWS_H

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Reference/FloatFormat.h"

#include <array>
#include <cstdint>
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

/// What a formula reads: one row of each input in float64, all of a column, one
/// number of a row scalar. Absent inputs are empty.
struct RowInputs {
  int64_t columns = 0;
  /// Of rows after a linear layer.
  int64_t outputs = 0;
  /// Of x, to which what is multiplied by a matrix is rounded.
  FloatFormat format = FloatFormat::F32;
  /// Whether a mean is subtracted.
  bool hasMean = false;
  bool zeroCentredGamma = false;
  double epsilon = 0;
  bool inFloat32 = true;
  ByRole<std::vector<double>> values;

  const std::vector<double> &operator[](Role role) const {
    return values[role];
  }
  bool has(Role role) const { return !values[role].empty(); }
  /// What normalised elements are multiplied by.
  double gamma(int64_t column) const;
};

/// What a formula writes: one row of each row block, one number of each row
/// scalar, and of each column sum what this row adds to it. What it adds to a
/// matrix is the outer product of two rows, which are there one after the
/// other.
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

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_ROWS_H
