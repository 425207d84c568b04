//===- CostTerms.h - What the models of costs share -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Terms, units and sizes that the fitted models and the limits of schedules
// have in common.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_ANALYSIS_COSTTERMS_H
#define LNBWD_LIB_ANALYSIS_COSTTERMS_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace lnbwd {

/// Bytes of a float32: of a sum, and of a register of a lane. And of an element
/// of which a register has two.
constexpr int64_t floatBytes = 4, halfBytes = 2;
/// Bytes in a microsecond of one TB/s, the unit of the bandwidths.
constexpr double bytesPerMicrosecond = 1e6;
/// Shared memory that the driver takes of each workgroup.
constexpr int64_t reservedSharedBytes = 1024;
/// Rows whose sums, and barriers, have places of their own in shared memory, in
/// iteration.
constexpr int64_t exchangedRows = 2;

/// The longer of times that overlap, and a bit more, the less the larger the
/// exponent is.
inline double overlap(double exponent, std::initializer_list<double> times) {
  double longest = std::max(times), sum = 0;
  for (double time : times)
    sum += std::pow(time / longest, exponent);
  return longest * std::pow(sum, 1 / exponent);
}

} // namespace lnbwd

#endif // LNBWD_LIB_ANALYSIS_COSTTERMS_H
