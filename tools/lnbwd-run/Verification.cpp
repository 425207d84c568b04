//===- Verification.cpp - Comparison with the reference -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include <algorithm>
#include <cmath>

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
    if (other.maxError > maxError) {
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

/// What float32 arithmetic cannot avoid where the result is a small difference
/// of terms of size `terms`: a few roundings of those.
static double roundingFloor(Role role, double terms) {
  double units = role == Role::Dx ? 4 : 8;
  return units * reference::unitRoundoff(FloatFormat::F32) * terms;
}

static OutputReport makeReport(const Argument &argument,
                               const Comparison &comparison, double terms) {
  OutputReport report;
  report.name = argument.name;
  report.format = argument.format;
  report.elements = argument.elements;
  report.compared = true;
  report.largestReference = comparison.largestReference;
  report.maxAbsoluteError = comparison.maxError;
  report.worstIndex = comparison.worstIndex;
  report.nonFiniteMismatches = comparison.nonFiniteMismatches;
  report.allowedError = std::max(tolerance(argument.role, argument.format) *
                                     comparison.largestReference,
                                 roundingFloor(argument.role, terms)) +
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
    break;
  }
  return role == Role::Dx ? 5e-7 : 1e-6;
}

std::vector<OutputReport>
compareWithReference(const Problem &problem,
                     const std::vector<std::vector<char>> &outputs) {
  reference::BackwardInputs inputs;
  inputs.rows = problem.rows;
  inputs.columns = problem.columns;
  inputs.dy = problem.input(Role::Dy);
  inputs.x = problem.xOrDy();
  inputs.gamma = problem.input(Role::Gamma);
  inputs.mean = problem.mean.data();
  inputs.rstd = problem.rstd.data();

  auto comparerOf = [&](Role role) {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (problem.arguments[i].role == role)
        return Comparer(problem.arguments[i].format,
                        tolerance(role, problem.arguments[i].format),
                        outputs[i].data());
    return Comparer(FloatFormat::F32, 0, nullptr);
  };

  // dx is compared row by row as the reference gets to it, and never kept.
  std::vector<Comparison> perWorker(reference::workerCount(problem.rows));
  reference::RowConsumer consumer;
  Comparer dxComparer = comparerOf(Role::Dx);
  if (problem.find(Role::Dx))
    consumer = [&](unsigned worker, int64_t row, const double *dx) {
      size_t base = static_cast<size_t>(row) * problem.columns;
      for (int64_t j = 0; j < problem.columns; ++j)
        dxComparer.compare(base + j, dx[j], perWorker[worker]);
    };
  reference::BackwardResult expected = layerNormBackward(inputs, consumer);

  std::vector<OutputReport> reports;
  for (const Argument &argument : problem.arguments) {
    if (!argument.isOutput())
      continue;
    Comparison comparison;
    double terms = expected.dxTerms;
    if (argument.role == Role::Dx) {
      for (const Comparison &part : perWorker)
        comparison.add(part);
    } else {
      bool isDgamma = argument.role == Role::Dgamma;
      terms = isDgamma ? expected.dgammaTerms : expected.dbetaTerms;
      const std::vector<double> &values =
          isDgamma ? expected.dgamma : expected.dbeta;
      Comparer comparer = comparerOf(argument.role);
      for (size_t j = 0; j < values.size(); ++j)
        comparer.compare(j, values[j], comparison);
    }
    reports.push_back(makeReport(argument, comparison, terms));
  }
  return reports;
}

} // namespace lnbwd::run
