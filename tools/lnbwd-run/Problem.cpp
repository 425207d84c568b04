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
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

using nlohmann::json;
using namespace lnbwd::reference;

namespace lnbwd::run {

// The runtime has parsed the plan and knows nothing of what it computes: all of
// that is checked here. What is wrong is said as the runtime says it of the
// rest.

[[noreturn]] static void unexpectedInPlan(const std::string &what) {
  throw Failure(BadInput,
                "launch plan: " + what +
                    "; compile the kernel again with this release's lnbwd-opt");
}

static void require(bool holds, const std::string &what) {
  if (!holds)
    unexpectedInPlan(what);
}

static const json &get(const json &object, const char *key) {
  require(object.is_object() && object.contains(key),
          std::string("expected an object with the key '") + key + "', got " +
              object.dump().substr(0, 60));
  return object[key];
}

static std::string getText(const json &value) {
  require(value.is_string(), "expected a string, got " + value.dump());
  return value.get<std::string>();
}

static size_t getIndex(const json &value) {
  require(value.is_number_unsigned(),
          "expected a number of 0 or more, got " + value.dump());
  return value.get<size_t>();
}

static const json &getArray(const json &object, const char *key) {
  const json &array = get(object, key);
  require(array.is_array(),
          std::string("expected '") + key + "' to be an array");
  return array;
}

static ValueType getType(const json &value) {
  std::string text = getText(value);
  std::optional<ValueType> type = parseValueType(text);
  require(type.has_value(), "there is no type '" + text + "'");
  return *type;
}

/// Takes it for granted that there are no other keys.
static void requireKeys(const json &object,
                        std::initializer_list<const char *> keys) {
  for (const auto &item : object.items()) {
    bool isKnown = false;
    for (const char *key : keys)
      isKnown |= item.key() == key;
    require(isKnown, "unknown key '" + item.key() + "'");
  }
}

static double getNumber(const json &value) {
  if (value.is_number())
    return value.get<double>();
  std::string text = getText(value);
  if (text == "inf" || text == "-inf")
    return text == "inf" ? INFINITY : -INFINITY;
  require(text == "nan", "expected a number, got '" + text + "'");
  return NAN;
}

[[noreturn]] static void unexpected(const std::string &message) {
  throw Failure(BadInput, "the launch plan contradicts itself: " + message +
                              "; compile the kernel again");
}

int64_t Argument::countRows(const Problem &problem) const {
  return dims.countRows(problem.rows, problem.groups);
}

bool Problem::hasGroups() const {
  return std::any_of(
      arguments.begin(), arguments.end(),
      [](const Argument &argument) { return argument.dims.tellsGroups(); });
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

Element Problem::format() const {
  for (Role role : {Role::X, Role::Dy})
    if (const Argument *argument = find(role))
      return argument->format;
  for (const Argument &argument : arguments)
    if (argument.dims == kRowBlock)
      return argument.format;
  return Element::F32;
}

double Problem::minimalBytes() const {
  double bytes = 0;
  for (const Argument &argument : arguments) {
    double size = static_cast<double>(argument.elements) *
                  static_cast<double>(getInfo(argument.format).bytes);
    bytes += argument.access == LNBWD_ACCESS_READ_WRITE ? 2 * size : size;
  }
  return bytes;
}

bool Problem::isOverwritten(size_t index) const {
  return std::any_of(
      arguments.begin(), arguments.end(),
      [&](const Argument &argument) { return argument.placedOver == index; });
}

/// Notes that argument `place` is the operand `name` of the operation.
static void describeOperand(const std::string &name, size_t place,
                            Problem &problem) {
  const NamedOperationInfo &operation = *problem.operation.info;
  std::optional<Role> found = findRole(name);
  if (!found || !operation.has(*found))
    unexpected(std::string(operation.name) + " has no operand '" + name + "'");
  Role role = *found;
  require(place < problem.arguments.size(),
          "there is no argument " + std::to_string(place));
  Argument &argument = problem.arguments[place];
  const std::string who = "argument '" + argument.name + "', the operand '" +
                          name + "' of " + operation.name + ",";
  if (argument.dims != getInfo(role).dims)
    unexpected(who + " has another shape than that operand");
  bool isOutput = operation.hasOutput(role);
  if (isOutput ? !argument.isOutput() : !argument.isInput())
    unexpected(who + " is not " + (isOutput ? "written" : "read"));
  if (isOutput && argument.output)
    unexpected(who + " is the output '" + getInfo(*argument.output).name +
               "' too");
  if (argument.dims == kRowScalar && argument.format != Element::F32)
    unexpected(who + " is " + getName(argument.format) + ", expected f32");
  if (isOutput)
    argument.output = role;
  problem.operands[role] = place;
}

/// Which operation it is, and of what; with a name that this program does not
/// know it is as unknown as without any.
static void describeOperation(const json &value, Problem &problem) {
  std::optional<NamedOperation> known =
      findOperation(getText(get(value, "name")));
  requireKeys(value, {"name", "epsilon", "zero_centred_gamma", "operands"});
  const json &operands = get(value, "operands");
  require(operands.is_object(),
          "expected 'operands' to be an object, got " + operands.dump());
  Operation &operation = problem.operation;
  if (value.contains("epsilon")) {
    operation.epsilon = getNumber(value["epsilon"]);
    require(*operation.epsilon >= 0,
            "expected epsilon to be 0 or more, got " + value["epsilon"].dump());
  }
  operation.zeroCentredGamma = value.contains("zero_centred_gamma");
  require(!operation.zeroCentredGamma ||
              value["zero_centred_gamma"] == json(true),
          "expected zero_centred_gamma to be true");
  if (!known)
    return;
  operation.info = &getInfo(*known);
  for (const auto &[name, place] : operands.items())
    describeOperand(name, getIndex(place), problem);
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
  // Of the column sums, dbeta alone needs dy and nothing else.
  if (isOnlyShift)
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

/// Finds N, and that all operands agree. Of a program whose arguments have
/// rows of several lengths, N is the greatest: others are parts of a row.
static void describeSizes(Problem &problem) {
  for (const Argument &argument : problem.arguments)
    if (argument.dims.hasColumns)
      problem.columns = std::max(problem.columns, argument.rowLength);
  if (!problem.operation.isKnown())
    return;
  const NamedOperationInfo &operation = *problem.operation.info;
  if (const Argument *input = problem.find(Role::X))
    problem.columns = input->rowLength;
  reference::Inputs sizes;
  sizes.columns = problem.columns;
  for (const OperandInfo &operand : operation) {
    const Argument *argument = problem.find(operand.role);
    if (argument && argument->rowLength != sizes.rowLength(operand.role))
      unexpected("argument '" + argument->name + "' has rows of " +
                 std::to_string(argument->rowLength) + " elements, expected " +
                 std::to_string(sizes.rowLength(operand.role)));
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
    // The runtime's numbers are the tables'.
    argument.dims = kKinds[info.kind].dims;
    argument.format = static_cast<Element>(info.element);
    argument.access = info.access;
    argument.rowLength = info.row_length;
    argument.rowStride = info.row_stride;
    check(
        lnbwd_program_argument_size(program, i, rows, groups, &argument.bytes));
    argument.elements =
        static_cast<size_t>(argument.rowLength * argument.countRows(problem));
    problem.arguments.push_back(argument);
  }
  const json plan = json::parse(lnbwd_program_plan(program));
  if (plan.contains("operation"))
    describeOperation(plan["operation"], problem);
  describeSizes(problem);
  if (problem.operation.isKnown())
    checkOperands(problem);
  return problem;
}

/// The largest number that a sum of terms can be, of numbers below `count`;
/// some number of 2^31 or more where that is beyond it.
static int64_t getLast(const std::vector<PlaceTerm> &terms, int64_t count) {
  int64_t last = 0;
  for (const PlaceTerm &term : terms) {
    int64_t most = (std::max<int64_t>(count, 1) - 1) / term.divisor;
    if (term.modulus)
      most = std::min(most, term.modulus - 1);
    if (term.wrap)
      most = term.wrap - 1;
    last += std::min<int64_t>(most, INT32_MAX) * term.factor;
    if (last > INT32_MAX)
      break;
  }
  return last;
}

/// The terms under `key`, if it is there: numbers of which no sum is beyond
/// what buffers can have.
static std::vector<PlaceTerm> readPlace(const json &value, const char *key) {
  std::vector<PlaceTerm> terms;
  if (!value.contains(key))
    return terms;
  constexpr size_t most = size_t(1) << 31;
  for (const json &item : getArray(value, key)) {
    require(item.is_array() && item.size() == 5,
            "expected a divisor, a modulus, a factor, and by how much what "
            "number of indices is moved, got " +
                item.dump());
    int64_t numbers[5];
    for (size_t i = 0; i < 5; ++i) {
      size_t number = getIndex(item[i]);
      require(terms.size() < 16 && number < most && (number > 0 || i > 0),
              "expected up to 16 terms below 2^31, got " + value[key].dump());
      numbers[i] = static_cast<int64_t>(number);
    }
    terms.push_back(
        {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]});
  }
  return terms;
}

/// Whether an operand of a program is what the plan's argument is.
static bool fits(const ProgramOperand &operand, const Argument &argument,
                 std::optional<int64_t> ownRows) {
  int64_t length = operand.rowLength();
  Dims dims = operand.dims;
  // To a launch, what has its own rows is a matrix.
  if (ownRows && operand.dims.hasRows) {
    if (*ownRows < 0 || *ownRows > INT64_MAX / length)
      return false;
    dims = kColumn;
    length *= *ownRows;
  }
  return argument.dims == dims && argument.rowLength == length;
}

static ProgramOperand readOperand(const json &value, const Problem &problem,
                                  const RowProgram &program) {
  ProgramOperand operand;
  std::string kind = getText(get(value, "kind"));
  std::optional<Dims> known = findDims(kind);
  require(known.has_value(), "there is no operand of the kind '" + kind + "'");
  operand.dims = *known;
  operand.type = getType(get(value, "type"));
  operand.row = readPlace(value, "row");
  operand.column = readPlace(value, "column");
  if (value.contains("row_length"))
    operand.ownLength = static_cast<int64_t>(getIndex(value["row_length"]));
  int64_t length = operand.rowLength();
  require(length >= 1 && length < int64_t(1) << 31,
          "expected a bounded place in a buffer, got " + value.dump());
  int64_t rows =
      program.ownRows.value_or(problem.rows * program.times / program.over);
  int64_t last = operand.row.empty() ? 0 : getLast(operand.row, rows);
  for (int64_t j = 0; j < operand.type.size(); ++j)
    require(last + locate(operand.column, j) < length,
            "expected the columns of " + std::to_string(rows) +
                " rows within " + std::to_string(length) + " elements, got " +
                value.dump());
  size_t arguments = problem.arguments.size();
  if (!value.contains("argument")) {
    operand.buffer = getIndex(get(value, "buffer"));
    require(operand.buffer < size_t(1) << 16, "too many buffers");
    operand.buffer += arguments;
    return operand;
  }
  operand.buffer = getIndex(value["argument"]);
  require(operand.buffer < arguments,
          "there is no argument " + std::to_string(operand.buffer));
  const Argument &argument = problem.arguments[operand.buffer];
  require(fits(operand, argument, program.ownRows),
          "argument '" + argument.name + "' is no " + kind + " of " +
              getText(value["type"]));
  return operand;
}

static RowOperation readOperation(const json &value) {
  require(value.is_array() && value.size() >= 2,
          "expected an operation as an array of its name, its type and its "
          "operands, got " +
              value.dump());
  RowOperation operation;
  operation.name = getText(value[0]);
  // An operation without a type the reference has never heard of.
  if (std::optional<ValueType> type = parseValueType(getText(value[1])))
    operation.type = *type;
  else
    throw Failure(BadInput, "--verify: the reference has no operation '" +
                                operation.name + "' that makes '" +
                                getText(value[1]) +
                                "'; leave --verify out, and all but the "
                                "numbers is checked");
  for (size_t i = 2; i < value.size(); ++i) {
    if (!value[i].is_object()) {
      operation.operands.push_back(getIndex(value[i]));
      continue;
    }
    OperationAttributes &attributes = operation.attributes;
    for (const auto &[key, attribute] : value[i].items()) {
      if (key == "value")
        attributes.value = getNumber(attribute);
      else if (key == "kind" || key == "predicate" || key == "number")
        attributes.choice = getText(attribute);
      else if (key == "approximate" || key == "transposed")
        (key == "approximate" ? attributes.approximate
                              : attributes.transposed) =
            attribute == json(true);
      else if (key == "divisor" || key == "modulus")
        (key == "divisor" ? attributes.divisor : attributes.modulus) =
            static_cast<int64_t>(getIndex(attribute));
      else
        unexpectedInPlan("there is no attribute '" + key + "'");
    }
  }
  return operation;
}

static RowProgram readProgram(const json &value, const Problem &problem) {
  if (value.is_object() && value.contains("unsupported"))
    throw Failure(BadInput,
                  "--verify: the reference does not interpret '" +
                      getText(value["unsupported"]) +
                      "', which the kernels' program has; leave --verify out, "
                      "and all but the numbers is checked");
  RowProgram program;
  program.name = getText(get(value, "name"));
  program.accumulate = value.contains("accumulate");
  if (value.contains("ratio")) {
    const json &ratio = getArray(value, "ratio");
    require(ratio.size() == 2, "expected two numbers of rows");
    program.times = static_cast<int64_t>(getIndex(ratio[0]));
    program.over = static_cast<int64_t>(getIndex(ratio[1]));
    require(program.times >= 1 && program.times < int64_t(1) << 31 &&
                program.over >= 1 && program.over < int64_t(1) << 31,
            "expected two numbers of rows, got " + ratio.dump());
  }
  if (value.contains("own_rows")) {
    size_t rows = getIndex(value["own_rows"]);
    require(rows <= INT64_MAX, "too many rows");
    program.ownRows = static_cast<int64_t>(rows);
  }
  for (const json &input : getArray(value, "inputs"))
    program.inputs.push_back(readOperand(input, problem, program));
  for (const json &operation : getArray(value, "operations"))
    program.operations.push_back(readOperation(operation));
  for (const json &output : getArray(value, "outputs")) {
    program.outputs.push_back(readOperand(output, problem, program));
    program.outputs.back().value = getIndex(get(output, "value"));
    program.outputs.back().isMaximum = output.contains("maximum");
    program.outputs.back().isSum = output.contains("sum");
    size_t buffer = program.outputs.back().buffer;
    require(buffer >= problem.arguments.size() ||
                problem.arguments[buffer].isOutput(),
            "'" + program.name + "' writes an argument that is only read");
  }
  return program;
}

/// Notes what the programs leave out of buffers that they do not write row by
/// row.
static void findGaps(Problem &problem) {
  std::vector<std::vector<bool>> isWritten(problem.arguments.size());
  for (const RowProgram &program : problem.programs)
    for (const ProgramOperand &output : program.outputs) {
      if (output.row.empty() || output.buffer >= isWritten.size())
        continue;
      std::vector<bool> &written = isWritten[output.buffer];
      written.resize(static_cast<size_t>(output.rowLength()));
      int64_t rows =
          program.ownRows.value_or(problem.rows * program.times / program.over);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t j = 0; j < output.type.size(); ++j)
          written[static_cast<size_t>(locate(output.row, row) +
                                      locate(output.column, j))] = true;
    }
  for (size_t i = 0; i < isWritten.size(); ++i)
    for (size_t j = 0; j < isWritten[i].size(); ++j)
      if (!isWritten[i][j])
        problem.arguments[i].gaps.push_back(j);
}

void readPrograms(const std::string &plan, Problem &problem) {
  const json document = json::parse(plan);
  if (!document.contains("program"))
    return;
  problem.buffers = problem.arguments.size();
  for (const json &value : document["program"]) {
    RowProgram program = readProgram(value, problem);
    for (const std::vector<ProgramOperand> *operands :
         {&program.inputs, &program.outputs})
      for (const ProgramOperand &operand : *operands)
        problem.buffers = std::max(problem.buffers, operand.buffer + 1);
    try {
      checkRowProgram(program, problem.buffers);
    } catch (const std::invalid_argument &error) {
      throw Failure(BadInput, std::string("--verify: ") + error.what() +
                                  "; leave --verify out, and all but the "
                                  "numbers is checked");
    }
    problem.programs.push_back(std::move(program));
  }
  findGaps(problem);
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

reference::Inputs describeReference(const Problem &problem) {
  reference::Inputs inputs;
  inputs.operation = problem.operation.info->operation;
  inputs.rows = problem.rows;
  inputs.columns = problem.columns;
  inputs.zeroCentredGamma = problem.operation.zeroCentredGamma;
  inputs.epsilon = problem.operation.epsilon.value_or(0);
  // Of outputs that are only written this is nothing.
  for (const OperandInfo &operand : *problem.operation.info)
    inputs.arrays[operand.role] = problem.input(operand.role);
  return inputs;
}

} // namespace lnbwd::run
