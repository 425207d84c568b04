//===- RunnerVerificationTest.cpp - What counts as right ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Feeds the runner's comparison with results that are right, nearly right and
// wrong, for each type.
//
//===----------------------------------------------------------------------===//

#include "GuardedLaunch.h"
#include "Inputs.h"
#include "TestPrograms.h"
#include "Verification.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace lnbwd;
using namespace lnbwd::run;
using namespace lnbwd::reference;

static double tolerance(Role role, Element format) {
  return tolerance(getInfo(role).dims == kColumn, format);
}

/// Adds the argument that is an operand of the operation.
static void add(Problem &problem, Role role, Element format, const Dims &dims,
                bool isOutput = false, int64_t stride = 0) {
  Argument argument;
  argument.name = getInfo(role).name;
  argument.format = format;
  argument.dims = dims;
  argument.access = isOutput ? LNBWD_ACCESS_WRITE : LNBWD_ACCESS_READ;
  argument.rowLength = dims == kRowScalar ? 1 : problem.columns;
  argument.rowStride = stride ? stride : argument.rowLength;
  bool isColumn = dims == kColumn;
  argument.elements = argument.rowLength * (isColumn ? 1 : problem.rows);
  argument.bytes = argument.rowStride * (isColumn ? 1 : problem.rows) *
                   getInfo(format).bytes;
  if (isOutput)
    argument.output = role;
  problem.operands[role] = problem.arguments.size();
  problem.arguments.push_back(argument);
}

namespace {

/// A problem with its inputs filled and the outputs a perfect kernel would
/// write: the reference, rounded.
struct Solved {
  Problem problem;
  std::vector<std::vector<char>> outputs;

  Solved(Element format, Element columnFormat, int64_t rows, int64_t columns,
         Init init = Init::Normal) {
    problem.rows = rows;
    problem.columns = columns;
    problem.operation.info = &getInfo(NamedOperation::LayerNormBwd);
    add(problem, Role::Dy, format, kRowBlock);
    add(problem, Role::X, format, kRowBlock);
    add(problem, Role::Gamma, columnFormat, kColumn);
    add(problem, Role::Mean, Element::F32, kRowScalar);
    add(problem, Role::Rstd, Element::F32, kRowScalar);
    add(problem, Role::Dx, format, kRowBlock, true);
    add(problem, Role::Dgamma, columnFormat, kColumn, true);
    add(problem, Role::Dbeta, columnFormat, kColumn, true);
    Options options;
    options.init = init;
    fillProblem(problem, options);

    outputs.resize(problem.arguments.size());
    for (size_t i = 5; i < 8; ++i)
      outputs[i].resize(problem.arguments[i].bytes);
    Result result =
        evaluate(describeReference(problem),
                 [&](unsigned, int64_t row, const RowOutputs &values) {
                   for (int64_t j = 0; j < columns; ++j)
                     set(5, row * columns + j, values[Role::Dx][j]);
                 });
    for (int64_t j = 0; j < columns; ++j) {
      set(6, j, result.sums[Role::Dgamma][j]);
      set(7, j, result.sums[Role::Dbeta][j]);
    }
  }

