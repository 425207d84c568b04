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
  Comparer(Element format, double tolerance, const char *contents)
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
    if (const ElementInfo &info = getInfo(format); info.saturates()) {
      double largest = reference::decode(format, info.largest);
      expected = std::clamp(expected, -largest, largest);
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
  Element format;
  const char *contents;
  double overflow;
  double surelyFinite;
  double surelyInfinite;
};

} // namespace

/// Whether an output is a sum over rows.
static bool isSum(const Argument &argument) {
  return argument.dims.hasColumns && !argument.dims.hasRows;
}

/// What float32 arithmetic cannot avoid where the result is a small difference
/// of terms of size `terms`: a few roundings of those. rstd has the rounding of
/// its variance besides.
static double roundingFloor(const Argument &argument, double terms) {
  double units = isSum(argument) || argument.output == Role::Rstd ? 8 : 4;
  return units * reference::unitRoundoff(Element::F32) * terms;
}

bool OutputReport::isValid() const {
  return unwritten == 0 && nonFiniteMismatches == 0 && repeatable &&
         (!compared || maxAbsoluteError <= allowedError);
}

double tolerance(bool isSum, Element format) {
  switch (format) {
  case Element::F16:
    return 6e-4;
  case Element::BF16:
    return 4e-3;
  default:
    break;
  }
  if (!getInfo(format).isFloat())
    return 0;
  if (getInfo(format).saturates())
    return 1.1 * reference::unitRoundoff(format);
  return isSum ? 1e-6 : 5e-7;
}

namespace {

/// Compares the outputs as the reference gets to them. Rows are never kept.
class Comparisons {
public:
  Comparisons(const Problem &problem,
              const std::vector<std::vector<char>> &outputs)
      : problem(problem),
        // Programs with their own rows may have more of them than a launch.
        perWorker(reference::workerCount(INT64_MAX),
                  std::vector<Comparison>(outputs.size())) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Argument &argument = problem.arguments[i];
      comparers.emplace_back(argument.format,
                             tolerance(isSum(argument), argument.format),
                             outputs[i].data());
    }
  }

  /// Compares an element of argument `index`.
  void compare(unsigned worker, size_t index, size_t element,
               const Bounded &expected) {
    comparers[index].compare(element, expected.value, expected.error,
                             perWorker[worker][index]);
  }
  /// The `row`th of the rows of an operand, if the kernel writes it.
  void compare(unsigned worker, Role role, int64_t row,
               const std::vector<double> &values) {
    std::optional<size_t> index = problem.place(role);
    for (size_t j = 0; index && j < values.size(); ++j)
      compare(worker, *index, static_cast<size_t>(row) * values.size() + j,
              {values[j], 0});
  }

  /// The reports of all outputs, in the arguments' order.
  std::vector<OutputReport> reports(const reference::Result &expected) const {
    std::vector<OutputReport> result;
    for (size_t i = 0; i < comparers.size(); ++i)
      if (problem.arguments[i].isOutput())
        result.push_back(report(i, expected));
    return result;
  }

private:
  OutputReport report(size_t index, const reference::Result &expected) const {
    const Argument &argument = problem.arguments[index];
    Comparison total;
    for (const std::vector<Comparison> &comparisons : perWorker)
      total.add(comparisons[index]);
    OutputReport report(argument);
    report.compared = true;
    report.largestReference = total.largestReference;
    report.nonFiniteMismatches = total.nonFiniteMismatches;
    report.undecided = total.undecided;
    double allowed =
        tolerance(isSum(argument), argument.format) * total.largestReference;
    if (argument.output)
      allowed = std::max(
          allowed, roundingFloor(argument, expected.terms[*argument.output]));
    allowed += reference::smallestSubnormal(argument.format);
    // An element that is wrong, or else the one that is farthest off.
    const Difference &shown =
        total.worst.excess() > allowed ? total.worst : total.largest;
    report.maxAbsoluteError = shown.error;
    report.allowedError = allowed + shown.bound;
    report.worstIndex = shown.index;
    return report;
  }

  const Problem &problem;
  std::vector<Comparer> comparers;
  std::vector<std::vector<Comparison>> perWorker;
};

} // namespace

/// Interprets the plan's programs. Their numbers say themselves how far off a
/// kernel may be.
static void compareWithPrograms(const Problem &problem,
                                Comparisons &comparisons) {
  reference::ProgramInputs inputs;
  inputs.rows = problem.rows;
  inputs.groups = problem.groups;
  inputs.arguments = problem.arguments.size();
  for (size_t i = 0; i < inputs.arguments; ++i)
    inputs.buffers.push_back(problem.input(i));
  inputs.buffers.resize(problem.buffers);
  interpret(problem.programs, inputs,
            [&](unsigned worker, size_t argument, size_t element,
                const Bounded &value) {
              comparisons.compare(worker, argument, element, value);
            });
}

std::vector<OutputReport>
compareWithReference(const Problem &problem,
                     const std::vector<std::vector<char>> &outputs) {
  Comparisons comparisons(problem, outputs);
  reference::Result expected;
  if (!problem.operation.isKnown()) {
    compareWithPrograms(problem, comparisons);
    return comparisons.reports(expected);
  }
  std::vector<Role> rows, sums;
  for (const OperandInfo &operand : *problem.operation.info)
    if (operand.isOutput)
      (getInfo(operand.role).dims == kColumn ? sums : rows)
          .push_back(operand.role);
  expected = evaluate(
      describeReference(problem),
      [&](unsigned worker, int64_t row, const reference::RowOutputs &values) {
        for (Role role : rows)
          comparisons.compare(worker, role, row, values[role]);
      });
  for (Role role : sums)
    comparisons.compare(0, role, 0, expected.sums[role]);
  return comparisons.reports(expected);
}

} // namespace lnbwd::run
