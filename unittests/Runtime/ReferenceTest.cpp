//===- ReferenceTest.cpp - The float64 reference --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/Reference.h"
#include "lnbwd/Reference/Parallel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace lnbwd;
using namespace lnbwd::reference;

namespace {

/// Random inputs in float32, and what the reference makes of them.
struct Case {
  int64_t rows;
  int64_t columns;
  std::vector<float> dy, x, gamma, mean, rstd;
  std::vector<double> dx;
  Result result;

  Case(int64_t rows, int64_t columns, unsigned seed, bool hasGamma = true,
       double epsilon = kEpsilon)
      : rows(rows), columns(columns), dy(rows * columns), x(rows * columns),
        gamma(columns), mean(rows), rstd(rows), dx(rows * columns) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float &value : dy)
      value = normal(random);
    for (float &value : x)
      value = 3 + 2 * normal(random);
    for (float &value : gamma)
      value = hasGamma ? 1 + normal(random) / 2 : 1;
    Inputs forward = inputs(NamedOperation::LayerNorm);
    forward.epsilon = epsilon;
    evaluate(forward, [&](unsigned, int64_t row, const RowOutputs &outputs) {
      mean[row] = static_cast<float>(outputs[Role::Mean][0]);
      rstd[row] = static_cast<float>(outputs[Role::Rstd][0]);
    });
    Inputs backward = inputs(NamedOperation::LayerNormBwd);
    if (!hasGamma)
      backward.arrays[Role::Gamma] = {};
    result = evaluate(backward, into(Role::Dx, dx));
  }

  /// All that there is; an operation takes what it has.
  Inputs inputs(NamedOperation operation) const {
    Inputs result;
    result.operation = operation;
    result.rows = rows;
    result.columns = columns;
    for (auto [role, values] :
         {std::pair(Role::Dy, &dy), std::pair(Role::X, &x),
          std::pair(Role::Gamma, &gamma), std::pair(Role::Mean, &mean),
          std::pair(Role::Rstd, &rstd)})
      result.arrays[role] = {Element::F32, values->data()};
    return result;
  }
  /// Puts an output into an array.
  RowConsumer into(Role role, std::vector<double> &all) const {
    return
        [this, role, &all](unsigned, int64_t row, const RowOutputs &outputs) {
          std::copy(outputs[role].begin(), outputs[role].end(),
                    all.begin() + row * columns);
        };
  }

  double xhat(int64_t i, int64_t j) const {
    return (double(x[i * columns + j]) - mean[i]) * rstd[i];
  }

  static constexpr double kEpsilon = 1e-5;
};

} // namespace

/// The loss whose gradient is computed: the sum of dy * y, y being the forward
/// pass in float64.
static double loss(const Case &test, const std::vector<double> &x,
                   const std::vector<double> &gamma,
                   const std::vector<double> &beta) {
  double sum = 0;
  for (int64_t i = 0; i < test.rows; ++i) {
    const double *row = x.data() + i * test.columns;
    double mean = std::accumulate(row, row + test.columns, 0.0) / test.columns;
    double variance = 0;
    for (int64_t j = 0; j < test.columns; ++j)
      variance += (row[j] - mean) * (row[j] - mean) / test.columns;
    double rstd = 1 / std::sqrt(variance + Case::kEpsilon);
    for (int64_t j = 0; j < test.columns; ++j)
      sum += test.dy[i * test.columns + j] *
             (gamma[j] * (row[j] - mean) * rstd + beta[j]);
  }
  return sum;
}

static double largest(const std::vector<double> &values) {
  double result = 0;
  for (double value : values)
    result = std::max(result, std::abs(value));
  return result;
}

/// Central differences of the loss along each element of one of its inputs.
template <typename Loss>
static std::vector<double> finiteDifferences(std::vector<double> at,
                                             Loss lossAt) {
  const double step = 1e-4;
  std::vector<double> gradient;
  for (double &value : at) {
    double middle = value;
    value = middle + step;
    double high = lossAt(at);
    value = middle - step;
    double low = lossAt(at);
    value = middle;
    gradient.push_back((high - low) / (2 * step));
  }
  return gradient;
}

