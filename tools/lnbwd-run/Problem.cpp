//===- Problem.cpp - What a kernel computes, and on what ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

#include "Handles.h"

#include <algorithm>
#include <cstring>

using lnbwd::reference::ConstArray;
using lnbwd::reference::FloatFormat;

namespace lnbwd::run {

namespace {

struct RoleDescription {
  const char *name;
  lnbwd_argument_kind kind;
};

/// By role.
constexpr std::array<RoleDescription, kRoleCount> kRoles = {{
    {"dy", LNBWD_ARGUMENT_ROW_BLOCK},
    {"x", LNBWD_ARGUMENT_ROW_BLOCK},
    {"y", LNBWD_ARGUMENT_ROW_BLOCK},
    {"residual", LNBWD_ARGUMENT_ROW_BLOCK},
    {"gamma", LNBWD_ARGUMENT_COLUMN},
    {"beta", LNBWD_ARGUMENT_COLUMN},
    {"mean", LNBWD_ARGUMENT_ROW_SCALAR},
    {"rstd", LNBWD_ARGUMENT_ROW_SCALAR},
    {"dsum", LNBWD_ARGUMENT_ROW_BLOCK},
    {"sum", LNBWD_ARGUMENT_ROW_BLOCK},
    {"dx", LNBWD_ARGUMENT_ROW_BLOCK},
    {"dresidual", LNBWD_ARGUMENT_ROW_BLOCK},
    {"dgamma", LNBWD_ARGUMENT_COLUMN},
    {"dbeta", LNBWD_ARGUMENT_COLUMN},
}};

struct KnownOperation {
  const char *name;
  bool isForward;
  bool hasMean;
};

constexpr std::array<KnownOperation, 4> kOperations = {{
    {"layer_norm", true, true},
    {"rms_norm", true, false},
    {"layer_norm_bwd", false, true},
    {"rms_norm_bwd", false, false},
}};

} // namespace

[[noreturn]] static void unexpected(const std::string &message) {
  throw Failure(BadInput, "the launch plan contradicts itself: " + message +
                              "; compile the kernel again");
}

static FloatFormat formatOf(lnbwd_element element) {
  switch (element) {
  case LNBWD_ELEMENT_F16:
    return FloatFormat::F16;
  case LNBWD_ELEMENT_BF16:
    return FloatFormat::BF16;
  case LNBWD_ELEMENT_I8:
    return FloatFormat::I8;
  case LNBWD_ELEMENT_F32:
    break;
  }
  return FloatFormat::F32;
}

const char *roleName(Role role) {
  return kRoles[static_cast<size_t>(role)].name;
}

int64_t Argument::countRows(const Problem &problem) const {
  switch (kind) {
  case LNBWD_ARGUMENT_COLUMN:
    return 1;
  case LNBWD_ARGUMENT_GROUP_COLUMN:
    return problem.groups;
  case LNBWD_ARGUMENT_ROW_BLOCK:
  case LNBWD_ARGUMENT_ROW_SCALAR:
    break;
  }
  return problem.rows;
}

const Argument *Problem::find(Role role) const {
  return has(role) ? &arguments[*place(role)] : nullptr;
}

ConstArray Problem::input(Role role) const {
  std::optional<size_t> index = place(role);
  if (!index || !arguments[*index].isInput())
    return {};
  const Argument &argument = arguments[*index];
  // An empty vector may have no data, but the operand is there.
  static const char none[4] = {};
  const char *data = contents[*index].empty() ? none : contents[*index].data();
  return {argument.format, data,
          argument.kind == LNBWD_ARGUMENT_ROW_BLOCK ? argument.rowStride : 0};
}

FloatFormat Problem::format() const {
  for (Role role : {Role::X, Role::Dy})
    if (const Argument *argument = find(role))
      return argument->format;
  for (const Argument &argument : arguments)
    if (argument.kind == LNBWD_ARGUMENT_ROW_BLOCK)
      return argument.format;
  return FloatFormat::F32;
}

double Problem::minimalBytes() const {
  double bytes = 0;
  for (const Argument &argument : arguments) {
    double size = static_cast<double>(argument.elements) *
                  static_cast<double>(formatSize(argument.format));
    bytes += argument.access == LNBWD_ACCESS_READ_WRITE ? 2 * size : size;
  }
  return bytes;
}

bool Problem::isOverwritten(size_t index) const {
  // NOLINTNEXTLINE(llvm-use-ranges): the runner is free of LLVM.
  return std::any_of(
      arguments.begin(), arguments.end(),
      [&](const Argument &argument) { return argument.placedOver == index; });
}

/// Which operation it is; with a name that this program does not know it is as
/// unknown as without any.
static Operation describeOperation(const lnbwd_operation_info &info) {
  Operation operation;
  for (const KnownOperation &known : kOperations)
    if (info.name && std::strcmp(known.name, info.name) == 0) {
      operation.name = known.name;
      operation.isForward = known.isForward;
      operation.hasMean = known.hasMean;
      operation.zeroCentredGamma = info.zero_centred_gamma != 0;
      if (info.epsilon >= 0)
        operation.epsilon = info.epsilon;
    }
  return operation;
}

/// Whether the operand is an output of the operation.
static bool isOutputOf(const Operation &operation, Role role) {
  switch (role) {
  case Role::Y:
  case Role::Mean:
  case Role::Rstd:
    return operation.isForward;
  default:
    return role >= Role::Sum;
  }
}

/// Notes which argument operand `index` of the operation is.
static void describeOperand(const lnbwd_program *program, size_t index,
                            Problem &problem) {
  const char *name = nullptr;
  size_t place = 0;
  check(lnbwd_program_operand(program, index, &name, &place));
  // NOLINTNEXTLINE(llvm-use-ranges): the runner is free of LLVM.
  const auto *found = std::find_if(kRoles.begin(), kRoles.end(),
                                   [&](const RoleDescription &role) {
                                     return std::strcmp(role.name, name) == 0;
                                   });
  if (found == kRoles.end())
    unexpected(problem.operation.name + " has no operand '" + name + "'");
  auto role = static_cast<Role>(found - kRoles.begin());
  Argument &argument = problem.arguments[place];
  const std::string who = "argument '" + argument.name + "', the operand '" +
                          name + "' of " + problem.operation.name + ",";
  if (argument.kind != found->kind)
    unexpected(who + " has another shape than that operand");
  bool isOutput = isOutputOf(problem.operation, role);
  if (isOutput ? !argument.isOutput() : !argument.isInput())
    unexpected(who + " is not " + (isOutput ? "written" : "read"));
  if (isOutput && argument.output)
    unexpected(who + " is the output '" + roleName(*argument.output) + "' too");
  if (argument.kind == LNBWD_ARGUMENT_ROW_SCALAR &&
      argument.format != FloatFormat::F32)
    unexpected(who + " is " + reference::formatName(argument.format) +
               ", expected f32");
  if (isOutput)
    argument.output = role;
  problem.operands[static_cast<size_t>(role)] = place;
}

/// Whether the operands are those from which a reference can compute.
static void checkOperands(const Problem &problem) {
  const Operation &operation = problem.operation;
  auto require = [&](bool holds, const std::string &what) {
    if (!holds)
      unexpected(operation.name + " " + what);
  };
  for (const Argument &argument : problem.arguments)
    require(!argument.isOutput() || argument.output,
            "has no output that argument '" + argument.name +
                "' could be, and the kernel writes it");
  if (operation.isForward) {
    require(problem.has(Role::X), "has no operand 'x'");
    require(operation.epsilon.has_value(), "has no epsilon");
    return;
  }
  require(problem.has(Role::Dy), "has no operand 'dy'");
  // Of the column sums, dbeta alone needs dy and nothing else.
  if (!problem.has(Role::Dx) && !problem.has(Role::Dresidual) &&
      !problem.has(Role::Dgamma))
    return;
  require(problem.has(Role::X) != problem.has(Role::Y),
          "has to have either 'x' or 'y'");
  bool isSaved = problem.has(Role::Rstd);
  require(isSaved || problem.has(Role::X), "has 'y' without 'rstd'");
  require(!isSaved || !operation.hasMean || problem.has(Role::Y) ||
              problem.has(Role::Mean),
          "has 'rstd' without 'mean'");
  require(isSaved || operation.epsilon, "has neither 'rstd' nor an epsilon");
}

Problem describeProblem(const lnbwd_program *program, int64_t rows,
                        int64_t groups) {
  Problem problem;
  problem.rows = rows;
  problem.groups = groups;
  for (size_t i = 0; i < lnbwd_program_argument_count(program); ++i) {
    lnbwd_argument_info info;
    check(lnbwd_program_argument(program, i, &info));
    Argument argument;
    argument.name = info.name;
    argument.format = formatOf(info.element);
    argument.kind = info.kind;
    argument.access = info.access;
    argument.rowLength = info.row_length;
    check(lnbwd_program_argument_row_stride(program, i, &argument.rowStride));
    check(lnbwd_program_argument_size_grouped(program, i, rows, groups,
                                              &argument.bytes));
    argument.elements =
        static_cast<size_t>(argument.rowLength * argument.countRows(problem));
    problem.arguments.push_back(argument);
    if (info.kind == LNBWD_ARGUMENT_ROW_SCALAR)
      continue;
    if (problem.columns != 0 && problem.columns != info.row_length)
      unexpected("argument '" + argument.name + "' has rows of " +
                 std::to_string(info.row_length) + " elements, others of " +
                 std::to_string(problem.columns));
    problem.columns = info.row_length;
  }
  lnbwd_operation_info info;
  check(lnbwd_program_operation(program, &info));
  problem.operation = describeOperation(info);
  if (!problem.operation.isKnown())
    return problem;
  for (size_t i = 0; i < info.operand_count; ++i)
    describeOperand(program, i, problem);
  checkOperands(problem);
  return problem;
}

void placeInPlace(Problem &problem) {
  bool isForward = problem.operation.isForward;
  Role from = isForward ? Role::Residual : Role::Dy;
  Role to = isForward ? Role::Sum : Role::Dx;
  const Argument *input = problem.find(from);
  const Argument *output = problem.find(to);
  auto refuse = [&](const std::string &why) {
    throw UsageFailure("--in-place lays dx over dy, or the sum over the "
                       "residual, and " +
                       why);
  };
  if (!input || !output)
    refuse("this kernel has no '" + std::string(roleName(input ? to : from)) +
           "'");
  if (input == output)
    refuse("this kernel has them in one argument already");
  if (input->format != output->format || input->bytes != output->bytes ||
      input->rowStride != output->rowStride)
    refuse("this kernel has them in different types or strides");
  problem.arguments[*problem.place(to)].placedOver = problem.place(from);
}

void requireReference(const Problem &problem) {
  if (problem.operation.isKnown())
    return;
  throw Failure(
      BadInput,
      "--verify: expected a launch plan that says which operation the kernel "
      "computes, got none (a row program written by hand, or several "
      "operations in one function); if it is layer_norm, rms_norm, "
      "layer_norm_bwd or rms_norm_bwd, say so with the function's attribute "
      "lnbwd.operation = #lnbwd.operation<name = \"rms_norm\", epsilon = "
      "1.0e-5 : f64> and compile again; otherwise leave --verify out, and all "
      "but the numbers is checked");
}

/// The number of the sequence that an argument is filled from.
static Input inputOf(const Problem &problem, size_t index) {
  for (auto [role, input] :
       {std::pair(Role::Dy, Input::Dy), std::pair(Role::X, Input::X),
        std::pair(Role::Gamma, Input::Gamma),
        std::pair(Role::Residual, Input::Residual),
        std::pair(Role::Beta, Input::Beta), std::pair(Role::Dsum, Input::Dsum),
        std::pair(Role::Dgamma, Input::Dgamma),
        std::pair(Role::Dbeta, Input::Dbeta)})
    if (problem.place(role) == index)
      return input;
  return Input::Other;
}

/// Fills y, mean and rstd, of those that the kernel reads, from an x that need
/// not be an argument of the kernel.
static void fillDerived(Problem &problem, const Options &options) {
  std::vector<char> otherX;
  reference::ForwardInputs forward;
  forward.rows = problem.rows;
  forward.columns = problem.columns;
  forward.hasMean = problem.operation.hasMean;
  forward.zeroCentredGamma = problem.operation.zeroCentredGamma;
  forward.gamma = problem.input(Role::Gamma);
  forward.beta = problem.input(Role::Beta);
  forward.x = problem.input(Role::X);
  if (!forward.x.data) {
    otherX.resize(static_cast<size_t>(problem.rows) * problem.columns *
                  formatSize(problem.format()));
    fillInput(options.init, options.seed, Input::X, problem.format(),
              problem.rows, problem.columns, otherX.data());
    forward.x = {problem.format(), otherX.data()};
  }
  std::vector<float> mean(problem.rows), rstd(problem.rows);
  computeStatistics(forward.x, problem.rows, problem.columns, options.epsilon,
                    mean.data(), rstd.data(), problem.operation.hasMean);
  for (auto [role, values] :
       {std::pair(Role::Mean, &mean), std::pair(Role::Rstd, &rstd)})
    if (const Argument *argument = problem.find(role))
      if (argument->isInput() && !values->empty())
        std::memcpy(problem.contents[*problem.place(role)].data(),
                    values->data(), argument->bytes);
  if (!problem.has(Role::Y))
    return;
  forward.epsilon = options.epsilon;
  const Argument &y = *problem.find(Role::Y);
  char *contents = problem.contents[*problem.place(Role::Y)].data();
  normForward(forward,
              [&](unsigned, int64_t row, const reference::ForwardRow &values) {
                for (int64_t j = 0; j < problem.columns; ++j)
                  storeElement(y.format, contents,
                               static_cast<size_t>(row * y.rowStride + j),
                               static_cast<float>(values.y[j]));
              });
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
    FillOptions fill;
    fill.stride = argument.rowStride;
    fill.gammaCentre = problem.operation.zeroCentredGamma ? 0 : 1;
    fill.nonFinite = problem.operation.isForward ? Input::X : Input::Dy;
    fillInput(options.init, options.seed, inputOf(problem, i), argument.format,
              argument.countRows(problem), argument.rowLength,
              problem.contents[i].data(), fill);
  }
  bool wantsDerived = false;
  for (Role role : {Role::Mean, Role::Rstd, Role::Y})
    if (const Argument *argument = problem.find(role))
      wantsDerived = wantsDerived || argument->isInput();
  if (wantsDerived && !problem.operation.isForward)
    fillDerived(problem, options);
}

} // namespace lnbwd::run
