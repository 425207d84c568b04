//===- RowProgram.h - Row programs in float64 -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interprets the row programs of a launch plan (docs/runtime.md, `program`),
// operation by operation. Each number has a bound of the error that float32
// arithmetic may have made on the way to it (docs/numerics.md), so that the
// result says itself how near a kernel has to come.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_ROWPROGRAM_H
#define LNBWD_REFERENCE_ROWPROGRAM_H

#include "lnbwd/Operations/Operations.h"
#include "lnbwd/Reference/Reference.h"
#include "lnbwd/Reference/RowOperation.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lnbwd::reference {

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
  /// Where a row of the program begins in it, which is then one row of all its
  /// elements, and the column that a column has, as sums; the same number where
  /// there are no terms.
  std::vector<PlaceTerm> row = {}, column = {};
  /// The elements of a row of its own, if they are not those of `type`.
  std::optional<int64_t> ownLength = {};

  bool isMatrix() const { return type.shape.size() == 2; }
  /// Whether it lacks rows, and does not say where each begins.
  bool lacksRows() const { return !dims.hasRows && row.empty(); }
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
