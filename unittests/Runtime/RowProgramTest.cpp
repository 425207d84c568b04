//===- RowProgramTest.cpp - Row programs in float64 -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interpreter against formulas written out here, and its bounds against
// what float32 makes of the same operations.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/RowProgram.h"

#include "lnbwd/Reference/Parallel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <mutex>
#include <random>
#include <stdexcept>
#include <tuple>

using namespace lnbwd;
using namespace lnbwd::reference;

static ValueType typeOf(const std::string &text) {
  std::optional<ValueType> type = parseValueType(text);
  EXPECT_TRUE(type) << text;
  return type.value_or(ValueType());
}

namespace {

/// Puts a program together; values are numbered as they are added.
class Builder {
public:
  RowProgram program;

  Builder() { program.name = "p"; }

  size_t input(const Dims &dims, const std::string &type, size_t buffer) {
    program.inputs.push_back({dims, typeOf(type), buffer, 0});
    return program.inputs.size() - 1;
  }
  size_t add(const std::string &name, const std::string &type,
             std::vector<size_t> operands,
             OperationAttributes attributes = {}) {
    program.operations.push_back(
        {name, typeOf(type), std::move(operands), std::move(attributes)});
    return program.inputs.size() + program.operations.size() - 1;
  }
  size_t constant(const std::string &type, double value) {
    OperationAttributes attributes;
    attributes.value = value;
    return add("arith.constant", type, {}, attributes);
  }
  size_t choose(const std::string &name, const std::string &type,
                std::vector<size_t> operands, const char *choice) {
    OperationAttributes attributes;
    attributes.choice = choice;
    return add(name, type, std::move(operands), attributes);
  }
  size_t sum(size_t row) {
    return choose("vector.reduction", "f32", {row}, "add");
  }
  void output(const Dims &dims, const std::string &type, size_t buffer,
              size_t value) {
    program.outputs.push_back({dims, typeOf(type), buffer, value});
  }
};

/// What programs make of arrays of float32.
struct Interpreted {
  std::vector<std::vector<Bounded>> outputs;

  Interpreted(const std::vector<RowProgram> &programs, int64_t rows,
              int64_t groups, const std::vector<std::vector<float>> &arrays,
              size_t arguments) {
    ProgramInputs inputs;
    inputs.rows = rows;
    inputs.groups = groups;
    inputs.arguments = arguments;
    for (const std::vector<float> &array : arrays)
      inputs.buffers.push_back(
          {Element::F32, array.empty() ? nullptr : array.data()});
    for (const RowProgram &program : programs)
      checkRowProgram(program, arrays.size());
    outputs.resize(arguments);
    std::mutex mutex;
    interpret(
        programs, inputs,
        [&](unsigned, size_t argument, size_t element, const Bounded &value) {
          std::lock_guard<std::mutex> lock(mutex);
          std::vector<Bounded> &output = outputs[argument];
          output.resize(std::max(output.size(), element + 1));
          output[element] = value;
        });
  }
  Interpreted(const RowProgram &program, int64_t rows,
              const std::vector<std::vector<float>> &arrays)
      : Interpreted(std::vector<RowProgram>{program}, rows, 1, arrays,
                    arrays.size()) {}
};

} // namespace

static std::vector<float> randomArray(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(size);
  for (float &value : result)
    value = normal(random);
  return result;
}