  double get(size_t argument, size_t index) const {
    return loadElement(problem.arguments[argument].format,
                       outputs[argument].data(), index);
  }
  void set(size_t argument, size_t index, double value) {
    storeElement(problem.arguments[argument].format, outputs[argument].data(),
                 index, static_cast<float>(value));
  }
  /// The output's report: dx is 0, dgamma 1, dbeta 2.
  OutputReport report(size_t output) const {
    return compareWithReference(problem, outputs)[output];
  }
};

class VerificationTest : public testing::TestWithParam<Element> {};

TEST_P(VerificationTest, TakesTheRoundedReference) {
  for (const InitDescription &init : initDescriptions())
    for (auto [rows, columns] :
         {std::pair<int64_t, int64_t>{3, 50}, {1, 1}, {5, 2}, {0, 7}}) {
      Solved solved(GetParam(), GetParam(), rows, columns, init.init);
      for (const OutputReport &report :
           compareWithReference(solved.problem, solved.outputs))
        EXPECT_TRUE(report.isValid())
            << init.name << " " << rows << "x" << columns << " " << report.name
            << " error " << report.maxAbsoluteError << " allowed "
            << report.allowedError << " non-finite "
            << report.nonFiniteMismatches;
    }
}

TEST_P(VerificationTest, RefusesMoreThanTheTolerance) {
  for (size_t output : {0, 1, 2}) {
    Role role = std::array{Role::Dx, Role::Dgamma, Role::Dbeta}[output];
    Solved solved(GetParam(), GetParam(), 8, 64);
    double scale = solved.report(output).largestReference;
    double step = tolerance(role, GetParam()) * scale;
    size_t index = 17;
    double value = solved.get(5 + output, index);
    solved.set(5 + output, index, value + 1.6 * step);
    OutputReport report = solved.report(output);
    EXPECT_FALSE(report.isValid()) << report.name;
    EXPECT_EQ(report.worstIndex, index);
    EXPECT_NEAR(report.relativeError(), 1.6 * tolerance(role, GetParam()),
                tolerance(role, GetParam()));
  }
}

TEST_P(VerificationTest, ForRegularSizesTheToleranceIsThePublishedOne) {
  // The floor for cancellation must not widen it.
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{64, 64}, {257, 255}, {16, 1024}}) {
    Solved solved(GetParam(), GetParam(), rows, columns);
    EXPECT_NEAR(solved.report(0).allowedRelativeError() /
                    tolerance(Role::Dx, GetParam()),
                1, 0.01);
    EXPECT_NEAR(solved.report(1).allowedRelativeError() /
                    tolerance(Role::Dgamma, GetParam()),
                1, 0.01);
    EXPECT_NEAR(solved.report(2).allowedRelativeError() /
                    tolerance(Role::Dbeta, GetParam()),
                1, 0.01);
  }
}

TEST_P(VerificationTest, RefusesNanAndInfinityWhereTheReferenceIsFinite) {
  for (float value : {NAN, INFINITY, -INFINITY}) {
    Solved solved(GetParam(), GetParam(), 3, 9);
    solved.set(5, 4, value);
    solved.set(7, 0, value);
    EXPECT_EQ(solved.report(0).nonFiniteMismatches, 1U);
    EXPECT_EQ(solved.report(1).nonFiniteMismatches, 0U);
    EXPECT_EQ(solved.report(2).nonFiniteMismatches, 1U);
    EXPECT_FALSE(solved.report(0).isValid());
    EXPECT_FALSE(solved.report(2).isValid());
  }
}

TEST_P(VerificationTest, RefusesNumbersWhereTheReferenceIsNone) {
  Solved solved(GetParam(), GetParam(), 3, 9, Init::NonFinite);
  EXPECT_TRUE(solved.report(0).isValid());
  // The NaN of dy is in row 0: all of that row's dx are NaN.
  ASSERT_TRUE(std::isnan(solved.get(5, 2)));
  solved.set(5, 2, 0.0);
  EXPECT_EQ(solved.report(0).nonFiniteMismatches, 1U);
  EXPECT_FALSE(solved.report(0).isValid());
}

INSTANTIATE_TEST_SUITE_P(Formats, VerificationTest,
                         testing::Values(Element::F16, Element::BF16,
                                         Element::F32),
                         [](const auto &info) {
                           return std::string(getName(info.param));
                         });

TEST(VerificationTest, OfEqualErrorsTheFirstIsTheWorst) {
  Solved solved(Element::F32, Element::F32, 20000, 2, Init::Zeros);
  for (size_t index = 20001; index < 40000; ++index)
    solved.set(5, index, 1);
  // Whichever thread has compared it.
  for (int turn = 0; turn < 100; ++turn)
    EXPECT_EQ(solved.report(0).worstIndex, 20001U);
}

