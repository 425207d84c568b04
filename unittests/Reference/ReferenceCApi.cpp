//===- ReferenceCApi.cpp - The float64 reference for Python's tests -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function, so that the tests in Python compare with the formulas that the
// runner compares with (test/EndToEnd/reference.py).
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Reference.h"

#include <algorithm>

using namespace lnbwd;
using namespace lnbwd::reference;

// Named as in C: NOLINTBEGIN(readability-identifier-naming)

/// Computes an operation on dense arrays. `inputs` has a pointer for each role,
/// null for what is absent; of a column output it is what the sum is added to.
/// `outputs` has one for each role, null for what is not wanted, and `terms` a
/// number for each (Result::terms). Returns 1 if there is no such operation.
extern "C" __attribute__((visibility("default"))) int
lnbwd_reference(const char *operation, int64_t rows, int64_t columns,
                int zero_centred_gamma, double epsilon, int in_float32,
                const float *const *inputs, double *const *outputs,
                double *terms) {
  std::optional<NamedOperation> known = findOperation(operation);
  if (!known)
    return 1;
  Inputs problem;
  problem.operation = *known;
  problem.rows = rows;
  problem.columns = columns;
  problem.zeroCentredGamma = zero_centred_gamma != 0;
  problem.epsilon = epsilon;
  problem.inFloat32 = in_float32 != 0;
  for (size_t i = 0; i < kRoleCount; ++i)
    problem.arrays[static_cast<Role>(i)] = {Element::F32, inputs[i]};
  auto put = [&](Role role, int64_t row, const std::vector<double> &values) {
    if (double *array = outputs[static_cast<size_t>(role)])
      std::copy(values.begin(), values.end(),
                array + row * static_cast<int64_t>(values.size()));
  };
  std::vector<Role> columnSums, others;
  for (const OperandInfo &operand : getInfo(*known))
    if (operand.isOutput)
      (getInfo(operand.role).dims == kColumn ? columnSums : others)
          .push_back(operand.role);
  Result result =
      evaluate(problem, [&](unsigned, int64_t row, const RowOutputs &values) {
        for (Role role : others)
          put(role, row, values[role]);
      });
  for (Role role : columnSums)
    put(role, 0, result.sums[role]);
  for (size_t i = 0; i < kRoleCount; ++i)
    terms[i] = result.terms[static_cast<Role>(i)];
  return 0;
}

// NOLINTEND(readability-identifier-naming)