/// Why a program is refused; empty if it is not.
static std::string refusal(const RowProgram &program) {
  try {
    checkRowProgram(program, 8);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return {};
}

namespace {

TEST(RowProgramTest, ReadsTypes) {
  EXPECT_EQ(typeOf("f32").shape, std::vector<int64_t>());
  EXPECT_EQ(typeOf("512xbf16").size(), 512);
  EXPECT_EQ(typeOf("96x64xf16").shape, (std::vector<int64_t>{96, 64}));
  EXPECT_EQ(typeOf("7xi1").element, Element::I1);
  EXPECT_EQ(typeOf("7xi32").element, Element::I32);
  for (const char *text :
       {"", "f64", "x", "0xf32", "-1xf32", "2x2x2xf32", "9999999999999xf32",
        "99999999999999999999xf32", "2000000x2000000xf32", "4xf32x", "4 xf32"})
    EXPECT_FALSE(parseValueType(text)) << text;
}

// Each row centred and scaled, its sum of squares, and sums over the rows with
// what was there before.
TEST(RowProgramTest, ComputesRowsScalarsAndSums) {
  constexpr int64_t kRows = 70, kColumns = 33;
  Builder b;
  size_t x = b.input(kRowBlock, "33xf32", 0);
  size_t gamma = b.input(kColumn, "33xf32", 1);
  size_t shift = b.input(kRowScalar, "f32", 2);
  size_t mean = b.add("arith.divf", "f32", {b.sum(x), b.constant("f32", 33)});
  size_t moved = b.add("arith.subf", "f32", {mean, shift});
  size_t centred = b.add("arith.subf", "33xf32",
                         {x, b.add("vector.broadcast", "33xf32", {moved})});
  size_t scaled = b.add("arith.mulf", "33xf32", {centred, gamma});
  size_t squares = b.sum(b.add("arith.mulf", "33xf32", {centred, centred}));
  b.output(kRowBlock, "33xf32", 3, scaled);
  b.output(kRowScalar, "f32", 4, squares);
  b.output(kColumn, "33xf32", 5, scaled);
  b.program.accumulate = true;

  std::vector<std::vector<float>> arrays = {randomArray(kRows * kColumns, 1),
                                            randomArray(kColumns, 2),
                                            randomArray(kRows, 3),
                                            {},
                                            {},
                                            randomArray(kColumns, 4)};
  Interpreted run(b.program, kRows, arrays);
  std::vector<double> sums(arrays[5].begin(), arrays[5].end());
  for (int64_t row = 0; row < kRows; ++row) {
    const float *values = &arrays[0][row * kColumns];
    double average = 0, total = 0;
    for (int64_t j = 0; j < kColumns; ++j)
      average += double(values[j]) / kColumns;
    for (int64_t j = 0; j < kColumns; ++j) {
      double difference = values[j] - (average - arrays[2][row]);
      const Bounded &result = run.outputs[3][row * kColumns + j];
      EXPECT_NEAR(result.value, difference * arrays[1][j], 1e-12);
      EXPECT_GT(result.error, 0);
      EXPECT_LT(result.error, 1e-5);
      total += difference * difference;
      sums[j] += difference * arrays[1][j];
    }
    EXPECT_NEAR(run.outputs[4][row].value, total, 1e-10);
  }
  for (int64_t j = 0; j < kColumns; ++j) {
    EXPECT_NEAR(run.outputs[5][j].value, sums[j], 1e-10);
    EXPECT_LT(run.outputs[5][j].error, 1e-3);
  }
}

// Rows [2, 3] of 2 columns: 10 t + s - 9, which wraps below 0, and where it is
// less than 0 and 1 with and without a sign.
TEST(RowProgramTest, ComputesIndicesAndIntegers) {
  Builder b;
  (void)b.input(kRowBlock, "2xf32", 0);
  OperationAttributes index;
  index.choice = "row";
  index.modulus = 3;
  size_t t = b.add("lnbwd.index", "i32", {}, index);
  index = {};
  index.choice = "column";
  size_t s = b.add("lnbwd.index", "2xi32", {}, index);
  size_t ten = b.add("arith.muli", "i32", {t, b.constant("i32", 10)});
  size_t spread = b.add("vector.broadcast", "2xi32", {ten});
  size_t sum = b.add("arith.addi", "2xi32", {spread, s});
  size_t less = b.add("arith.addi", "2xi32", {sum, b.constant("2xi32", -9)});
  size_t one = b.constant("2xi32", 1), half = b.constant("2xf32", 0.5);
  b.output(kRowBlock, "2xf32", 1, b.add("arith.sitofp", "2xf32", {less}));
  b.output(kRowBlock, "2xf32", 2, b.add("arith.uitofp", "2xf32", {less}));
  b.output(kRowBlock, "2xi64", 5, b.add("arith.extsi", "2xi64", {less}));
  b.output(kRowBlock, "2xi32", 6,
           b.add("arith.fptosi", "2xi32",
                 {b.add("arith.mulf", "2xf32",
                        {b.add("arith.sitofp", "2xf32", {less}),
                         b.constant("2xf32", 1.25)})}));
  for (const char *choice : {"slt", "ult"})
    b.output(kRowBlock, "2xf32", choice[0] == 's' ? 3 : 4,
             b.add("arith.select", "2xf32",
                   {b.choose("arith.cmpi", "2xi1", {less, one}, choice), half,
                    b.constant("2xf32", 2)}));
  Interpreted run(b.program, 6,
                  {std::vector<float>(12), {}, {}, {}, {}, {}, {}});
  const double values[] = {-9, -8, 1, 2, 11, 12};
  for (size_t i = 0; i < 12; ++i) {
    double value = values[i % 6];
    EXPECT_EQ(run.outputs[1][i].value, value);
    EXPECT_EQ(run.outputs[1][i].error, 0);
    EXPECT_EQ(run.outputs[2][i].value, value + (value < 0 ? 0x1p32 : 0));
    EXPECT_EQ(run.outputs[3][i].value, value < 1 ? 0.5 : 2);
    EXPECT_EQ(run.outputs[4][i].value, 2);
    EXPECT_EQ(run.outputs[5][i].value, value);
    EXPECT_EQ(run.outputs[6][i].value, std::trunc(1.25 * value));
  }
}

// Rows 0 to 3 take row m - 1 of a table of two rows: beyond it is the last row.
TEST(RowProgramTest, TakesRowsOfTables) {
  Builder b;
  (void)b.input(kRowBlock, "3xf32", 0);
  size_t table = b.input(kColumn, "2x3xf32", 1);
  OperationAttributes row;
  row.choice = "row";
  size_t index = b.add("lnbwd.index", "i32", {}, row);
  size_t less = b.add("arith.addi", "i32", {index, b.constant("i32", -1)});
  size_t taken = b.add("lnbwd.gather", "3xf32", {table, less});
  b.output(kRowBlock, "3xf32", 2, taken);
  Interpreted run(b.program, 4,
                  {std::vector<float>(12), {1, 2, 3, 4, 5, 6}, {}});
  const double rows[] = {1, 0, 1, 1};
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(run.outputs[2][i].value,
              rows[i / 3] * 3 + static_cast<double>(i % 3) + 1);
    EXPECT_EQ(run.outputs[2][i].error, 0);
  }

  // A table is only taken rows of, by one index, and rows are those of it.
  for (const auto &[name, type, operands] :
       {std::tuple("arith.negf", "2x3xf32", std::vector{table}),
        std::tuple("lnbwd.gather", "3xf32", std::vector{less, less}),
        std::tuple("lnbwd.gather", "3xf32", std::vector{table, taken}),
        std::tuple("lnbwd.gather", "2xf32", std::vector{table, less})}) {
    Builder other = b;
    (void)other.add(name, type, operands);
    EXPECT_FALSE(refusal(other.program).empty()) << name << " " << type;
  }
}

TEST(RowProgramTest, GroupsShareTheirColumns) {
  Builder b;
  size_t x = b.input(kRowBlock, "2xf32", 0);
  size_t scale = b.input(Dims{true, false, true}, "2xf32", 1);
  size_t y = b.add("arith.mulf", "2xf32", {x, scale});
  b.output(kRowBlock, "2xf32", 2, y);
  b.output(Dims{true, false, true}, "2xf32", 3, x);
  Interpreted run(
      {b.program}, 6, 3,
      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 10, 2, 20, 3, 30}, {}, {}},
      4);
  const double expected[] = {1, 20, 3, 40, 10, 120, 14, 160, 27, 300, 33, 360};
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(run.outputs[2][i].value, expected[i]);
  const double sums[] = {4, 6, 12, 14, 20, 22};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(run.outputs[3][i].value, sums[i]);
}