TEST(VerificationTest, OverflowOfTheTypeIsNoMistake) {
  Solved solved(Element::F32, Element::F16, 3, 4);
  // Sums of 3 elements of 40000 are beyond f16; two of them are not.
  std::vector<char> &dy = solved.problem.contents[0];
  for (size_t i = 0; i < 12; ++i)
    storeElement(Element::F32, dy.data(), i, i % 4 == 1 ? -40000 : 1);
  solved.set(7, 1, -INFINITY);
  for (size_t j : {0, 2, 3})
    solved.set(7, j, 3);
  EXPECT_EQ(solved.report(2).nonFiniteMismatches, 0U);
  solved.set(7, 1, INFINITY);
  EXPECT_EQ(solved.report(2).nonFiniteMismatches, 1U);
  solved.set(7, 1, -65504);
  EXPECT_EQ(solved.report(2).nonFiniteMismatches, 1U);
}

TEST(VerificationTest, TheTolerancesFollowFromTheTypes) {
  // One rounding of the type, and a little room for what is computed before.
  for (Element format : {Element::F16, Element::BF16}) {
    EXPECT_GE(tolerance(Role::Dx, format), unitRoundoff(format));
    EXPECT_LE(tolerance(Role::Dx, format), 1.25 * unitRoundoff(format));
    EXPECT_EQ(tolerance(Role::Dgamma, format), tolerance(Role::Dx, format));
  }
  EXPECT_LE(tolerance(Role::Dx, Element::F32), 5e-7);
  EXPECT_LE(tolerance(Role::Dbeta, Element::F32), 1e-6);
}

TEST(VerificationTest, AReportIsOnlyValidIfAllOfItIs) {
  OutputReport report{Argument()};
  EXPECT_TRUE(report.isValid());
  report.unwritten = 1;
  EXPECT_FALSE(report.isValid());
  report.unwritten = 0;
  report.repeatable = false;
  EXPECT_FALSE(report.isValid());
  report.repeatable = true;
  report.compared = true;
  report.maxAbsoluteError = std::nan("");
  EXPECT_FALSE(report.isValid());
}

TEST(VerificationTest, ComparesAForwardPassWithWhatItNormalised) {
  Problem problem;
  problem.rows = 3;
  problem.columns = 40;
  problem.operation = {&getInfo(NamedOperation::LayerNorm), false, 1e-3};
  add(problem, Role::X, Element::F32, kRowBlock, false, 48);
  add(problem, Role::Residual, Element::F32, kRowBlock);
  add(problem, Role::Y, Element::F32, kRowBlock, true);
  add(problem, Role::Sum, Element::F32, kRowBlock, true);
  add(problem, Role::Mean, Element::F32, kRowScalar, true);
  add(problem, Role::Rstd, Element::F32, kRowScalar, true);
  fillProblem(problem, Options());
  // In float32, from the same numbers.
  ConstArray x = problem.input(Role::X);
  ConstArray residual = problem.input(Role::Residual);
  std::vector<std::vector<char>> outputs(6);
  for (size_t i = 2; i < 6; ++i)
    outputs[i].resize(problem.arguments[i].bytes);
  auto set = [&](size_t i, size_t index, double value) {
    storeElement(Element::F32, outputs[i].data(), index,
                 static_cast<float>(value));
  };
  for (int64_t row = 0; row < 3; ++row) {
    double mean = 0, variance = 0;
    std::vector<double> sum(40);
    for (int64_t j = 0; j < 40; ++j) {
      sum[j] = static_cast<float>(x.at(row, j, 40) + residual.at(row, j, 40));
      mean += sum[j] / 40;
    }
    for (double value : sum)
      variance += (value - mean) * (value - mean) / 40;
    double rstd = 1 / std::sqrt(variance + 1e-3);
    for (int64_t j = 0; j < 40; ++j) {
      set(2, row * 40 + j, (sum[j] - mean) * rstd);
      set(3, row * 40 + j, sum[j]);
    }
    set(4, row, mean);
    set(5, row, rstd);
  }
  auto reports = compareWithReference(problem, outputs);
  ASSERT_EQ(reports.size(), 4U);
  for (const OutputReport &report : reports)
    EXPECT_TRUE(report.isValid()) << report.name << report.maxAbsoluteError;
  // Another epsilon shows in y and rstd, and nowhere else.
  problem.operation.epsilon = 2e-3;
  reports = compareWithReference(problem, outputs);
  EXPECT_FALSE(reports[0].isValid());
  EXPECT_TRUE(reports[1].isValid());
  EXPECT_TRUE(reports[2].isValid());
  EXPECT_FALSE(reports[3].isValid());
  // A RMSNorm does not subtract the mean.
  problem.operation.info = &getInfo(NamedOperation::RmsNorm);
  EXPECT_FALSE(compareWithReference(problem, outputs)[0].isValid());
}

