//===- Reference.cpp - The float64 reference ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Reference.h"

#include "Formulas.h"

#include "lnbwd/Reference/Parallel.h"

#include <algorithm>
#include <cmath>

namespace lnbwd::reference {

static formulas::Formula formulaOf(NamedOperation operation) {
  switch (operation) {
#define LNBWD_OPERATION_REFERENCE(OPERATION, FORMULA)                          \
  case NamedOperation::OPERATION:                                              \
    return formulas::FORMULA;
#include "lnbwd/Operations/Operations.h.inc"
#undef LNBWD_OPERATION_REFERENCE
  }
  return nullptr;
}

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
  RowWorker(const Inputs &inputs)
      : inputs(inputs), info(getInfo(inputs.operation)),
        formula(formulaOf(inputs.operation)) {
    in.columns = inputs.columns;
    in.hasMean = info.hasMean();
    in.zeroCentredGamma = inputs.zeroCentredGamma;
    in.epsilon = inputs.epsilon;
    in.inFloat32 = inputs.inFloat32;
    for (const OperandInfo &operand : info) {
      if (operand.isOutput || !inputs.arrays[operand.role].data)
        continue;
      bool isScalar = getInfo(operand.role).kind == OperandKind::RowScalar;
      std::vector<double> &values = in.values[operand.role];
      values.resize(isScalar ? 1 : inputs.columns);
      if (getInfo(operand.role).kind == OperandKind::Column)
        for (int64_t j = 0; j < inputs.columns; ++j)
          values[j] = inputs.arrays[operand.role][j];
    }
    // Formulas of several operations write what only some of them have.
    for (size_t i = 0; i < kRoleCount; ++i) {
      auto role = static_cast<Role>(i);
      bool isScalar = getInfo(role).kind == OperandKind::RowScalar;
      out.values[role].resize(isScalar ? 1 : inputs.columns);
    }
  }

  const RowOutputs &process(int64_t row) {
    const int64_t n = inputs.columns;
    for (const OperandInfo &operand : info) {
      const ConstArray &array = inputs.arrays[operand.role];
      if (operand.isOutput || !array.data)
        continue;
      std::vector<double> &values = in.values[operand.role];
      if (getInfo(operand.role).kind == OperandKind::RowScalar)
        values[0] = array[row];
      if (getInfo(operand.role).kind == OperandKind::RowBlock)
        for (int64_t j = 0; j < n; ++j)
          values[j] = array.at(row, j, n);
    }
    out.terms = {};
    formula(in, out);
    return out;
  }

private:
  const Inputs &inputs;
  const NamedOperationInfo &info;
  formulas::Formula formula;
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
  const int64_t n = inputs.columns;
  std::vector<Role> columns, others;
  for (const OperandInfo &operand : getInfo(inputs.operation))
    if (operand.isOutput)
      (getInfo(operand.role).kind == OperandKind::Column ? columns : others)
          .push_back(operand.role);

  std::vector<PartialSums> partials(pieceCount(inputs.rows));
  forEachPiece(inputs.rows,
               [&](unsigned worker, int64_t piece, int64_t begin, int64_t end) {
                 PartialSums &partial = partials[piece];
                 for (Role role : columns) {
                   partial.sums[role].assign(n, 0.0);
                   partial.squares[role].assign(n, 0.0);
                 }
                 RowWorker rowWorker(inputs);
                 for (int64_t row = begin; row < end; ++row) {
                   const RowOutputs &outputs = rowWorker.process(row);
                   for (Role role : columns)
                     for (int64_t j = 0; j < n; ++j) {
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
    sums.assign(n, 0.0);
    std::vector<double> squares(n, 0.0);
    for (const PartialSums &partial : partials)
      for (int64_t j = 0; j < n; ++j) {
        sums[j] += partial.sums[role][j];
        squares[j] += partial.squares[role][j];
      }
    result.terms[role] =
        largestRoot(squares) + addBefore(inputs.arrays[role], sums);
  }
  return result;
}

} // namespace lnbwd::reference
