//===- ProblemInputs.cpp - The inputs of a problem ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills each input by its role, or by what the program does with it.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "Problem.h"

#include <algorithm>

namespace lnbwd::run {

/// The role by which an argument is filled.
static std::optional<Role> roleOf(const Problem &problem, size_t index) {
  // The first, where an argument is several operands.
  for (size_t i = 0; i < kRoleCount; ++i)
    if (problem.place(static_cast<Role>(i)) == index)
      return static_cast<Role>(i);
  return std::nullopt;
}

/// The inputs of a gradient that its forward pass puts out.
static std::vector<Role> derivedRoles(const Problem &problem) {
  std::vector<Role> roles;
  if (!problem.operation.isKnown() || problem.operation.isForward())
    return roles;
  for (const OperandInfo &operand :
       getInfo(*problem.operation.info->counterpart))
    if (const Argument *argument = problem.find(operand.role);
        operand.isOutput && argument && argument->isInput())
      roles.push_back(operand.role);
  return roles;
}

/// Fills those, from an x that need not be an argument of the kernel.
static void fillDerived(Problem &problem, const std::vector<Role> &roles,
                        const Options &options) {
  std::vector<char> otherX;
  reference::Inputs forward = describeReference(problem);
  forward.operation = *problem.operation.info->counterpart;
  forward.epsilon = options.epsilon;
  forward.inFloat32 = false;
  reference::ConstArray &x = forward.arrays[Role::X];
  if (!x.data) {
    otherX.resize(static_cast<size_t>(problem.rows) * problem.columns *
                  getInfo(problem.format()).bytes);
    fillInput(options.init, options.seed, Role::X, problem.format(),
              problem.rows, problem.columns, otherX.data());
    x = {problem.format(), otherX.data()};
  }
  evaluate(forward,
           [&](unsigned, int64_t row, const reference::RowOutputs &outputs) {
             for (Role role : roles) {
               const Argument &argument = *problem.find(role);
               char *contents = problem.contents[*problem.place(role)].data();
               const std::vector<double> &values = outputs[role];
               for (size_t j = 0; j < values.size(); ++j)
                 reference::storeElement(
                     argument.format, contents,
                     static_cast<size_t>(row * argument.rowStride) + j,
                     static_cast<float>(values[j]));
             }
           });
}

/// The rows of the smallest table into which argument `index` has indices; 0 if
/// there is none.
static uint64_t countTableRows(const Problem &problem, size_t index) {
  int64_t rows = 0;
  for (const reference::RowProgram &program : problem.programs)
    for (const reference::RowOperation &operation : program.operations) {
      if (operation.name != "lnbwd.gather")
        continue;
      size_t value = operation.operands[1];
      if (value >= program.inputs.size() ||
          program.inputs[value].buffer != index)
        continue;
      int64_t own = program.inputs[operation.operands[0]].type.shape[0];
      rows = rows ? std::min(rows, own) : own;
    }
  return static_cast<uint64_t>(rows);
}

void fillProblem(Problem &problem, const Options &options) {
  problem.contents.resize(problem.arguments.size());
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument &argument = problem.arguments[i];
    if (!argument.isInput())
      continue;
    problem.contents[i].resize(argument.bytes);
    fillGaps(argument.format, argument.rowLength, argument.rowStride,
             problem.contents[i]);
    // How long a kernel takes depends on indices alone.
    if (options.predict && getInfo(argument.format).use != ElementUse::Integer)
      continue;
    FillOptions fill;
    fill.stride = argument.rowStride;
    fill.place = i;
    fill.tableRows = countTableRows(problem, i);
    fill.gammaCentre = problem.operation.zeroCentredGamma ? 0 : 1;
    fill.nonFinite = problem.operation.isForward() ? Role::X : Role::Dy;
    fillInput(options.init, options.seed, roleOf(problem, i), argument.format,
              argument.countRows(problem), argument.rowLength,
              problem.contents[i].data(), fill);
  }
  std::vector<Role> derived = derivedRoles(problem);
  if (!derived.empty() && !options.predict)
    fillDerived(problem, derived, options);
}

} // namespace lnbwd::run