TEST(RowProgramTest, TakesTheLargestOfRows) {
  Builder b;
  size_t x = b.input(kRowBlock, "2xf32", 0);
  for (const Dims &dims : {kColumn, Dims{true, false, true}}) {
    b.output(dims, "2xf32", b.program.outputs.size() + 1, x);
    b.program.outputs.back().isMaximum = true;
  }
  const float none = std::numeric_limits<float>::quiet_NaN();
  Interpreted run({b.program}, 4, 2, {{-1, 5, -3, none, -2, 6, -4, 7}, {}, {}},
                  3);
  EXPECT_EQ(run.outputs[1][0].value, -1);
  EXPECT_EQ(run.outputs[1][0].error, 0);
  EXPECT_TRUE(std::isnan(run.outputs[1][1].value));
  EXPECT_EQ(run.outputs[2][0].value, -1);
  EXPECT_TRUE(std::isnan(run.outputs[2][1].value));
  EXPECT_EQ(run.outputs[2][2].value, -2);
  EXPECT_EQ(run.outputs[2][3].value, 7);
}

TEST(RowProgramTest, MultipliesByMatrices) {
  Builder b;
  size_t x = b.input(kRowBlock, "2xf32", 0);
  size_t w = b.input(kColumn, "3x2xf32", 1);
  size_t y = b.add("lnbwd.linear", "3xf32", {x, w});
  OperationAttributes transposed;
  transposed.transposed = true;
  size_t back = b.add("lnbwd.linear", "2xf32", {y, w}, transposed);
  size_t outer = b.add("vector.outerproduct", "3x2xf32", {y, x});
  b.output(kRowBlock, "3xf32", 2, y);
  b.output(kRowBlock, "2xf32", 3, back);
  b.output(kColumn, "3x2xf32", 4, outer);
  Interpreted run(b.program, 2, {{1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}, {}, {}, {}});
  const double y0[] = {5, 11, 17, 11, 25, 39};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(run.outputs[2][i].value, y0[i]);
  const double x0[] = {5 + 33 + 85, 10 + 44 + 102, 11 + 75 + 195,
                       22 + 100 + 234};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(run.outputs[3][i].value, x0[i]);
  const double w0[] = {5 + 33, 10 + 44, 11 + 75, 22 + 100, 17 + 117, 34 + 156};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(run.outputs[4][i].value, w0[i]);
}

