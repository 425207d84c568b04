//===- Problem.h - The kernel as LayerNorm backward -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program's arguments mean: the runner knows them by the names that the
// plan gives them, and any but the inputs that a result needs may be absent.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_PROBLEM_H
#define LNBWD_TOOLS_LNBWD_RUN_PROBLEM_H

#include "Options.h"

#include "lnbwd/Reference/LayerNormBackward.h"
#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <string>
#include <vector>

namespace lnbwd::run {

/// What an argument is.
enum class Role { Dy, X, Gamma, Mean, Rstd, Dx, Dgamma, Dbeta };

struct Argument {
  Role role;
  std::string name;
  reference::FloatFormat format;
  lnbwd_argument_kind kind;
  size_t elements;
  size_t bytes;

  bool isOutput() const { return role >= Role::Dx; }
};

/// One run: the sizes, the arguments in the plan's order, and the inputs.
struct Problem {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<Argument> arguments;
  /// Contents of the inputs, by argument; empty for outputs.
  std::vector<std::vector<char>> contents;
  /// mean and rstd, which the reference needs whether the kernel does or not.
  std::vector<float> mean;
  std::vector<float> rstd;

  /// The argument of that role, or null.
  const Argument *find(Role role) const;
  /// The contents of an input; without data if there is none.
  reference::ConstArray input(Role role) const;
  /// x; for a kernel of dbeta alone, which takes none, dy in its place.
  reference::ConstArray xOrDy() const;
  /// The type of the row blocks.
  reference::FloatFormat format() const { return xOrDy().format; }
  /// The fewest bytes that can be moved: every argument once.
  double minimalBytes() const;
};

/// Understands a program's arguments for M = `rows`; throws if they are not
/// those of LayerNorm backward.
Problem describeProblem(const lnbwd_program *program, int64_t rows);

/// Fills the inputs as the options say.
void fillProblem(Problem &problem, const Options &options);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_PROBLEM_H