static void expectNear(const std::vector<double> &actual,
                       const std::vector<double> &expected, double relative) {
  ASSERT_EQ(actual.size(), expected.size());
  double scale = largest(expected);
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], relative * scale) << i;
}

namespace {

TEST(ReferenceTest, AgreesWithFiniteDifferences) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{3, 7}, {1, 2}, {5, 16}, {2, 33}}) {
    Case test(rows, columns, 7);
    std::vector<double> x(test.x.begin(), test.x.end());
    std::vector<double> gamma(test.gamma.begin(), test.gamma.end());
    std::vector<double> beta(columns, 0.25);
    // Mean and rstd are rounded to float32 for the reference, hence 1e-6.
    double scale = columns == 2 ? 1e-2 : 1e-6;
    expectNear(
        test.dx,
        finiteDifferences(
            x, [&](const auto &at) { return loss(test, at, gamma, beta); }),
        scale);
    expectNear(
        test.result.sums[Role::Dgamma],
        finiteDifferences(
            gamma, [&](const auto &at) { return loss(test, x, at, beta); }),
        1e-6);
    expectNear(
        test.result.sums[Role::Dbeta],
        finiteDifferences(
            beta, [&](const auto &at) { return loss(test, x, gamma, at); }),
        1e-6);
  }
}

TEST(ReferenceTest, GammaOfOnesIsAsNoGamma) {
  Case with(4, 20, 3, true);
  Case without(4, 20, 3, false);
  std::vector<double> dx(without.dx.size());
  Result ones = evaluate(without.inputs(NamedOperation::LayerNormBwd),
                         without.into(Role::Dx, dx));
  EXPECT_EQ(dx, without.dx);
  EXPECT_EQ(ones.sums[Role::Dgamma], without.result.sums[Role::Dgamma]);
  EXPECT_NE(with.dx, without.dx);
}

} // namespace

/// The norm of the difference over the norm of the expected values.
static double relativeError(const std::vector<double> &actual,
                            const std::vector<double> &expected) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