// Through an allocation, which is buffer 2, and an argument that both write:
// the second has it.
TEST(RowProgramTest, ProgramsReadWhatOthersWrote) {
  Builder first, second;
  size_t x = first.input(kRowBlock, "2xf32", 0);
  size_t twice = first.add("arith.addf", "2xf32", {x, x});
  first.output(kRowBlock, "2xf32", 2, twice);
  first.output(kRowBlock, "2xf32", 1, x);
  size_t y = second.input(kRowBlock, "2xf32", 2);
  second.output(kRowBlock, "2xf32", 1,
                second.add("arith.mulf", "2xf32", {y, y}));
  Interpreted run({first.program, second.program}, 2, 1, {{1, 2, 3, 4}, {}, {}},
                  2);
  EXPECT_TRUE(run.outputs[0].empty());
  ASSERT_EQ(run.outputs[1].size(), 4U);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(run.outputs[1][i].value, 4.0 * (i + 1) * (i + 1));
}

TEST(RowProgramTest, ProgramsMayHaveRowsOfTheirOwn) {
  Builder b;
  size_t w = b.input(kRowBlock, "2xf32", 0);
  b.output(kRowScalar, "f32", 1, b.sum(w));
  b.program.ownRows = 3;
  Interpreted run(b.program, 100, {{1, 2, 3, 4, 5, 6}, {}});
  ASSERT_EQ(run.outputs[1].size(), 3U);
  EXPECT_EQ(run.outputs[1][2].value, 11);
}

