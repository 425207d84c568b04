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

using lnbwd::reference::Bounded;
using lnbwd::reference::FloatFormat;

namespace lnbwd::run {

namespace {

/// An element that was compared, and what is allowed of it for itself.
struct Difference {
  double error = 0;
  double bound = 0;
  size_t index = 0;
  bool exists = false;

  double excess() const { return error - bound; }
};

/// Of an output, what one thread has seen.
struct Comparison {
  double largestReference = 0;
  /// The element that is farthest off, and the one that is farthest beyond its
  /// bound.
  Difference largest, worst;
  size_t nonFiniteMismatches = 0;
  size_t undecided = 0;

  void add(const Difference &difference) {
    // Of equal ones the first, whatever part of the output is added first.
    auto isBehind = [&](const Difference &known, double now, double before) {
      return !known.exists || now > before ||
             (now == before && difference.index < known.index);
    };
    if (isBehind(largest, difference.error, largest.error))
      largest = difference;
    if (isBehind(worst, difference.excess(), worst.excess()))
      worst = difference;
  }
  void add(const Comparison &other) {
    largestReference = std::max(largestReference, other.largestReference);
    nonFiniteMismatches += other.nonFiniteMismatches;
    undecided += other.undecided;
    for (const Difference &difference : {other.largest, other.worst})
      if (difference.exists)
        add(difference);
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

  /// `bound` is what `expected` allows beside the type's own rounding.
  void compare(size_t index, double expected, double bound,
               Comparison &result) const {
    if (!std::isfinite(bound)) {
      ++result.undecided;
      return;
    }
    double actual = reference::loadElement(format, contents, index);
    double magnitude = std::abs(expected);
    bool isNumber = magnitude - bound < surelyInfinite; // false for NaN
    bool mayOverflow =
        magnitude + bound >= surelyFinite || std::isnan(expected);
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
    result.add(
        Difference{std::abs(actual - expected), bound, index, /*exists=*/true});
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

/// `relative` is the allowed error beside the largest reference value, `floor`
/// what is allowed of small ones, too, and `absolute` what comes on top.
static OutputReport makeReport(const std::string &name,
                               const Argument &argument,
                               const Comparison &comparison, double relative,
                               double floor, double absolute = 0) {
  OutputReport report;
  report.name = name;
  report.format = argument.format;
  report.elements = argument.elements;
  report.compared = true;
  report.largestReference = comparison.largestReference;
  report.nonFiniteMismatches = comparison.nonFiniteMismatches;
  report.undecided = comparison.undecided;
  double allowed = std::max(relative * comparison.largestReference, floor) +
                   absolute + reference::smallestSubnormal(argument.format);
  // An element that is wrong, or else the one that is farthest off.
  const Difference &shown = comparison.worst.excess() > allowed
                                ? comparison.worst
                                : comparison.largest;
  report.maxAbsoluteError = shown.error;
  report.allowedError = allowed + shown.bound;
  report.worstIndex = shown.index;
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

static double tolerance(bool isSum, FloatFormat format) {
  switch (format) {
  case FloatFormat::F16:
    return 6e-4;
  case FloatFormat::BF16:
    return 4e-3;
  case FloatFormat::F32:
  case FloatFormat::I8:
    break;
  }
  return isSum ? 1e-6 : 5e-7;
}

double tolerance(Role role, FloatFormat format) {
  return tolerance(isColumnSum(role), format);
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
      comparers[place]->compare(first + j, values[j], /*bound=*/0,
                                perWorker[worker][place]);
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
        result.push_back(makeReport(
            getInfo(*argument.output).name, argument, total(*argument.output),
            tolerance(*argument.output, argument.format),
            roundingFloor(*argument.output, expected.terms[*argument.output]),
            expected.factorRounding[*argument.output]));
    return result;
  }

private:
  const Problem &problem;
  std::array<std::optional<Comparer>, kRoleCount> comparers;
  std::vector<std::vector<Comparison>> perWorker;
};

} // namespace

/// Interprets the plan's programs. Their numbers say themselves how far off a
/// kernel may be.
static std::vector<OutputReport>
compareWithPrograms(const Problem &problem,
                    const std::vector<std::vector<char>> &outputs) {
  reference::ProgramInputs inputs;
  inputs.rows = problem.rows;
  inputs.groups = problem.groups;
  inputs.arguments = problem.arguments.size();
  for (size_t i = 0; i < inputs.arguments; ++i)
    inputs.buffers.push_back(problem.input(i));
  inputs.buffers.resize(problem.buffers);

  auto isSum = [](const Argument &argument) {
    const KindInfo &kind = getInfo(static_cast<OperandKind>(argument.kind));
    return kind.hasColumns && !kind.hasRows;
  };
  std::vector<Comparer> comparers;
  for (size_t i = 0; i < inputs.arguments; ++i) {
    const Argument &argument = problem.arguments[i];
    comparers.emplace_back(argument.format,
                           tolerance(isSum(argument), argument.format),
                           outputs[i].data());
  }
  // A program with its own rows may have more of them than a launch, and so
  // more workers.
  std::vector<std::vector<Comparison>> perWorker(
      reference::workerCount(INT64_MAX),
      std::vector<Comparison>(inputs.arguments));
  interpret(problem.programs, inputs,
            [&](unsigned worker, size_t argument, size_t first,
                const std::vector<Bounded> &values) {
              for (size_t j = 0; j < values.size(); ++j)
                comparers[argument].compare(first + j, values[j].value,
                                            values[j].error,
                                            perWorker[worker][argument]);
            });
  std::vector<OutputReport> reports;
  for (size_t i = 0; i < inputs.arguments; ++i) {
    const Argument &argument = problem.arguments[i];
    if (!argument.isOutput())
      continue;
    Comparison total;
    for (const std::vector<Comparison> &comparisons : perWorker)
      total.add(comparisons[i]);
    reports.push_back(makeReport(argument.name, argument, total,
                                 tolerance(isSum(argument), argument.format),
                                 /*floor=*/0));
  }
  return reports;
}

std::vector<OutputReport>
compareWithReference(const Problem &problem,
                     const std::vector<std::vector<char>> &outputs) {
  if (!problem.operation.isKnown())
    return compareWithPrograms(problem, outputs);
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
