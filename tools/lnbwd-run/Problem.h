//===- Problem.h - What a kernel computes, and on what ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program's arguments mean: the plan says which named operation it is,
// and which argument is which of its operands. A plan that does not say so is
// run all the same, but cannot be compared with anything.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_PROBLEM_H
#define LNBWD_TOOLS_LNBWD_RUN_PROBLEM_H

#include "Options.h"

#include "lnbwd/Reference/Reference.h"
#include "lnbwd/Reference/RowProgram.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <optional>
#include <string>
#include <vector>

namespace lnbwd::run {

/// The operation that the plan names.
struct Operation {
  /// Null: the plan names none.
  const NamedOperationInfo *info = nullptr;
  bool zeroCentredGamma = false;
  /// Compiled in, where the kernel computes statistics.
  std::optional<double> epsilon;

  bool isKnown() const { return info != nullptr; }
  bool isForward() const { return info && info->isForward; }
};

struct Argument {
  std::string name;
  Element format;
  Dims dims;
  lnbwd_access access;
  int64_t rowLength = 0;
  /// From row to row; more than `rowLength` where the rows lie apart.
  int64_t rowStride = 0;
  /// Without what lies between rows.
  size_t elements = 0;
  /// With it.
  size_t bytes = 0;
  /// Which output of the operation it is.
  std::optional<Role> output;
  /// The elements of what programs write that none of them does.
  std::vector<size_t> gaps = {};
  /// The argument in whose buffer it lies (--in-place).
  std::optional<size_t> placedOver;

  /// M, B or 1.
  int64_t countRows(const struct Problem &problem) const;
  /// The operation's name of an output, or the argument's if there is none.
  std::string outputName() const {
    return output ? getInfo(*output).name : name;
  }
  bool isInput() const { return access != LNBWD_ACCESS_WRITE; }
  bool isOutput() const { return access != LNBWD_ACCESS_READ; }
};

/// One run: the sizes, the arguments in the plan's order, and the inputs.
struct Problem {
  Operation operation;
  int64_t rows = 0;
  /// Of rows, in programs that have such.
  int64_t groups = 1;
  int64_t columns = 0;
  std::vector<Argument> arguments;
  /// Which argument an operand is.
  reference::ByRole<std::optional<size_t>> operands;
  /// Contents of what is read, by argument; empty for the others.
  std::vector<std::vector<char>> contents;
  /// What the kernels compute where the plan names no operation (readPrograms),
  /// and the number of its buffers, arguments first.
  std::vector<reference::RowProgram> programs;
  size_t buffers = 0;

  bool has(Role role) const { return place(role).has_value(); }
  /// Whether the size of an argument depends on the groups of rows.
  bool hasGroups() const;
  /// The index of the argument of that role.
  std::optional<size_t> place(Role role) const { return operands[role]; }
  /// The argument of that role, or null.
  const Argument *find(Role role) const;
  /// The contents of an input; without data if there is none.
  reference::ConstArray input(Role role) const;
  /// Those of argument `index`.
  reference::ConstArray input(size_t index) const;
  /// The type of the row blocks.
  Element format() const;
  /// The fewest bytes that can be moved: every argument once, what is read and
  /// written twice.
  double minimalBytes() const;
  /// Whether argument `index` is also an output's buffer (--in-place).
  bool isOverwritten(size_t index) const;
};

/// Understands a program's arguments for M = `rows` in `groups` groups; throws
/// if the plan does not agree with itself.
Problem describeProblem(const lnbwd_program *program, int64_t rows,
                        int64_t groups);

/// Adds the row programs of `plan`, the plan's text, to the problem whose
/// arguments it describes; none if it has none. Throws a Failure that names an
/// operation which the reference does not know.
void readPrograms(const std::string &plan, Problem &problem);

/// Lays dx over dy, or the sum over the residual; throws if the kernel has no
/// such pair.
void placeInPlace(Problem &problem);

/// What the reference is asked for; the inputs are those of the problem.
reference::Inputs describeReference(const Problem &problem);

/// Throws unless the plan says what the kernel computes, so that there is
/// something to compare with.
void requireReference(const Problem &problem);

/// Fills the inputs as the options say.
void fillProblem(Problem &problem, const Options &options);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_PROBLEM_H