TEST(RowProgramTest, NoRowsSumToNothing) {
  Builder b;
  size_t x = b.input(kRowBlock, "2xf32", 0);
  b.output(kColumn, "2xf32", 1, x);
  Interpreted run(b.program, 0, {{0}, {}});
  ASSERT_EQ(run.outputs[1].size(), 2U);
  EXPECT_EQ(run.outputs[1][1].value, 0);
  EXPECT_EQ(run.outputs[1][1].error, 0);
}

/// The value of an operation on numbers, each with an error.
struct Applied {
  Bounded result;

  /// Operands are rounded by a product with 1 first, which gives them an error.
  Applied(const std::string &name, std::vector<float> numbers,
          bool isRounded = false, OperationAttributes attributes = {}) {
    Builder b;
    std::vector<size_t> operands;
    std::vector<std::vector<float>> arrays;
    for (size_t i = 0; i < numbers.size(); ++i) {
      operands.push_back(b.input(kRowScalar, "f32", i));
      arrays.push_back({numbers[i]});
    }
    b.input(kRowBlock, "1xf32", numbers.size());
    arrays.push_back({0});
    if (isRounded) {
      size_t one = b.constant("f32", 1);
      for (size_t &operand : operands)
        operand = b.add("arith.mulf", "f32", {operand, one});
    }
    size_t value = b.add(name, "f32", operands, std::move(attributes));
    b.output(kRowScalar, "f32", arrays.size(), value);
    arrays.push_back({});
    result = Interpreted(b.program, 1, arrays).outputs.back().front();
  }
};

/// What is allowed of a result, in roundings of it.
static double roundings(const Bounded &number) {
  return number.error / std::abs(number.value) * 0x1p24;
}

TEST(RowProgramTest, BoundsAreThoseOfTheFunctions) {
  // One rounding is half a unit in the last place.
  EXPECT_NEAR(roundings(Applied("arith.addf", {1.5F, 2.25F}).result), 1, 1e-6);
  EXPECT_NEAR(roundings(Applied("arith.mulf", {1.5F, 2.25F}).result), 1, 1e-6);
  EXPECT_NEAR(roundings(Applied("arith.divf", {1, 3}).result), 6, 1e-6);
  EXPECT_NEAR(roundings(Applied("math.exp", {0.5F}).result), 10, 1e-6);
  EXPECT_NEAR(roundings(Applied("math.tanh", {0.5F}).result), 8, 1e-6);
  EXPECT_NEAR(roundings(Applied("math.rsqrt", {3}).result), 8, 1e-6);
  EXPECT_EQ(Applied("math.absf", {-3}).result.error, 0);
  EXPECT_EQ(Applied("arith.maximumf", {-3, 4}).result.error, 0);
  EXPECT_EQ(Applied("math.floor", {2.75F}).result.value, 2);
  EXPECT_EQ(Applied("math.floor", {2.75F}).result.error, 0);
  // An operand's own error goes on: exp(10) changes by 10 roundings.
  EXPECT_NEAR(roundings(Applied("math.exp", {10}, true).result), 20, 1e-3);
  EXPECT_NEAR(roundings(Applied("math.sqrt", {3}, true).result), 6.5, 1e-3);
  // The difference of neighbours has nothing but errors.
  EXPECT_GT(roundings(Applied("arith.subf", {1.0000001F, 1}, true).result),
            0x1p23);
  // A step that a rounding may take is not sure.
  EXPECT_EQ(Applied("math.floor", {3}, true).result.error, 1);
  // And nothing is allowed of a power beyond what exp2 and log2 have.
  EXPECT_NEAR(roundings(Applied("math.powf", {3, 2.5F}).result), 22, 1e-6);
}

