//===- Rows.cpp - What a formula reads and writes -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few decisions that formulas share about their operands.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Rows.h"

#include <algorithm>
#include <cmath>

namespace lnbwd::reference {

double RowInputs::gamma(int64_t column) const {
  if (!has(Role::Gamma))
    return 1;
  double gamma = values[Role::Gamma][column];
  return zeroCentredGamma ? 1 + gamma : gamma;
}

void RowOutputs::raise(Role role, double size) {
  if (std::isfinite(size))
    terms[role] = std::max(terms[role], std::abs(size));
}

} // namespace lnbwd::reference
