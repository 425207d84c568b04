//===- RowProgram.h - Row programs in float64 -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers, types and operations that row programs consist of, and what
// interprets those of a launch plan (docs/runtime.md, `program`), operation by
// operation. Each number has a bound of the error that float32 arithmetic may
// have made on the way to it (docs/numerics.md), so that the result says itself
// how near a kernel has to come.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_ROWPROGRAM_H
#define LNBWD_REFERENCE_ROWPROGRAM_H

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Reference/Reference.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lnbwd::reference {

/// A number, of integers without a sign, and how far from it float32 arithmetic
/// may end up. Without a bound where it is infinite: a result that is beyond
/// float32, or depends on a condition that a rounding decides.
struct Bounded {
  double value = 0;
  double error = 0;

  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
};

/// The type of a value: of a scalar, a row, or a matrix. A scalar is no row of
/// length 1.
struct ValueType {
  Element element = Element::F32;
  /// None, N, or R and C.
  std::vector<int64_t> shape;

  int64_t size() const;
  bool operator==(const ValueType &other) const {
    return element == other.element && shape == other.shape;
  }
};

/// "f32", "512xbf16", "96x64xf32"; nothing if it is no such text, or of more
/// than 2^40 elements.
std::optional<ValueType> parseValueType(const std::string &text);

/// What an operation's name and type do not say of it.
struct OperationAttributes {
  /// Of a constant.
  double value = 0;
  /// Of a reduction: "add"; of a comparison: "olt"; of an index: the number
  /// that it is made of.
  std::string choice;
  /// Computed less exactly, as the flag `afn` allows.
  bool approximate = false;
  /// Of a product with a matrix.
  bool transposed = false;
  /// Of an index: what that number is divided by, and modulo what, if not 0. Of
  /// blocks how far their elements are apart, and how many they are.
  int64_t divisor = 1, modulus = 0;
};

/// One operation of a program, whose result is a value of `type`.
struct RowOperation {
  std::string name;
  ValueType type;
  /// The values that it takes, by their numbers: the program's inputs first,
  /// then the operations' results.
  std::vector<size_t> operands;
  OperationAttributes attributes;
};

/// The rounding of float32: 2^-24.
constexpr double kRoundoff = 0x1p-24;

/// Computes one element of `operation` from those of its operands.
using Elementwise = Bounded (*)(const Bounded *x,
                                const RowOperation &operation);

/// An elementwise operation.
struct ElementwiseOperation {
  const char *name;
  size_t operands;
  Elementwise compute;
  /// Conditions and bytes, not floats.
  bool takesIntegers = false;
  /// Of those, only integers of 32 bits.
  bool takesNumbers = false;
};

/// The operation of that name, or null.
const ElementwiseOperation *findElementwise(const std::string &name);

/// Whether `operation` compares integers with their signs.
bool isSigned(const RowOperation &operation);

/// An integer of 32 bits, which has no sign here, with its sign.
double toSigned(double value);

/// Whether `operation`, a comparison, has a predicate that is known.
bool hasKnownPredicate(const RowOperation &operation);

/// A result with the bound of its error. Beyond float32 there is no bound,
/// unless one of the `count` operands is infinite or NaN for certain.
Bounded settle(double value, double error, const Bounded *x, size_t count);

/// A number divided by `divisor`, modulo `modulus` if that is not 0, times
/// `factor`.
struct PlaceTerm {
  int64_t divisor = 1, modulus = 0, factor = 1, shift = 0, wrap = 0;
};

/// The sum of `terms` for `number`; that itself where there are none.
int64_t locate(const std::vector<PlaceTerm> &terms, int64_t number);

/// An input or output of a program. An output that lacks rows is a sum over
/// them.
struct ProgramOperand {
  Dims dims = kRowBlock;
  ValueType type;
  /// The buffer that it is: arguments come first, then what the function
  /// allocates.
  size_t buffer = 0;
  /// Of an output: the value.
  size_t value = 0;
  /// Of one that lacks rows: it is the largest of them, and no sum.
  bool isMaximum = false;
  /// It is a sum although `row` says which one a row belongs to.
  bool isSum = false;
  /// Where a row of the program begins in it, which is then one row of all its
  /// elements, and the column that a column has, as sums; the same number where
  /// there are no terms.
  std::vector<PlaceTerm> row = {}, column = {};
  /// The elements of a row of its own, if they are not those of `type`.
  std::optional<int64_t> ownLength = {};

  bool isMatrix() const { return type.shape.size() == 2; }
  /// Whether it lacks rows, and does not say where each begins, or is a sum.
  bool lacksRows() const {
    return !dims.hasRows && (row.empty() || isMaximum || isSum);
  }
  int64_t rowLength() const { return ownLength.value_or(type.size()); }
};

/// One row program.
struct RowProgram {
  std::string name;
  std::vector<ProgramOperand> inputs, outputs;
  std::vector<RowOperation> operations;
  /// Sums are added to what their outputs hold.
  bool accumulate = false;
  /// It has `times` rows for `over` of the launch.
  int64_t times = 1, over = 1;
  /// The number of its rows where no launch chooses it.
  std::optional<int64_t> ownRows;
};

/// Throws std::invalid_argument with words for people if `program` has an
/// operation that this file does not know, or one whose operands are not what
/// it takes; `interpret` expects that it has not. `buffers` is the number of
/// buffers.
void checkRowProgram(const RowProgram &program, size_t buffers);

/// Of each value, whether it is a matrix of which each row takes one row.
std::vector<bool> findTables(const RowProgram &program);

/// What the programs of one function are run on.
struct ProgramInputs {
  int64_t rows = 0;
  int64_t groups = 1;
  /// The function's arguments, without data where they are not read, and after
  /// them what it allocates.
  std::vector<ConstArray> buffers;
  size_t arguments = 0;
};

/// Takes an element of an argument as the last program to write it leaves it,
/// by its number where rows are dense. Where it is rounded to its type, what is
/// rounded is handed over. Called from several threads at once, each with its
/// own `worker` number (workerCount of Parallel.h).
using ElementConsumer = std::function<void(
    unsigned worker, size_t argument, size_t element, const Bounded &value)>;

/// Runs the programs one after the other. Throws std::invalid_argument if one
/// reads more of a buffer than was written to it, or has groups of rows of
/// which the rows are no multiple.
void interpret(const std::vector<RowProgram> &programs,
               const ProgramInputs &inputs, const ElementConsumer &consumer);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_ROWPROGRAM_H