TEST(RowProgramTest, ApproximateFunctionsAreOffByMore) {
  OperationAttributes approximate;
  approximate.approximate = true;
  for (const char *name :
       {"math.exp", "math.expm1", "math.tanh", "math.erf", "math.log1p"})
    EXPECT_GT(Applied(name, {0.5F}, false, approximate).result.error,
              Applied(name, {0.5F}).result.error)
        << name;
  // Subnormal numbers count as 0, or as any other small number.
  for (const char *name : {"math.log", "math.sqrt", "math.rsqrt"}) {
    EXPECT_FALSE(
        std::isfinite(Applied(name, {1e-40F}, false, approximate).result.error))
        << name;
    EXPECT_TRUE(std::isfinite(Applied(name, {1e-40F}).result.error)) << name;
  }
  EXPECT_FALSE(std::isfinite(
      Applied("arith.divf", {1, 1e38F}, false, approximate).result.error));
}

TEST(RowProgramTest, BeyondFloat32ThereIsNoBound) {
  for (const Applied &applied :
       {Applied("arith.mulf", {1e30F, 1e30F}), Applied("math.exp", {100}),
        Applied("arith.divf", {1, 0}), Applied("math.rsqrt", {0}, true),
        Applied("arith.divf", {1, 0}, true)})
    EXPECT_FALSE(std::isfinite(applied.result.error));
  // An infinity that was given is one for certain, whatever is added to it.
  float infinity = std::numeric_limits<float>::infinity();
  Bounded sum = Applied("arith.subf", {-infinity, 3}).result;
  EXPECT_EQ(sum.value, -infinity);
  EXPECT_EQ(sum.error, 0);
  Bounded power = Applied("math.exp", {-infinity}).result;
  EXPECT_EQ(power.value, 0);
  EXPECT_LT(power.error, 1e-37);
}

// What float32 makes of a chain of operations lies within the bound, and the
// bound is no more than a few times what is seen.
TEST(RowProgramTest, Float32LiesWithinTheBound) {
  constexpr size_t kCount = 20000;
  Builder b;
  size_t x = b.input(kRowBlock, "20000xf32", 0);
  size_t y = b.input(kRowBlock, "20000xf32", 1);
  const char *type = "20000xf32";
  size_t product = b.add("arith.mulf", type, {x, y});
  size_t shifted = b.add("arith.addf", type, {product, x});
  size_t positive =
      b.add("vector.fma", type, {shifted, shifted, b.constant(type, 0.5)});
  size_t root = b.add("math.sqrt", type, {positive});
  size_t result = b.add("arith.subf", type, {root, y});
  b.output(kRowBlock, type, 2, result);
  std::vector<float> xs = randomArray(kCount, 5), ys = randomArray(kCount, 6);
  Interpreted run(b.program, 1, {xs, ys, {}});
  double worst = 0;
  for (size_t i = 0; i < kCount; ++i) {
    volatile float step = xs[i] * ys[i];
    step = step + xs[i];
    step = std::fma(step, step, 0.5F);
    step = std::sqrt(step);
    step = step - ys[i];
    const Bounded &expected = run.outputs[2][i];
    double share = std::abs(step - expected.value) / expected.error;
    EXPECT_LE(share, 1) << xs[i] << " " << ys[i];
    worst = std::max(worst, share);
  }
  EXPECT_GT(worst, 0.15);
}

// A sum of mixed signs in float32, in the order of lanes, lies within its
// bound.
TEST(RowProgramTest, SumsLieWithinTheBound) {
  Builder b;
  size_t x = b.input(kRowBlock, "4096xf32", 0);
  b.output(kRowScalar, "f32", 1, b.sum(x));
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<float> values = randomArray(4096, seed);
    Bounded expected =
        Interpreted(b.program, 1, {values, {}}).outputs[1].front();
    std::vector<float> lanes(64, 0);
    for (size_t i = 0; i < values.size(); ++i)
      lanes[i % 64] += values[i];
    for (size_t step = 32; step > 0; step /= 2)
      for (size_t i = 0; i < step; ++i)
        lanes[i] += lanes[i + step];
    EXPECT_LE(std::abs(lanes[0] - expected.value), expected.error);
    EXPECT_LT(expected.error, 2e-4);
  }
}

