//===- Problem.cpp - The kernel as LayerNorm backward ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

#include "Handles.h"

#include <array>
#include <cstring>

using lnbwd::reference::ConstArray;
using lnbwd::reference::FloatFormat;

namespace lnbwd::run {

namespace {

struct RoleDescription {
  Role role;
  const char *name;
  lnbwd_argument_kind kind;
  lnbwd_access access;
};

constexpr std::array<RoleDescription, 8> kRoles = {{
    {Role::Dy, "dy", LNBWD_ARGUMENT_ROW_BLOCK, LNBWD_ACCESS_READ},
    {Role::X, "x", LNBWD_ARGUMENT_ROW_BLOCK, LNBWD_ACCESS_READ},
    {Role::Gamma, "gamma", LNBWD_ARGUMENT_COLUMN, LNBWD_ACCESS_READ},
    {Role::Mean, "mean", LNBWD_ARGUMENT_ROW_SCALAR, LNBWD_ACCESS_READ},
    {Role::Rstd, "rstd", LNBWD_ARGUMENT_ROW_SCALAR, LNBWD_ACCESS_READ},
    {Role::Dx, "dx", LNBWD_ARGUMENT_ROW_BLOCK, LNBWD_ACCESS_WRITE},
    {Role::Dgamma, "dgamma", LNBWD_ARGUMENT_COLUMN, LNBWD_ACCESS_WRITE},
    {Role::Dbeta, "dbeta", LNBWD_ARGUMENT_COLUMN, LNBWD_ACCESS_WRITE},
}};

} // namespace

[[noreturn]] static void unexpected(const std::string &message) {
  throw Failure(BadInput, "the kernel is not a LayerNorm backward that this "
                          "program can run: " +
                              message);
}

static FloatFormat formatOf(lnbwd_element element) {
  switch (element) {
  case LNBWD_ELEMENT_F16:
    return FloatFormat::F16;
  case LNBWD_ELEMENT_BF16:
    return FloatFormat::BF16;
  case LNBWD_ELEMENT_F32:
    break;
  }
  return FloatFormat::F32;
}

static Argument describeArgument(const lnbwd_argument_info &info) {
  for (const RoleDescription &role : kRoles) {
    if (std::strcmp(role.name, info.name) != 0)
      continue;
    if (role.kind != info.kind || role.access != info.access)
      unexpected("argument '" + std::string(info.name) +
                 "' has another shape or direction than in layer_norm_bwd");
    FloatFormat format = formatOf(info.element);
    if (info.kind == LNBWD_ARGUMENT_ROW_SCALAR && format != FloatFormat::F32)
      unexpected("argument '" + std::string(info.name) + "' is " +
                 reference::formatName(format) + ", expected f32");
    return {role.role, info.name, format, info.kind, 0, 0};
  }
  unexpected("it has an argument '" + std::string(info.name) +
             "'; known are dy, x, gamma, mean, rstd, dx, dgamma, dbeta");
}

const Argument *Problem::find(Role role) const {
  for (const Argument &argument : arguments)
    if (argument.role == role)
      return &argument;
  return nullptr;
}

ConstArray Problem::input(Role role) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].role == role)
      return {arguments[i].format, contents[i].data()};
  return {};
}

ConstArray Problem::xOrDy() const {
  return input(find(Role::X) ? Role::X : Role::Dy);
}

double Problem::minimalBytes() const {
  double bytes = 0;
  for (const Argument &argument : arguments)
    bytes += static_cast<double>(argument.bytes);
  return bytes;
}

Problem describeProblem(const lnbwd_program *program, int64_t rows) {
  Problem problem;
  problem.rows = rows;
  for (size_t i = 0; i < lnbwd_program_argument_count(program); ++i) {
    lnbwd_argument_info info;
    check(lnbwd_program_argument(program, i, &info));
    Argument argument = describeArgument(info);
    check(lnbwd_program_argument_size(program, i, rows, &argument.bytes));
    argument.elements = argument.bytes / formatSize(argument.format);
    problem.arguments.push_back(argument);
    if (info.kind == LNBWD_ARGUMENT_ROW_SCALAR)
      continue;
    if (problem.columns != 0 && problem.columns != info.row_length)
      unexpected("argument '" + std::string(info.name) + "' has rows of " +
                 std::to_string(info.row_length) + " elements, others of " +
                 std::to_string(problem.columns));
    problem.columns = info.row_length;
  }
  bool needsX = problem.find(Role::Dx) || problem.find(Role::Dgamma);
  if (!needsX && !problem.find(Role::Dbeta))
    unexpected("it computes none of dx, dgamma, dbeta");
  if (!problem.find(Role::Dy))
    unexpected("it has no argument 'dy'");
  if (needsX && !problem.find(Role::X))
    unexpected("it has no argument 'x', which dx and dgamma need");
  // RMSNorm's gradient has arguments of the same names, but no mean.
  if (needsX && (!problem.find(Role::Mean) || !problem.find(Role::Rstd)))
    unexpected("it does not take 'mean' and 'rstd', with which the reference "
               "computes; test/EndToEnd/family.py verifies RMSNorm and "
               "gradients with recomputed statistics");
  return problem;
}

void fillProblem(Problem &problem, const Options &options) {
  problem.contents.resize(problem.arguments.size());
  problem.mean.resize(problem.rows);
  problem.rstd.resize(problem.rows);
  auto fill = [&](size_t i, Input input, int64_t rows) {
    fillInput(options.init, options.seed, input, problem.arguments[i].format,
              rows, problem.columns, problem.contents[i].data());
  };
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument &argument = problem.arguments[i];
    if (argument.isOutput())
      continue;
    problem.contents[i].resize(argument.bytes);
    if (argument.role == Role::Dy)
      fill(i, Input::Dy, problem.rows);
    else if (argument.role == Role::X)
      fill(i, Input::X, problem.rows);
    else if (argument.role == Role::Gamma)
      fill(i, Input::Gamma, 1);
  }
  reference::computeStatistics(problem.xOrDy(), problem.rows, problem.columns,
                               options.epsilon, problem.mean.data(),
                               problem.rstd.data());
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    Role role = problem.arguments[i].role;
    if (role != Role::Mean && role != Role::Rstd)
      continue;
    const std::vector<float> &values =
        role == Role::Mean ? problem.mean : problem.rstd;
    if (!values.empty())
      std::memcpy(problem.contents[i].data(), values.data(),
                  problem.contents[i].size());
  }
}

} // namespace lnbwd::run