namespace {

// Two formulas for dx that are in circulation and wrong. The reference must
// tell them from the right one by far more than any tolerance: they are about
// 57 % and 44 % off at such sizes.
TEST(ReferenceTest, TellsTheFormulaWithColumnSumsApart) {
  Case test(16, 16, 11);
  std::vector<double> dx(test.dx.size());
  for (int64_t i = 0; i < test.rows; ++i)
    for (int64_t j = 0; j < test.columns; ++j)
      dx[i * test.columns + j] =
          double(test.gamma[j]) * test.rstd[i] *
          (test.dy[i * test.columns + j] -
           (test.result.sums[Role::Dbeta][j] +
            test.xhat(i, j) * test.result.sums[Role::Dgamma][j]) /
               static_cast<double>(test.columns));
  EXPECT_NEAR(relativeError(dx, test.dx), 0.57, 0.2);
}

TEST(ReferenceTest, TellsTheFormulaWithTheDiagonalAloneApart) {
  Case test(16, 12, 13);
  std::vector<double> dx(test.dx.size());
  for (int64_t i = 0; i < test.rows; ++i)
    for (int64_t j = 0; j < test.columns; ++j) {
      double n = static_cast<double>(test.columns);
      double xhat = test.xhat(i, j);
      dx[i * test.columns + j] = double(test.dy[i * test.columns + j]) *
                                 test.gamma[j] * test.rstd[i] *
                                 (1 - 1 / n - xhat * xhat / n);
    }
  EXPECT_NEAR(relativeError(dx, test.dx), 0.44, 0.15);
}

// dx and dgamma of RMSNorm, with 1 + gamma, recomputed statistics, a further
// gradient and a sum that was there, against central differences of its loss.
TEST(ReferenceTest, RmsNormAgreesWithFiniteDifferences) {
  constexpr int64_t kRows = 3, kColumns = 7;
  Case test(kRows, kColumns, 7);
  std::vector<float> before(kColumns, 0.5F);
  Inputs inputs = test.inputs(NamedOperation::RmsNormBwd);
  inputs.zeroCentredGamma = true;
  inputs.epsilon = Case::kEpsilon;
  inputs.arrays[Role::Rstd] = {};
  inputs.arrays[Role::Dsum] = inputs.arrays[Role::Dy];
  inputs.arrays[Role::Dgamma] = {Element::F32, before.data()};
  std::vector<double> dx(kRows * kColumns);
  Result result = evaluate(inputs, test.into(Role::Dx, dx));
  auto lossOf = [&](const std::vector<double> &x,
                    const std::vector<double> &gamma) {
    double sum = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      double square = 0;
      for (int64_t j = 0; j < kColumns; ++j)
        square += x[i * kColumns + j] * x[i * kColumns + j] / kColumns;
      for (int64_t j = 0; j < kColumns; ++j)
        sum += test.dy[i * kColumns + j] *
               ((1 + gamma[j]) * x[i * kColumns + j] /
                    std::sqrt(square + Case::kEpsilon) +
                x[i * kColumns + j]);
    }
    return sum;
  };
  std::vector<double> x(test.x.begin(), test.x.end());
  std::vector<double> gamma(test.gamma.begin(), test.gamma.end());
  expectNear(
      dx,
      finiteDifferences(x, [&](const auto &at) { return lossOf(at, gamma); }),
      1e-6);
  std::vector<double> dgamma =
      finiteDifferences(gamma, [&](const auto &at) { return lossOf(x, at); });
  for (double &value : dgamma)
    value += 0.5;
  expectNear(result.sums[Role::Dgamma], dgamma, 1e-6);
}

TEST(ReferenceTest, FromTheOutputIsAsFromTheInput) {
  constexpr int64_t kRows = 4, kColumns = 20;
  Case test(kRows, kColumns, 5);
  std::vector<float> y(kRows * kColumns), beta(kColumns, 0.25F);
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kColumns; ++j)
      y[i * kColumns + j] =
          static_cast<float>(test.gamma[j] * test.xhat(i, j) + double(beta[j]));
  Inputs inputs = test.inputs(NamedOperation::LayerNormBwd);
  inputs.arrays[Role::X] = inputs.arrays[Role::Mean] = {};
  inputs.arrays[Role::Y] = {Element::F32, y.data()};
  inputs.arrays[Role::Beta] = {Element::F32, beta.data()};
  std::vector<double> dx(kRows * kColumns);
  Result result = evaluate(inputs, test.into(Role::Dx, dx));
  // y was rounded to float32, and gamma divides that.
  expectNear(dx, test.dx, 1e-4);
  expectNear(result.sums[Role::Dgamma], test.result.sums[Role::Dgamma], 1e-4);
  // Where gamma is 0 nothing can be known of xhat: no infinity.
  test.gamma[3] = 0;
  result = evaluate(inputs, {});
  EXPECT_EQ(result.sums[Role::Dgamma][3], 0);
  for (double value : result.sums[Role::Dgamma])
    EXPECT_TRUE(std::isfinite(value));
}

TEST(ReferenceTest, AForwardPassWithoutAMeanIsRmsNorm) {
  std::vector<float> x{3, 4, 0, 0, 0, 0};
  Inputs inputs;
  inputs.operation = NamedOperation::RmsNorm;
  inputs.rows = 2;
  inputs.columns = 2;
  inputs.epsilon = 0.5;
  // Rows of two, three apart.
  inputs.arrays[Role::X] = {Element::F32, x.data(), 3};
  Result result =
      evaluate(inputs, [&](unsigned, int64_t row, const RowOutputs &outputs) {
        double rstd = row == 0 ? 1 / std::sqrt(13.0) : 1 / std::sqrt(0.5);
        EXPECT_NEAR(outputs[Role::Rstd][0], rstd, 1e-12);
        EXPECT_NEAR(outputs[Role::Y][0], row == 0 ? 3 * rstd : 0, 1e-12);
      });
  EXPECT_NEAR(result.terms[Role::Rstd], 1 / std::sqrt(0.5), 1e-12);
}

