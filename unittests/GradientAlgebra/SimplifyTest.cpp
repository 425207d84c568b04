//===- SimplifyTest.cpp - Random row programs in normal form --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Normalising keeps values, in float64; what is normalised stays as it is; and
// it costs no more than before.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/GradientAlgebra/Simplify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <sstream>

using namespace lnbwd;
using namespace mlir;

using Row = std::vector<double>;

/// A row program of rows of 8 elements with the operations `body`.
static std::string wrap(const std::string &body, const std::string &row,
                        const std::string &otherRow,
                        const std::string &scalar) {
  return R"(func.func @f(%fx: memref<?x8xf32>, %fc: memref<8xf32>, %fs: memref<?xf32>,
                 %fy: memref<?x8xf32>, %fz: memref<?x8xf32>, %fm: memref<?xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%fx[m, n] : memref<?x8xf32>, %fc[n] : memref<8xf32>, %fs[m] : memref<?xf32>)
      outs(%fy[m, n] : memref<?x8xf32>, %fz[m, n] : memref<?x8xf32>, %fm[m] : memref<?xf32>)
      attributes {operand_names = ["x", "c", "s", "y", "z", "m"]} {
  ^row(%x: vector<8xf32>, %c: vector<8xf32>, %s: f32):
    %over_n = arith.constant 0.125 : f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant dense<1.0> : vector<8xf32>
    %two = arith.constant dense<-2.0> : vector<8xf32>
)" + body +
         "    lnbwd.yield " + row + ", " + otherRow + ", " + scalar +
         R"( : vector<8xf32>, vector<8xf32>, f32
  }
  return
}
)";
}

namespace {
/// A random straight-line program over two rows and a scalar, written for rows
/// of 8 elements; `text` gives it for others.
class Program {
public:
  explicit Program(unsigned seed) : random(seed) {
    unsigned count = 4 + choose(20);
    while (next < count)
      addOperation();
  }

  std::string text(int length) const {
    std::string text = textOfEight();
    replaceAll(text, "8xf32", std::to_string(length) + "xf32");
    replaceAll(text, "0.125", std::to_string(1.0 / length));
    return text;
  }

private:
  static void replaceAll(std::string &text, const std::string &part,
                         const std::string &other) {
    for (size_t at = text.find(part); at != std::string::npos;
         at = text.find(part, at + other.size()))
      text.replace(at, part.size(), other);
  }
  std::string textOfEight() const {
    std::string rowOut = rows.back(), scalarOut = scalars.back();
    return wrap(body.str(), rowOut, rows[rows.size() / 2], scalarOut);
  }
  unsigned choose(unsigned count) { return unsigned(random() % count); }
  std::string row() { return rows[choose(unsigned(rows.size()))]; }
  std::string scalar() { return scalars[choose(unsigned(scalars.size()))]; }
  std::string emit(std::vector<std::string> &list, const std::string &text,
                   const char *type) {
    std::string name = "%v" + std::to_string(next++);
    body << "    " << name << " = " << text << " : " << type << "\n";
    list.push_back(name);
    return name;
  }
  std::string emitRow(const std::string &text) {
    return emit(rows, text, "vector<8xf32>");
  }
  std::string emitScalar(const std::string &text) {
    return emit(scalars, text, "f32");
  }
  std::string sum(const std::string &row) {
    return emit(scalars, "vector.reduction <add>, " + row,
                "vector<8xf32> into f32");
  }
  std::string spread(const std::string &scalar) {
    return emit(rows, "vector.broadcast " + scalar, "f32 to vector<8xf32>");
  }
  std::string tanh(const std::string &row) {
    return emitRow("math.tanh " + row);
  }
  void addOperation() {
    switch (choose(14)) {
    case 0:
      emitRow("arith.addf " + row() + ", " + row());
      break;
    case 1:
      emitRow("arith.subf " + row() + ", " + row());
      break;
    case 2:
      // Kept small: a product of what is bounded.
      emitRow("arith.mulf " + row() + ", " + tanh(row()));
      break;
    case 3:
      emitRow("vector.fma " + row() + ", " + tanh(row()) + ", " + row());
      break;
    case 4:
      emitRow("arith.negf " + row());
      break;
    case 5:
      emitRow("arith.mulf " + row() + ", %two");
      break;
    case 6:
      emitRow("arith.mulf " + row() + ", " + spread(scalar()));
      break;
    case 7:
      emitScalar("arith.mulf " + sum(row()) + ", %over_n");
      break;
    case 8:
      emitScalar("arith.mulf " + scalar() + ", " + scalar());
      break;
    case 9:
      emitScalar("arith.addf " + scalar() + ", " + scalar());
      break;
    case 10: {
      // A positive divisor.
      std::string a = tanh(row());
      std::string square = emitRow("arith.mulf " + a + ", " + a);
      emitRow("arith.divf " + row() + ", " +
              emitRow("arith.addf " + square + ", %one"));
      break;
    }
    case 11: {
      std::string a = row();
      std::string mean = emitScalar("arith.mulf " + sum(a) + ", %over_n");
      emitRow("arith.subf " + a + ", " + spread(mean));
      normalise(rows.back());
      break;
    }
    case 12:
      normalise(row());
      break;
    default:
      tanh(row());
    }
  }
  void normalise(std::string row) {
    std::string square = emitRow("arith.mulf " + row + ", " + row);
    std::string mean = emitScalar("arith.mulf " + sum(square) + ", %over_n");
    std::string moved = emitScalar("arith.addf " + mean + ", %half");
    std::string root = emitScalar("math.rsqrt " + moved);
    emitRow("arith.mulf " + row + ", " + spread(root));
  }

