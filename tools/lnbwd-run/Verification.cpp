//===- Verification.cpp - Comparison with the reference -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "lnbwd/Reference/Parallel.h"

#include <algorithm>
#include <cmath>
#include <optional>

using lnbwd::reference::FloatFormat;

namespace lnbwd::run {

namespace {

/// Of an output, what one thread has seen.
struct Comparison {
  double largestReference = 0;
  double maxError = 0;
  size_t worstIndex = 0;
  size_t nonFiniteMismatches = 0;

  void add(const Comparison &other) {
    largestReference = std::max(largestReference, other.largestReference);
    nonFiniteMismatches += other.nonFiniteMismatches;
    // Of equal errors the first, whatever part of the output is added first.
    if (other.maxError > maxError ||
        (other.maxError == maxError && maxError > 0 &&
         other.worstIndex < worstIndex)) {
      maxError = other.maxError;
      worstIndex = other.worstIndex;
    }
  }
};

/// Compares elements of one output.
class Comparer {
public:
  Comparer(FloatFormat format, double tolerance, const char *contents)
      : format(format), contents(contents),
        overflow(reference::overflowThreshold(format)),
        // Within this range a right result may be infinite or not.
        surelyFinite(overflow * (1 - tolerance)),
        surelyInfinite(overflow * (1 + tolerance)) {}

  void compare(size_t index, double expected, Comparison &result) const {
    double actual = reference::loadElement(format, contents, index);
    double magnitude = std::abs(expected);
    bool isNumber = magnitude < surelyInfinite; // false for NaN
    bool mayOverflow = magnitude >= surelyFinite || std::isnan(expected);
    if (!std::isfinite(actual)) {
      // An overflow must at least be to the right side.
      bool wrongSign = std::isfinite(expected) &&
                       (std::isnan(actual) ||
                        std::signbit(actual) != std::signbit(expected));
      if (!mayOverflow || wrongSign)
        ++result.nonFiniteMismatches;
      return;
    }
    if (!isNumber) {
      ++result.nonFiniteMismatches;
      return;
    }
    result.largestReference = std::max(result.largestReference, magnitude);
    double error = std::abs(actual - expected);
    if (error > result.maxError) {
      result.maxError = error;
      result.worstIndex = index;
    }
  }

private:
  FloatFormat format;
  const char *contents;
  double overflow;
  double surelyFinite;
  double surelyInfinite;
};

} // namespace

/// Whether an output is a sum over all rows.
static bool isColumnSum(Role role) {
  return getInfo(role).kind == OperandKind::Column;
}

/// What float32 arithmetic cannot avoid where the result is a small difference
/// of terms of size `terms`: a few roundings of those. rstd has the rounding of
/// its variance besides.
static double roundingFloor(Role role, double terms) {
  double units = isColumnSum(role) || role == Role::Rstd ? 8 : 4;
  return units * reference::unitRoundoff(FloatFormat::F32) * terms;
}

/// One element of a million is off by 4.9 root mean squares.
static constexpr double mostDeviations = 5;

static OutputReport makeReport(const Argument &argument,
                               const Comparison &comparison, double terms,
                               double factorRounding) {
  OutputReport report;
  report.name = getInfo(*argument.output).name;
  report.format = argument.format;
  report.elements = argument.elements;
  report.compared = true;
  report.largestReference = comparison.largestReference;
  report.maxAbsoluteError = comparison.maxError;
  report.worstIndex = comparison.worstIndex;
  report.nonFiniteMismatches = comparison.nonFiniteMismatches;
  report.allowedError = std::max(tolerance(*argument.output, argument.format) *
                                     comparison.largestReference,
                                 roundingFloor(*argument.output, terms)) +
                        mostDeviations * factorRounding +
                        reference::smallestSubnormal(argument.format);
  return report;
}

double OutputReport::relativeError() const {
  return maxAbsoluteError / largestReference;
}

double OutputReport::allowedRelativeError() const {
  return allowedError / largestReference;
}

bool OutputReport::isValid() const {
  return unwritten == 0 && nonFiniteMismatches == 0 && repeatable &&
         (!compared || maxAbsoluteError <= allowedError);
}

double tolerance(Role role, FloatFormat format) {
  switch (format) {
  case FloatFormat::F16:
    return 6e-4;
  case FloatFormat::BF16:
    return 4e-3;
  case FloatFormat::F32:
  case FloatFormat::I8:
    break;
  }
  return isColumnSum(role) ? 1e-6 : 5e-7;
}

namespace {

/// Compares the outputs as the reference gets to them. Rows are never kept.
class Comparisons {
public:
  Comparisons(const Problem &problem,
              const std::vector<std::vector<char>> &outputs)
      : problem(problem), perWorker(reference::workerCount(problem.rows)) {
    for (std::vector<Comparison> &comparisons : perWorker)
      comparisons.resize(kRoleCount);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Argument &argument = problem.arguments[i];
      if (argument.output)
        comparers[static_cast<size_t>(*argument.output)].emplace(
            argument.format, tolerance(*argument.output, argument.format),
            outputs[i].data());
    }
  }

  /// `count` values of an output, the first being element `first`.
  void compare(unsigned worker, Role role, size_t first, const double *values,
               int64_t count) {
    auto place = static_cast<size_t>(role);
    if (!comparers[place])
      return;
    for (int64_t j = 0; j < count; ++j)
      comparers[place]->compare(first + j, values[j], perWorker[worker][place]);
  }
  Comparison total(Role role) const {
    Comparison result;
    for (const std::vector<Comparison> &comparisons : perWorker)
      result.add(comparisons[static_cast<size_t>(role)]);
    return result;
  }
  /// The reports of all outputs, in the arguments' order.
  std::vector<OutputReport> reports(const reference::Result &expected) const {
    std::vector<OutputReport> result;
    for (const Argument &argument : problem.arguments)
      if (argument.output)
        result.push_back(makeReport(argument, total(*argument.output),
                                    expected.terms[*argument.output],
                                    expected.factorRounding[*argument.output]));
    return result;
  }

private:
  const Problem &problem;
  std::array<std::optional<Comparer>, kRoleCount> comparers;
  std::vector<std::vector<Comparison>> perWorker;
};

} // namespace

std::vector<OutputReport>
compareWithReference(const Problem &problem,
                     const std::vector<std::vector<char>> &outputs) {
  Comparisons comparisons(problem, outputs);
  auto compare = [&](unsigned worker, Role role, int64_t row,
                     const std::vector<double> &values) {
    comparisons.compare(worker, role, static_cast<size_t>(row) * values.size(),
                        values.data(), static_cast<int64_t>(values.size()));
  };
  std::vector<Role> rows, sums;
  for (const OperandInfo &operand : *problem.operation.info)
    if (operand.isOutput)
      (isColumnSum(operand.role) ? sums : rows).push_back(operand.role);
  reference::Result expected = evaluate(
      describeReference(problem),
      [&](unsigned worker, int64_t row, const reference::RowOutputs &outputs) {
        for (Role role : rows)
          compare(worker, role, row, outputs[role]);
      });
  for (Role role : sums)
    compare(0, role, 0, expected.sums[role]);
  return comparisons.reports(expected);
}

} // namespace lnbwd::run