// Rounding to 16 bits is the program's own: exact, unless the number is so near
// to a tie that an error before it decides.
TEST(RowProgramTest, RoundsWhereTheProgramDoes) {
  auto round = [](float number, bool isRounded) {
    Builder b;
    size_t x = b.input(kRowBlock, "1xf32", 0);
    size_t value = x;
    if (isRounded)
      value = b.add("arith.mulf", "1xf32", {x, b.constant("1xf32", 1)});
    size_t narrow = b.add("arith.truncf", "1xbf16", {value});
    b.output(kRowBlock, "1xf32", 1, b.add("arith.extf", "1xf32", {narrow}));
    return Interpreted(b.program, 1, {{number}, {}}).outputs[1].front();
  };
  EXPECT_EQ(round(1.001F, true).value, 1);
  EXPECT_EQ(round(1.001F, true).error, 0);
  float tie = 1 + 0x1p-8F;
  EXPECT_EQ(round(tie, false).error, 0);
  EXPECT_EQ(round(tie, true).error, 0x1p-7);
}

// What is put out in 16 bits is handed over before it is rounded; what another
// program reads of it is rounded.
TEST(RowProgramTest, OutputsAreHandedOverBeforeTheirRounding) {
  Builder b, next;
  size_t x = b.input(kRowBlock, "1xf32", 0);
  b.output(kRowBlock, "1xbf16", 1, b.add("arith.truncf", "1xbf16", {x}));
  size_t y = next.input(kRowBlock, "1xbf16", 1);
  next.output(kRowBlock, "1xf32", 2, next.add("arith.extf", "1xf32", {y}));
  Interpreted run({b.program, next.program}, 1, 1, {{1.001F}, {}, {}}, 3);
  EXPECT_EQ(run.outputs[1].front().value, 1.001F);
  EXPECT_EQ(run.outputs[2].front().value, 1);
}

// A condition that a rounding decides leaves both branches open.
TEST(RowProgramTest, ConditionsMayBeOpen) {
  auto choose = [](float number, bool isRounded) {
    Builder b;
    size_t x = b.input(kRowBlock, "1xf32", 0);
    size_t value = x;
    if (isRounded)
      value = b.add("arith.mulf", "1xf32", {x, b.constant("1xf32", 1)});
    size_t condition =
        b.choose("arith.cmpf", "1xi1", {value, b.constant("1xf32", 2)}, "ogt");
    b.output(
        kRowBlock, "1xf32", 1,
        b.add("arith.select", "1xf32",
              {condition, b.constant("1xf32", 5), b.constant("1xf32", -5)}));
    b.output(kRowBlock, "1xi8", 2, b.add("arith.extui", "1xi8", {condition}));
    return Interpreted(b.program, 1, {{number}, {}, {}});
  };
  EXPECT_EQ(choose(3, true).outputs[1].front().value, 5);
  EXPECT_EQ(choose(3, true).outputs[1].front().error, 0);
  EXPECT_EQ(choose(3, true).outputs[2].front().value, 1);
  EXPECT_EQ(choose(2, false).outputs[1].front().value, -5);
  EXPECT_EQ(choose(2, false).outputs[1].front().error, 0);
  EXPECT_EQ(choose(2, true).outputs[1].front().error, 10);
  EXPECT_EQ(choose(2, true).outputs[2].front().error, 1);
}

