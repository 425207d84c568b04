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

[[noreturn]] static void unexpected(const std::string &message) {
  throw Failure(BadInput, "the launch plan contradicts itself: " + message +
                              "; compile the kernel again");
}

/// The runtime's kinds are the tables'.
static OperandKind kindOf(const Argument &argument) {
  return static_cast<OperandKind>(argument.kind);
}

int64_t Argument::countRows(const Problem &problem) const {
  return getInfo(kindOf(*this)).countRows(problem.rows, problem.groups);
}

const Argument *Problem::find(Role role) const {
  return has(role) ? &arguments[*place(role)] : nullptr;
}

ConstArray Problem::input(Role role) const {
  std::optional<size_t> index = place(role);
  return index ? input(*index) : ConstArray{};
}

ConstArray Problem::input(size_t index) const {
  const Argument &argument = arguments[index];
  if (!argument.isInput())
    return {};
  // An empty vector may have no data, but the operand is there.
  static const char none[4] = {};
  const char *data = contents[index].empty() ? none : contents[index].data();
  return {argument.format, data,
          argument.rowStride != argument.rowLength ? argument.rowStride : 0};
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
                  static_cast<double>(reference::formatSize(argument.format));
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
  std::optional<NamedOperation> known =
      info.name ? findOperation(info.name) : std::nullopt;
  if (!known)
    return operation;
  operation.info = &getInfo(*known);
  operation.zeroCentredGamma = info.zero_centred_gamma != 0;
  if (info.epsilon >= 0)
    operation.epsilon = info.epsilon;
  return operation;
}

/// Notes which argument operand `index` of the operation is.
static void describeOperand(const lnbwd_program *program, size_t index,
                            Problem &problem) {
  const NamedOperationInfo &operation = *problem.operation.info;
  const char *name = nullptr;
  size_t place = 0;
  check(lnbwd_program_operand(program, index, &name, &place));
  std::optional<Role> found = findRole(name);
  if (!found || !operation.has(*found))
    unexpected(std::string(operation.name) + " has no operand '" + name + "'");
  Role role = *found;
  Argument &argument = problem.arguments[place];
  const std::string who = "argument '" + argument.name + "', the operand '" +
                          name + "' of " + operation.name + ",";
  if (kindOf(argument) != getInfo(role).kind)
    unexpected(who + " has another shape than that operand");
  bool isOutput = operation.hasOutput(role);
  if (isOutput ? !argument.isOutput() : !argument.isInput())
    unexpected(who + " is not " + (isOutput ? "written" : "read"));
  if (isOutput && argument.output)
    unexpected(who + " is the output '" + getInfo(*argument.output).name +
               "' too");
  if (argument.kind == LNBWD_ARGUMENT_ROW_SCALAR &&
      argument.format != FloatFormat::F32)
    unexpected(who + " is " + reference::formatName(argument.format) +
               ", expected f32");
  if (isOutput)
    argument.output = role;
  problem.operands[role] = place;
}

/// Whether the operands are those from which a reference can compute.
static void checkOperands(const Problem &problem) {
  const NamedOperationInfo &operation = *problem.operation.info;
  auto require = [&](bool holds, const std::string &what) {
    if (!holds)
      unexpected(std::string(operation.name) + " " + what);
  };
  for (const Argument &argument : problem.arguments)
    require(!argument.isOutput() || argument.output,
            "has no output that argument '" + argument.name +
                "' could be, and the kernel writes it");
  bool isOnlyShift = true;
  for (const OperandInfo &operand : operation) {
    const char *name = getInfo(operand.role).name;
    require(operand.isOptional || problem.has(operand.role),
            std::string("has no operand '") + name + "'");
    isOnlyShift =
        isOnlyShift && (!operand.isOutput || !problem.has(operand.role) ||
                        operand.role == Role::Dbeta);
  }
  bool hasEpsilon = problem.operation.epsilon.has_value();
  if (operation.isForward)
    return require(hasEpsilon, "has no epsilon");
  // Of the column sums, dbeta alone needs dy and nothing else. With a linear
  // layer all that is needed is always there.
  if (isOnlyShift || operation.hasProduct())
    return;
  bool isFromOutput = problem.has(Role::Y);
  require(problem.has(Role::X) != isFromOutput,
          "has to have either 'x' or 'y'");
  bool isSaved = problem.has(Role::Rstd);
  require(isSaved || !isFromOutput, "has 'y' without 'rstd'");
  require(!isSaved || !operation.hasMean() || isFromOutput ||
              problem.has(Role::Mean),
          "has 'rstd' without 'mean'");
  require(isSaved || hasEpsilon, "has neither 'rstd' nor an epsilon");
}

