//===- Reference.cpp - The float64 reference ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Reference.h"

#include "lnbwd/Reference/Parallel.h"

#include <algorithm>
#include <cmath>

namespace lnbwd::reference {

namespace {

/// The column sums over the rows of one piece.
struct PartialSums {
  ByRole<std::vector<double>> sums;
  ByRole<std::vector<double>> squares;
  ByRole<double> terms;
};

/// One row at a time, with its scratch memory.
class RowWorker {
public:
  explicit RowWorker(const Inputs &inputs)
      : info(getInfo(inputs.operation)), formula(formulaOf(inputs.operation)),
        in(inputs) {
    for (const OperandInfo &operand : info) {
      if (operand.isOutput || !inputs.arrays[operand.role].data)
        continue;
      std::vector<double> &values = in.values[operand.role];
      values.resize(inputs.rowLength(operand.role));
      if (getInfo(operand.role).dims == kColumn)
        for (size_t j = 0; j < values.size(); ++j)
          values[j] = inputs.arrays[operand.role][j];
    }
    // Formulas of several operations write what only some of them have.
    for (size_t i = 0; i < kRoleCount; ++i) {
      auto role = static_cast<Role>(i);
      out.values[role].resize(inputs.rowLength(role));
    }
  }

  const RowOutputs &process(int64_t row) {
    for (const OperandInfo &operand : info) {
      const int64_t n = in.rowLength(operand.role);
      const ConstArray &array = in.arrays[operand.role];
      if (operand.isOutput || !array.data)
        continue;
      std::vector<double> &values = in.values[operand.role];
      if (getInfo(operand.role).dims == kRowScalar)
        values[0] = array[row];
      if (getInfo(operand.role).dims == kRowBlock)
        for (int64_t j = 0; j < n; ++j)
          values[j] = array.at(row, j, n);
    }
    out.terms = {};
    formula(in, out);
    return out;
  }

private:
  const NamedOperationInfo &info;
  Formula formula;
  RowInputs in;
  RowOutputs out;
};

} // namespace

static double largestRoot(const std::vector<double> &squares) {
  double largest = 0;
  for (double square : squares)
    if (std::isfinite(square))
      largest = std::max(largest, std::sqrt(square));
  return largest;
}

/// Adds what a column sum is added to; returns the largest of it.
static double addBefore(ConstArray before, std::vector<double> &sums) {
  double largest = 0;
  for (size_t j = 0; before.data && j < sums.size(); ++j) {
    sums[j] += before[j];
    largest = std::max(largest, std::abs(before[j]));
  }
  return largest;
}

Result evaluate(const Inputs &inputs, const RowConsumer &consumer) {
  std::vector<Role> columns, others;
  for (const OperandInfo &operand : getInfo(inputs.operation))
    if (operand.isOutput)
      (getInfo(operand.role).dims == kColumn ? columns : others)
          .push_back(operand.role);

  std::vector<PartialSums> partials(pieceCount(inputs.rows));
  forEachPiece(inputs.rows,
               [&](unsigned worker, int64_t piece, int64_t begin, int64_t end) {
                 PartialSums &partial = partials[piece];
                 for (Role role : columns) {
                   partial.sums[role].assign(inputs.rowLength(role), 0.0);
                   partial.squares[role].assign(inputs.rowLength(role), 0.0);
                 }
                 RowWorker rowWorker(inputs);
                 for (int64_t row = begin; row < end; ++row) {
                   const RowOutputs &outputs = rowWorker.process(row);
                   for (Role role : columns)
                     for (size_t j = 0; j < outputs[role].size(); ++j) {
                       double term = outputs[role][j];
                       partial.sums[role][j] += term;
                       partial.squares[role][j] += term * term;
                     }
                   for (Role role : others)
                     partial.terms[role] =
                         std::max(partial.terms[role], outputs.terms[role]);
                   if (consumer)
                     consumer(worker, row, outputs);
                 }
               });

  Result result;
  for (Role role : others)
    for (const PartialSums &partial : partials)
      result.terms[role] = std::max(result.terms[role], partial.terms[role]);
  for (Role role : columns) {
    std::vector<double> &sums = result.sums[role];
    const auto n = static_cast<size_t>(inputs.rowLength(role));
    sums.assign(n, 0.0);
    std::vector<double> squares(n, 0.0);
    for (const PartialSums &partial : partials)
      for (size_t j = 0; j < n; ++j) {
        sums[j] += partial.sums[role][j];
        squares[j] += partial.squares[role][j];
      }
    result.terms[role] =
        largestRoot(squares) + addBefore(inputs.arrays[role], sums);
  }
  return result;
}

} // namespace lnbwd::reference