TEST(RowProgramTest, BuffersHoldWhatWasWritten) {
  Builder writer, reader;
  size_t x = writer.input(kRowBlock, "4xf32", 0);
  writer.output(kRowScalar, "f32", 2, writer.sum(x));
  size_t y = reader.input(kRowBlock, "4xf32", 2);
  reader.output(kRowBlock, "4xf32", 1, y);
  std::vector<std::vector<float>> arrays = {{1, 2, 3, 4}, {}, {}};
  EXPECT_THROW(Interpreted({writer.program, reader.program}, 1, 1, arrays, 2),
               std::invalid_argument);
  EXPECT_THROW(Interpreted({reader.program}, 1, 1, arrays, 2),
               std::invalid_argument);
  Builder grouped;
  size_t z = grouped.input(kRowBlock, "1xf32", 0);
  grouped.output(Dims{true, false, true}, "1xf32", 1, z);
  EXPECT_THROW(Interpreted({grouped.program}, 4, 3, arrays, 2),
               std::invalid_argument);
  EXPECT_THROW(Interpreted({grouped.program}, 4, 0, arrays, 2),
               std::invalid_argument);
}

TEST(RowProgramTest, NamesWhatItDoesNotKnow) {
  Builder b;
  size_t x = b.input(kRowBlock, "4xf32", 0);
  size_t mask = b.input(kRowBlock, "4xi8", 1);
  size_t w = b.input(kColumn, "4x2xf32", 2);
  auto with = [&](const std::string &name, const std::string &type,
                  std::vector<size_t> operands, const char *choice = "") {
    Builder copy = b;
    copy.choose(name, type, std::move(operands), choice);
    return refusal(copy.program);
  };
  EXPECT_EQ(
      with("math.sinh", "4xf32", {x}),
      "operation 0 of 'p', 'math.sinh', is none that the reference knows");
  EXPECT_EQ(with("arith.addf", "4xf32", {x}),
            "operation 0 of 'p', 'arith.addf', has 1 operands, expected 2");
  EXPECT_EQ(with("arith.addf", "4xf32", {x, 3}),
            "operation 0 of 'p', 'arith.addf', takes a value that is not "
            "computed before it");
  EXPECT_NE(with("arith.addf", "5xf32", {x, x}).find("another shape"),
            std::string::npos);
  EXPECT_NE(with("arith.addf", "4xf32", {x, mask}).find("expects floats"),
            std::string::npos);
  EXPECT_NE(with("arith.andi", "4xi1", {x, x}).find("expects integers"),
            std::string::npos);
  EXPECT_NE(with("arith.cmpf", "4xi1", {x, x}, "ten").find("'ten'"),
            std::string::npos);
  EXPECT_NE(with("arith.cmpi", "4xi1", {mask, mask}, "some").find("'some'"),
            std::string::npos);
  EXPECT_NE(with("arith.cmpi", "4xi1", {mask, mask}, "slt").find("32 bits"),
            std::string::npos);
  EXPECT_NE(with("arith.addi", "4xi8", {mask, mask}).find("32 bits"),
            std::string::npos);
  EXPECT_NE(with("lnbwd.index", "4xf32", {}, "row").find("32 bits"),
            std::string::npos);
  EXPECT_NE(with("vector.reduction", "f32", {x}, "mul").find("kind 'mul'"),
            std::string::npos);
  EXPECT_NE(with("arith.truncf", "4xf32", {x}).find("16 or 8 bits"),
            std::string::npos);
  EXPECT_NE(with("lnbwd.linear", "4xf32", {x, w}).find("fit each other"),
            std::string::npos);
  EXPECT_NE(with("vector.outerproduct", "4x2xf32", {x, x}).find("matrix"),
            std::string::npos);
  EXPECT_EQ(refusal(b.program), "");
  for (auto damage :
       {+[](Builder &d) { d.program.inputs[0].buffer = 8; },
        +[](Builder &d) { d.program.inputs[0].dims = kRowScalar; },
        +[](Builder &d) { d.program.inputs[2].dims = kRowBlock; },
        +[](Builder &d) { d.output(kRowBlock, "4xf32", 3, 9); },
        +[](Builder &d) { d.output(kRowBlock, "5xf32", 3, 0); },
        +[](Builder &d) {
          d.output(Dims{false, true, true}, "4xf32", 3, 0);
        }}) {
    Builder copy = b;
    damage(copy);
    EXPECT_EQ(refusal(copy.program),
              "an operand of 'p' is not what its kind says");
  }
}

} // namespace