TEST(ReferenceTest, EmptyAndTinyShapes) {
  Case none(0, 5, 1);
  EXPECT_EQ(none.result.sums[Role::Dgamma], std::vector<double>(5, 0.0));
  EXPECT_EQ(none.result.sums[Role::Dbeta], std::vector<double>(5, 0.0));
  // One column: xhat is 0, and so is dx.
  Case one(3, 1, 1);
  EXPECT_EQ(largest(one.dx), 0);
  EXPECT_EQ(largest(one.result.sums[Role::Dgamma]), 0);
  EXPECT_EQ(one.result.sums[Role::Dbeta][0],
            double(one.dy[0]) + double(one.dy[1]) + double(one.dy[2]));
}

TEST(ReferenceTest, StatisticsSurviveALargeMean) {
  std::vector<float> x(1000);
  for (size_t j = 0; j < x.size(); ++j)
    x[j] = 10000 + (j % 2 ? 1.0F : -1.0F);
  Inputs inputs;
  inputs.rows = 1;
  inputs.columns = 1000;
  inputs.epsilon = 0;
  inputs.arrays[Role::X] = {Element::F32, x.data()};
  evaluate(inputs, [](unsigned, int64_t, const RowOutputs &outputs) {
    EXPECT_EQ(outputs[Role::Mean][0], 10000);
    EXPECT_EQ(outputs[Role::Rstd][0], 1);
  });
}

// rsqrt of an infinite variance would be 0, and make zeros of the row.
TEST(ReferenceTest, SquaresBeyondFloat32MakeNaNOfARow) {
  std::vector<float> x{1e25F, -1e25F, 3e24F, 0, 1, 2, 3, 4};
  for (NamedOperation operation :
       {NamedOperation::LayerNorm, NamedOperation::RmsNorm}) {
    Inputs inputs;
    inputs.operation = operation;
    inputs.rows = 2;
    inputs.columns = 4;
    inputs.arrays[Role::X] = {Element::F32, x.data()};
    auto expectNaN = [&](bool isInFloat32) {
      inputs.inFloat32 = isInFloat32;
      evaluate(inputs, [&](unsigned, int64_t row, const RowOutputs &outputs) {
        bool isLost = row == 0 && isInFloat32;
        EXPECT_EQ(std::isnan(outputs[Role::Rstd][0]), isLost);
        for (double value : outputs[Role::Y])
          EXPECT_EQ(std::isnan(value), isLost);
      });
    };
    expectNaN(true);
    expectNaN(false);
  }
}

TEST(ReferenceTest, ManyRowsGiveTheSameBitsEveryTime) {
  Case first(1000, 33, 5);
  Case second(1000, 33, 5);
  EXPECT_EQ(first.result.sums[Role::Dgamma], second.result.sums[Role::Dgamma]);
  EXPECT_EQ(first.result.sums[Role::Dbeta], second.result.sums[Role::Dbeta]);
  EXPECT_EQ(first.dx, second.dx);
}

TEST(ForEachPieceTest, CoversEveryIndexOnceAndPassesExceptionsOn) {
  for (int64_t count : {0, 1, 2, 127, 128, 129, 10000}) {
    std::vector<int> seen(count, 0);
    forEachPiece(count, [&](unsigned, int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        ++seen[i];
    });
    EXPECT_EQ(seen, std::vector<int>(count, 1));
  }
  EXPECT_THROW(forEachPiece(100,
                            [](unsigned, int64_t, int64_t begin, int64_t) {
                              if (begin > 40)
                                throw std::runtime_error("stop");
                            }),
               std::runtime_error);
}

} // namespace
