//===- ProgramReader.cpp - What a plan says of a program ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime has parsed the plan and knows nothing of this part of it: all of
// it is checked here.
//
//===----------------------------------------------------------------------===//

#include "ProgramReader.h"

#include "Failure.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

using nlohmann::json;
using namespace lnbwd::reference;

namespace lnbwd::run {

/// What is wrong is said as the runtime says it of the rest of a plan.
[[noreturn]] static void unexpectedInProgram(const std::string &what) {
  throw Failure(BadInput,
                "launch plan: plan.program: " + what +
                    "; compile the kernel again with this release's lnbwd-opt");
}

static void require(bool holds, const std::string &what) {
  if (!holds)
    unexpectedInProgram(what);
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

static double getNumber(const json &value) {
  if (value.is_number())
    return value.get<double>();
  std::string text = getText(value);
  if (text == "inf" || text == "-inf")
    return text == "inf" ? INFINITY : -INFINITY;
  require(text == "nan", "expected a number, got '" + text + "'");
  return NAN;
}

static ProgramOperandKind getKind(const json &value) {
  std::string text = getText(value);
  if (std::optional<ProgramOperandKind> kind = reference::findProgramKind(text))
    return *kind;
  unexpectedInProgram("there is no operand of the kind '" + text + "'");
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
  OperandKind kind = operand.kind.kind;
  // To a launch, what has its own rows is a matrix.
  if (ownRows && operand.kind.info().hasRows) {
    if (*ownRows < 0 || *ownRows > INT64_MAX / length)
      return false;
    kind = OperandKind::Column;
    length *= *ownRows;
  }
  return static_cast<OperandKind>(argument.kind) == kind &&
         argument.rowLength == length;
}

static ProgramOperand readOperand(const json &value, const Problem &problem,
                                  const RowProgram &program) {
  ProgramOperand operand;
  operand.kind = getKind(get(value, "kind"));
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
          "argument '" + argument.name + "' is no " + getText(value["kind"]) +
              " of " + getText(value["type"]));
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
        require(key == "position", "there is no attribute '" + key + "'");
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

} // namespace lnbwd::run