/// Finds N, and O where there is a linear layer, and that all arguments agree.
/// A row program that nothing is known of may have rows of several lengths
/// where it multiplies them by matrices: N is that of the first row block then.
static void describeSizes(Problem &problem) {
  bool hasProduct =
      problem.operation.isKnown() && problem.operation.info->hasProduct();
  const Argument *weight = problem.find(Role::W);
  if (const Argument *input = problem.find(Role::X); hasProduct && input)
    problem.columns = input->rowLength;
  if (hasProduct && weight && problem.columns != 0)
    problem.outputs = weight->rowLength / problem.columns;
  std::vector<int64_t> expected(problem.arguments.size(), 0);
  if (hasProduct) {
    reference::Inputs sizes;
    sizes.columns = problem.columns;
    sizes.outputs = problem.outputs;
    for (const OperandInfo &operand : *problem.operation.info)
      if (problem.has(operand.role))
        expected[*problem.place(operand.role)] = sizes.rowLength(operand.role);
  }
  bool hasMatrix = false;
  for (const Argument &argument : problem.arguments)
    hasMatrix = hasMatrix || argument.kind == LNBWD_ARGUMENT_COLUMN;
  for (size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument &argument = problem.arguments[i];
    if (!getInfo(kindOf(argument)).hasColumns)
      continue;
    int64_t length = expected[i] ? expected[i] : problem.columns;
    if (problem.columns == 0)
      problem.columns = length = argument.rowLength;
    // Of what is written there may be a number for each block of a row.
    bool isOfBlocks =
        argument.isOutput() && problem.columns % argument.rowLength == 0;
    bool mayDiffer = !problem.operation.isKnown() && (hasMatrix || isOfBlocks);
    if (length != argument.rowLength && !mayDiffer)
      unexpected("argument '" + argument.name + "' has rows of " +
                 std::to_string(argument.rowLength) + " elements, " +
                 (expected[i] ? "expected " : "others of ") +
                 std::to_string(length));
  }
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
    // The runtime's elements are the formats.
    argument.format = static_cast<FloatFormat>(info.element);
    argument.kind = info.kind;
    argument.access = info.access;
    argument.rowLength = info.row_length;
    check(lnbwd_program_argument_row_stride(program, i, &argument.rowStride));
    check(
        lnbwd_program_argument_size(program, i, rows, groups, &argument.bytes));
    argument.elements =
        static_cast<size_t>(argument.rowLength * argument.countRows(problem));
    problem.arguments.push_back(argument);
  }
  lnbwd_operation_info info;
  check(lnbwd_program_operation(program, &info));
  problem.operation = describeOperation(info);
  if (problem.operation.isKnown())
    for (size_t i = 0; i < info.operand_count; ++i)
      describeOperand(program, i, problem);
  describeSizes(problem);
  if (problem.operation.isKnown())
    checkOperands(problem);
  return problem;
}

void placeInPlace(Problem &problem) {
  bool isForward = problem.operation.isForward();
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
    refuse("this kernel has no '" +
           std::string(getInfo(input ? to : from).name) + "'");
  if (input == output)
    refuse("this kernel has them in one argument already");
  if (input->format != output->format || input->bytes != output->bytes ||
      input->rowStride != output->rowStride)
    refuse("this kernel has them in different types or strides");
  problem.arguments[*problem.place(to)].placedOver = problem.place(from);
}

void requireReference(const Problem &problem) {
  if (problem.operation.isKnown() || !problem.programs.empty())
    return;
  throw Failure(
      BadInput,
      "--verify: expected a launch plan that says what the kernels compute, an "
      "operation or a program, got none (a program that was given with its "
      "schedule to single passes); compile it by --lnbwd-pipeline, or leave "
      "--verify out, and all but the numbers is checked");
}

/// What an argument is filled as.
static std::optional<Role> roleOf(const Problem &problem, size_t index) {
  // Of an argument that is several operands the first one that is drawn.
  for (size_t i = 0; i < kRoleCount; ++i)
    if (problem.place(static_cast<Role>(i)) == index)
      return static_cast<Role>(i);
  return std::nullopt;
}

reference::Inputs describeReference(const Problem &problem) {
  reference::Inputs inputs;
  inputs.operation = problem.operation.info->operation;
  inputs.rows = problem.rows;
  inputs.columns = problem.columns;
  inputs.outputs = problem.outputs;
  inputs.zeroCentredGamma = problem.operation.zeroCentredGamma;
  inputs.epsilon = problem.operation.epsilon.value_or(0);
  // Of outputs that are only written this is nothing.
  for (const OperandInfo &operand : *problem.operation.info)
    inputs.arrays[operand.role] = problem.input(operand.role);
  return inputs;
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
                  reference::formatSize(problem.format()));
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
    FillOptions fill;
    fill.stride = argument.rowStride;
    fill.place = i;
    fill.tableRows = countTableRows(problem, i);
    fill.gammaCentre = problem.operation.zeroCentredGamma ? 0 : 1;
    fill.nonFinite = problem.operation.isForward() ? Role::X
                     : problem.has(Role::Dout)     ? Role::Dout
                                                   : Role::Dy;
    fillInput(options.init, options.seed, roleOf(problem, i), argument.format,
              argument.countRows(problem), argument.rowLength,
              problem.contents[i].data(), fill);
  }
  std::vector<Role> derived = derivedRoles(problem);
  if (!derived.empty())
    fillDerived(problem, derived, options);
}

} // namespace lnbwd::run
