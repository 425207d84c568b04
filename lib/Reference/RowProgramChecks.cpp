//===- RowProgramChecks.cpp - What a program may say ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Refuses programs that the interpreter could not go through.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/RowProgram.h"

#include <set>
#include <stdexcept>

namespace lnbwd::reference {

namespace {
/// Checks one operation.
class OperationChecker {
public:
  OperationChecker(const RowProgram &program, size_t index,
                   const std::vector<const ValueType *> &types,
                   const std::vector<bool> &isTable)
      : program(program), operation(program.operations[index]), index(index),
        types(types), isTable(isTable) {}

  void check() const {
    for (size_t operand : operation.operands)
      if (operand >= types.size())
        refuse("takes a value that is not computed before it");
    bool isGather = operation.name == "lnbwd.gather";
    for (size_t i = 0; i < operation.operands.size(); ++i)
      require(isTable[operation.operands[i]] == (isGather && i == 0),
              isGather ? "expects a table and an index"
                       : "takes a table, of which only rows are taken");
    if (const ElementwiseOperation *known = findElementwise(operation.name))
      return checkElementwise(*known);
    checkStructured();
  }

private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw std::invalid_argument("operation " + std::to_string(index) + " of '" +
                                program.name + "', '" + operation.name + "', " +
                                why);
  }
  void require(bool holds, const std::string &why) const {
    if (!holds)
      refuse(why);
  }
  const ValueType &type(size_t operand) const {
    return *types[operation.operands[operand]];
  }
  static bool isInteger(const ValueType &type) {
    return !getInfo(type.element).isFloat();
  }

  void requireOperands(size_t count) const {
    require(operation.operands.size() == count,
            "has " + std::to_string(operation.operands.size()) +
                " operands, expected " + std::to_string(count));
  }

  void checkElementwise(const ElementwiseOperation &known) const {
    requireOperands(known.operands);
    bool isSelect = operation.name == "arith.select";
    bool isDraw = operation.name == "lnbwd.philox";
    bool isPower = operation.name == "math.fpowi";
    for (size_t i = 0; i < known.operands; ++i) {
      bool mayBeScalar =
          (isSelect || isDraw) && i == 0 && type(i).shape.empty();
      require(type(i).shape == operation.type.shape || mayBeScalar,
              "has operands of another shape than its result");
      bool takesInteger =
          known.takesIntegers || (isSelect && i == 0) || (isPower && i == 1);
      bool takesAny = isSelect && i > 0;
      require(takesAny || takesInteger == isInteger(type(i)),
              takesInteger ? "expects integers" : "expects floats");
    }
    if (operation.name == "arith.cmpf" || operation.name == "arith.cmpi")
      require(hasKnownPredicate(operation),
              "has the predicate '" + operation.attributes.choice +
                  "', which the reference does not know");
    if (known.takesNumbers || isSigned(operation))
      for (size_t i = 0; i < known.operands; ++i)
        require(type(i).element == Element::I32, "expects integers of 32 bits");
    if (isDraw)
      require(type(0).element == Element::I64 &&
                  type(1).element == Element::I32,
              "expects a seed of 64 bits and counters of 32 bits");
    if (operation.name == "arith.trunci")
      require(type(0).element == Element::I64 &&
                  operation.type.element == Element::I32,
              "expects to make integers of 32 bits of such of 64");
    if (operation.name == "arith.truncf")
      require(!isInteger(operation.type) &&
                  operation.type.element != Element::F32,
              "expects to make floats of 16 or 8 bits");
  }