  std::mt19937 random;
  unsigned next = 0;
  std::ostringstream body;
  std::vector<std::string> rows{"%x", "%c"}, scalars{"%s"};
};
} // namespace

/// What the region of a row program computes, in float64; a scalar is a row
/// with it in all places.
static std::vector<Row> evaluate(RowwiseOp op, ArrayRef<Row> inputs) {
  const int length = int(op.getRowLength());
  llvm::DenseMap<Value, Row> values;
  Block &body = op.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
    values[argument] = input;
  for (Operation &bodyOp : body.without_terminator()) {
    SmallVector<Row> operands;
    for (Value operand : bodyOp.getOperands())
      operands.push_back(values[operand]);
    Row result(length);
    APFloat number(0.0f);
    for (int i = 0; i < length; ++i) {
      auto get = [&](unsigned operand) { return operands[operand][i]; };
      if (matchPattern(&bodyOp, m_ConstantFloat(&number)))
        result[i] = number.convertToFloat();
      else if (isa<arith::AddFOp>(bodyOp))
        result[i] = get(0) + get(1);
      else if (isa<arith::SubFOp>(bodyOp))
        result[i] = get(0) - get(1);
      else if (isa<arith::MulFOp>(bodyOp))
        result[i] = get(0) * get(1);
      else if (isa<arith::DivFOp>(bodyOp))
        result[i] = get(0) / get(1);
      else if (isa<arith::NegFOp>(bodyOp))
        result[i] = -get(0);
      else if (isa<vector::FMAOp>(bodyOp))
        result[i] = get(0) * get(1) + get(2);
      else if (isa<vector::BroadcastOp>(bodyOp))
        result[i] = get(0);
      else if (isa<vector::ExtractOp>(bodyOp) && length == 1)
        result[i] = get(0);
      else if (isa<vector::ReductionOp>(bodyOp))
        result[i] = std::accumulate(operands[0].begin(), operands[0].end(), 0.);
      else if (isa<math::TanhOp>(bodyOp))
        result[i] = std::tanh(get(0));
      else if (isa<math::RsqrtOp>(bodyOp))
        result[i] = 1 / std::sqrt(get(0));
      else
        ADD_FAILURE() << "no value of "
                      << bodyOp.getName().getStringRef().str();
    }
    values[bodyOp.getResult(0)] = result;
  }
  std::vector<Row> outputs;
  for (Value output : body.getTerminator()->getOperands())
    outputs.push_back(values[output]);
  return outputs;
}

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