TEST(ProblemTest, GapsOfInputsAreNaNs) {
  Problem problem;
  problem.rows = 2;
  problem.columns = 3;
  add(problem, Role::X, Element::BF16, kRowBlock, false, 5);
  fillProblem(problem, Options());
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(
        std::isnan(loadElement(Element::BF16, problem.contents[0].data(), i)),
        i % 5 >= 3)
        << i;
}

TEST(PoisonTest, IsANanInEveryType) {
  for (uint16_t pattern : {kFirstPoison, kSecondPoison}) {
    EXPECT_TRUE(std::isnan(decode(Element::F16, pattern)));
    EXPECT_TRUE(std::isnan(decode(Element::BF16, pattern)));
    uint16_t both[2] = {pattern, pattern};
    float value;
    std::memcpy(&value, both, 4);
    EXPECT_TRUE(std::isnan(value));
    std::vector<char> bytes(12);
    std::memcpy(bytes.data() + 4, both, 4);
    EXPECT_EQ(countPoison(bytes, Element::F32, pattern), 1U);
    EXPECT_EQ(countPoison(bytes, Element::F16, pattern), 2U);
    EXPECT_EQ(countPoison({}, Element::F16, pattern), 0U);
  }
}

TEST(InputsTest, DependOnTheSeedAndThePlaceAlone) {
  std::vector<float> first(1000), again(1000), other(1000), longer(2000);
  auto fill = [](Init init, uint64_t seed, std::vector<float> &values) {
    fillInput(init, seed, Role::X, Element::F32,
              static_cast<int64_t>(values.size()) / 10, 10, values.data());
  };
  for (const InitDescription &init : initDescriptions()) {
    fill(init.init, 1, first);
    fill(init.init, 1, again);
    fill(init.init, 1, longer);
    EXPECT_EQ(first, again) << init.name;
    EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()))
        << init.name;
  }
  fill(Init::Normal, 1, first);
  fill(Init::Normal, 2, other);
  EXPECT_NE(first, other);
}

TEST(InputsTest, HaveTheDistributionTheyAreNamedAfter) {
  constexpr int64_t kCount = 100000;
  std::vector<float> values(kCount);
  auto moments = [&](Init init) {
    fillInput(init, 1, Role::X, Element::F32, kCount / 100, 100, values.data());
    double mean = 0, square = 0;
    for (float value : values)
      mean += value / double(kCount);
    for (float value : values)
      square += (value - mean) * (value - mean) / kCount;
    return std::pair<double, double>(mean, std::sqrt(square));
  };
  EXPECT_NEAR(moments(Init::Normal).first, 0, 0.02);
  EXPECT_NEAR(moments(Init::Normal).second, 1, 0.02);
  EXPECT_NEAR(moments(Init::Uniform).first, 0.5, 0.01);
  EXPECT_NEAR(moments(Init::Uniform).second, std::sqrt(1.0 / 12), 0.01);
  EXPECT_NEAR(moments(Init::LargeMean).first, 1e4, 0.02);
  EXPECT_NEAR(moments(Init::Integers).second, std::sqrt(10.0), 0.05);
  EXPECT_NEAR(moments(Init::Huge).second / 1e30, 1, 0.02);
  EXPECT_LT(moments(Init::TinyVariance).second, 1e-6);
  EXPECT_GT(moments(Init::TinyVariance).second, 1e-8);
  fillInput(Init::Denormal, 1, Role::X, Element::F32, 1, 100, values.data());
  EXPECT_EQ(std::fpclassify(values[5]), FP_SUBNORMAL);
}

} // namespace