  void checkStructured() const {
    const std::vector<int64_t> &shape = operation.type.shape;
    const std::string &name = operation.name;
    if (name == "arith.constant") {
      requireOperands(0);
    } else if (name == "lnbwd.index") {
      requireOperands(0);
      require(operation.type.element == Element::I32 &&
                  operation.attributes.divisor > 0 &&
                  operation.attributes.modulus >= 0,
              "expects to make integers of 32 bits");
    } else if (name == "lnbwd.gather") {
      requireOperands(2);
      require(operation.type ==
                      ValueType{type(0).element, {type(0).shape[1]}} &&
                  type(1).shape.empty() && isInteger(type(1)),
              "expects a table of such rows and an integer");
      return;
    } else if (name == "lnbwd.block_max") {
      requireOperands(1);
      require(type(0).shape == shape && shape.size() == 1 &&
                  operation.attributes.divisor > 0 &&
                  operation.attributes.modulus > 0 &&
                  shape[0] % (operation.attributes.divisor *
                              operation.attributes.modulus) ==
                      0,
              "expects a row of whole blocks");
    } else if (name == "vector.broadcast") {
      requireOperands(1);
      require(type(0).shape.empty() || type(0).shape == shape,
              "expects a scalar");
    } else if (name == "vector.extract") {
      requireOperands(1);
      require(type(0).size() == 1 && shape.empty(),
              "expects a row of one element");
    } else if (name == "vector.reduction") {
      requireOperands(1);
      require(type(0).shape.size() == 1 && shape.empty(), "expects a row");
      require(operation.attributes.choice == "add" ||
                  operation.attributes.choice == "maximumf",
              "is of the kind '" + operation.attributes.choice +
                  "', which the reference does not know");
    } else if (name == "vector.outerproduct") {
      requireOperands(2);
      require(type(0).shape.size() == 1 && type(1).shape.size() == 1 &&
                  shape == std::vector{type(0).size(), type(1).size()},
              "expects two rows and a matrix of their lengths");
    } else if (name == "lnbwd.linear") {
      requireOperands(2);
      size_t from = operation.attributes.transposed ? 0 : 1;
      require(type(0).shape.size() == 1 && type(1).shape.size() == 2 &&
                  shape.size() == 1 && type(0).size() == type(1).shape[from] &&
                  shape[0] == type(1).shape[1 - from],
              "expects a row and a matrix that fit each other");
    } else {
      refuse("is none that the reference knows");
    }
    for (size_t i = 0; i < operation.operands.size(); ++i)
      require(!isInteger(type(i)) || name == "vector.broadcast",
              "expects floats");
  }

  const RowProgram &program;
  const RowOperation &operation;
  size_t index;
  const std::vector<const ValueType *> &types;
  const std::vector<bool> &isTable;
};
} // namespace

std::vector<bool> findTables(const RowProgram &program) {
  std::vector<bool> isTable(program.inputs.size() + program.operations.size());
  for (const RowOperation &operation : program.operations)
    if (operation.name == "lnbwd.gather" && !operation.operands.empty() &&
        operation.operands[0] < program.inputs.size())
      isTable[operation.operands[0]] =
          program.inputs[operation.operands[0]].isMatrix();
  return isTable;
}

/// Whether the value of an operand has as many dimensions as its map says.
static bool hasRightRank(const ProgramOperand &operand) {
  size_t rank = operand.type.shape.size();
  // Some rows of one buffer may be of one number each.
  if (!operand.row.empty())
    return rank <= 1;
  return rank == size_t(operand.dims.hasColumns) ||
         (operand.isMatrix() && operand.dims == kColumn);
}

void checkRowProgram(const RowProgram &program, size_t buffers) {
  std::vector<const ValueType *> types;
  const std::vector<bool> isTable = findTables(program);
  auto checkOperand = [&](const ProgramOperand &operand, bool isRightPlace) {
    if (!isRightPlace || operand.buffer >= buffers || !hasRightRank(operand))
      throw std::invalid_argument("an operand of '" + program.name +
                                  "' is not what its kind says");
  };
  for (const ProgramOperand &input : program.inputs) {
    checkOperand(input, true);
    types.push_back(&input.type);
  }
  for (size_t i = 0; i < program.operations.size(); ++i) {
    OperationChecker(program, i, types, isTable).check();
    types.push_back(&program.operations[i].type);
  }
  for (const ProgramOperand &output : program.outputs) {
    const Dims &dims = output.dims;
    bool canBeWritten = !output.row.empty() || !dims.hasRows || dims.hasGroups;
    checkOperand(output, canBeWritten && output.value < types.size() &&
                             *types[output.value] == output.type);
  }
}

} // namespace lnbwd::reference