namespace {
class RowProgramTest : public testing::Test {
protected:
  RowProgramTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, memref::MemRefDialect,
                        vector::VectorDialect, LNBwdDialect>();
  }
  RowwiseOp parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    RowwiseOp found;
    if (module)
      module->walk([&](RowwiseOp op) { found = op; });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// By the row's length, and which programs.
class RowAlgebraTest
    : public RowProgramTest,
      public testing::WithParamInterface<std::tuple<int, unsigned>> {};
} // namespace

TEST_P(RowAlgebraTest, KeepsValuesAndStays) {
  // Some programs each, so that a test is not over before it has begun.
  constexpr unsigned programs = 25;
  auto [length, part] = GetParam();
  for (unsigned seed = programs * part; seed < programs * (part + 1); ++seed) {
    std::string text = Program(seed).text(length);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    RowwiseOp op = parse(text);
    ASSERT_TRUE(op);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<Row> inputs;
    for (unsigned i = 0; i < 3; ++i) {
      Row input(length);
      for (double &element : input)
        element = i == 2 ? input[0] : normal(random);
      if (i == 2)
        input.assign(length, normal(random));
      inputs.push_back(input);
    }
    RowSimplifier simplifier(&context);
    simplifier.canonicalize(op);
    std::vector<Row> expected = evaluate(op, inputs);
    unsigned cost = getRowCost(op);
    simplifier.normalize(op);
    ASSERT_TRUE(succeeded(verify(op)));
    EXPECT_LE(getRowCost(op), cost);
    std::vector<Row> actual = evaluate(op, inputs);
    for (auto [before, after] : llvm::zip(expected, actual))
      for (int i = 0; i < length; ++i) {
        // Constants are of float32 when they are written, and powers of two
        // here but for products of many.
        double size = 1;
        for (double element : before)
          size = std::max(size, std::abs(element));
        EXPECT_NEAR(before[i], after[i], 1e-6 * size) << print(op);
      }
    std::string once = print(op);
    simplifier.normalize(op);
    EXPECT_EQ(once, print(op));
  }
}

/// Atoms that contain one another as deep as the program is long.
TEST_F(RowProgramTest, LongOnesAreNormalised) {
  constexpr unsigned layers = 100;
  std::string body;
  llvm::raw_string_ostream stream(body);
  std::string last = "%x";
  for (unsigned i = 0; i < layers; ++i) {
    std::string n = std::to_string(i), row = " : vector<8xf32>\n";
    stream << "%t" << n << " = math.tanh " << last << row << "%p" << n
           << " = arith.mulf %t" << n << ", %c" << row << "%q" << n
           << " = arith.mulf %p" << n << ", " << last << row << "%r" << n
           << " = arith.addf %q" << n << ", " << last << row << "%s" << n
           << " = vector.reduction <add>, %r" << n
           << " : vector<8xf32> into f32\n"
           << "%m" << n << " = arith.mulf %s" << n << ", %over_n : f32\n"
           << "%b" << n << " = vector.broadcast %m" << n
           << " : f32 to vector<8xf32>\n"
           << "%d" << n << " = arith.subf %r" << n << ", %b" << n << row;
    last = "%d" + n;
  }
  RowwiseOp op = parse(wrap(body, last, last, "%s"));
  ASSERT_TRUE(op);
  RowSimplifier simplifier(&context);
  simplifier.canonicalize(op);
  unsigned cost = getRowCost(op);
  simplifier.normalize(op);
  EXPECT_TRUE(succeeded(verify(op)));
  EXPECT_LE(getRowCost(op), cost);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowAlgebraTest,
                         testing::Combine(testing::Values(8),
                                          testing::Range(0u, 20u)));
INSTANTIATE_TEST_SUITE_P(RowsOfOneElement, RowAlgebraTest,
                         testing::Combine(testing::Values(1),
                                          testing::Range(0u, 8u)));
