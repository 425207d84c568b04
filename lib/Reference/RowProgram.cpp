//===- RowProgram.cpp - Row programs in float64 ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through a program's operations once for each row, and adds up what goes
// over the rows.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/RowProgram.h"

#include "lnbwd/Reference/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

namespace lnbwd::reference {

using Values = std::vector<Bounded>;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// A sum that is being taken, and what its roundings depend on.
struct Sum {
  Bounded total;
  /// Of the squared terms; of a sum taken term by term, of the partial sums.
  double squares = 0;
  /// The largest partial sum.
  double largest = 0;

  void add(const Bounded &term) {
    total.value += term.value;
    total.error += term.error;
    squares += term.value * term.value;
    largest = std::max(largest, std::abs(total.value));
  }
  void addInOrder(const Bounded &term) {
    total.value += term.value;
    total.error += term.error;
    squares += total.value * total.value;
  }
  /// Takes the larger, and NaN if one is, instead of the sum.
  void takeLarger(const Bounded &term) {
    bool isNaN = std::isnan(total.value) || std::isnan(term.value);
    total.value =
        isNaN ? total.value + term.value : std::max(total.value, term.value);
    total.error = std::max(total.error, term.error);
  }
  /// Adds what comes behind it.
  void append(const Sum &next) {
    largest = std::max(largest, std::abs(total.value) + next.largest);
    total.value += next.total.value;
    total.error += next.total.error;
    squares += next.squares;
  }

  /// With the roundings of a tree over lanes, groups and workgroups: eight of
  /// the terms' root sum of squares and of the largest partial sum.
  Bounded inTree(size_t terms) const {
    double error =
        terms > 1 ? 8 * kRoundoff * (std::sqrt(squares) + largest) : 0;
    return settle(total.value, total.error + error, nullptr, 0);
  }
  /// With those of a sum taken term by term, `chains` such being added: docs/
  /// numerics.md has their root mean square.
  Bounded inOrder(double chains) const {
    double error = 2 * chains * kRoundoff * std::sqrt(squares) +
                   8 * kRoundoff * std::abs(total.value);
    return settle(total.value, total.error + error, nullptr, 0);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// The largest element from `first` to `end`; NaN if one is.
static Bounded takeLargest(const Bounded *first, size_t count,
                           size_t stride = 1) {
  Sum result{*first};
  for (size_t i = 0; i < count; ++i, first += stride)
    result.takeLarger(*first);
  return result.total;
}

static Bounded reduce(const Values &row, const std::string &kind) {
  if (kind == "add") {
    Sum sum;
    for (const Bounded &element : row)
      sum.add(element);
    Bounded result = sum.inTree(row.size());
    // A term that is infinite for certain makes such a sum.
    return std::isfinite(result.value)
               ? result
               : settle(result.value, result.error, row.data(), row.size());
  }
  return takeLargest(row.data(), row.size());
}

/// A row times a matrix.
static void multiplyMatrix(const Values &row, const Values &matrix,
                           bool isTransposed, Values &result) {
  // Element (o, k) of the matrix stands at o * C + k.
  size_t length = row.size(), count = result.size();
  size_t stepOut = isTransposed ? 1 : length;
  size_t stepIn = isTransposed ? count : 1;
  for (size_t o = 0; o < count; ++o) {
    Sum sum;
    for (size_t k = 0; k < length; ++k) {
      const Bounded &factor = matrix[o * stepOut + k * stepIn];
      sum.addInOrder({row[k].value * factor.value,
                      std::abs(row[k].value) * factor.error +
                          std::abs(factor.value) * row[k].error});
    }
    result[o] = sum.inOrder(/*chains=*/1);
  }
}

static void compute(const RowOperation &operation,
                    const std::vector<const Values *> &x, Values &result) {
  if (const ElementwiseOperation *known = findElementwise(operation.name)) {
    Bounded operands[3];
    for (size_t j = 0; j < result.size(); ++j) {
      for (size_t i = 0; i < x.size(); ++i)
        operands[i] = (*x[i])[x[i]->size() == 1 ? 0 : j];
      result[j] = known->compute(operands, operation);
    }
  } else if (operation.name == "arith.constant") {
    double value = operation.attributes.value;
    if (operation.type.element == Element::I32)
      value = static_cast<uint32_t>(static_cast<int64_t>(value));
    result.assign(result.size(), {value, 0});
  } else if (operation.name == "vector.broadcast" ||
             operation.name == "vector.extract") {
    for (size_t j = 0; j < result.size(); ++j)
      result[j] = (*x[0])[x[0]->size() == 1 ? 0 : j];
  } else if (operation.name == "lnbwd.block_max") {
    auto stride = static_cast<size_t>(operation.attributes.divisor);
    auto size = static_cast<size_t>(operation.attributes.modulus);
    for (size_t j = 0; j < result.size(); ++j)
      result[j] = j / stride % size ? result[j - stride]
                                    : takeLargest(&(*x[0])[j], size, stride);
  } else if (operation.name == "vector.reduction") {
    result[0] = reduce(*x[0], operation.attributes.choice);
  } else if (operation.name == "vector.outerproduct") {
    const ElementwiseOperation &product = *findElementwise("arith.mulf");
    size_t columns = x[1]->size();
    for (size_t j = 0; j < result.size(); ++j) {
      const Bounded factors[] = {(*x[0])[j / columns], (*x[1])[j % columns]};
      result[j] = product.compute(factors, operation);
    }
  } else {
    multiplyMatrix(*x[0], *x[1], operation.attributes.transposed, result);
  }
}

//===----------------------------------------------------------------------===//
// A program
//===----------------------------------------------------------------------===//

/// What no rows combine to.
static Sum getNeutral(const ProgramOperand &output) {
  double lowest = -std::numeric_limits<double>::infinity();
  return output.isMaximum ? Sum{{lowest, 0}} : Sum();
}

namespace {

/// The sums of neighbouring groups of rows.
struct PartialSums {
  int64_t firstGroup = 0;
  std::vector<Sum> sums;
};

/// Runs one program on all rows.
class Interpreter {
public:
  /// `written` holds what programs wrote that others read; `isFinal` says of
  /// which buffers it is the last to write them.
  Interpreter(const RowProgram &program, const ProgramInputs &inputs,
              std::vector<Values> &written, const std::vector<bool> &isRead,
              const std::vector<bool> &isFinal, const ElementConsumer &consumer)
      : program(program), inputs(inputs), written(written), isRead(isRead),
        isFinal(isFinal), consumer(consumer),
        rows(program.ownRows.value_or(inputs.rows * program.times /
                                      program.over)),
        groups(program.ownRows ? 1 : inputs.groups),
        isTable(findTables(program)) {
    findVarying();
  }

  void run();

private:
  using AllValues = std::vector<Values>;

  void checkGroups() const;
  void findVarying();
  const ValueType &typeOf(size_t value) const {
    size_t count = program.inputs.size();
    return value < count ? program.inputs[value].type
                         : program.operations[value - count].type;
  }
  int64_t groupOf(int64_t row) const { return row / (rows / groups); }
  int64_t placeOf(const ProgramOperand &input, int64_t row) const;
  void load(const ProgramOperand &input, int64_t place, int64_t first,
            int64_t length, Values &values) const;
  void computeIndex(const RowOperation &operation, int64_t row,
                    Values &values) const;
  void computeValues(int64_t row, bool isFirst, AllValues &values) const;
  size_t comparedValue(const ProgramOperand &output) const;
  void process(unsigned worker, int64_t begin, int64_t end,
               std::vector<PartialSums> &partials,
               std::vector<Values> &rowsOut);
  void finishSum(const ProgramOperand &output, std::vector<Sum> &sums,
                 Values &sumOut);

  const RowProgram &program;
  const ProgramInputs &inputs;
  std::vector<Values> &written;
  const std::vector<bool> &isRead;
  const std::vector<bool> &isFinal;
  const ElementConsumer &consumer;
  int64_t rows, groups;
  std::vector<bool> isTable;
  /// Of each value, whether it differs from row to row.
  std::vector<bool> varies;
};

} // namespace

void Interpreter::findVarying() {
  for (const ProgramOperand &input : program.inputs)
    varies.push_back(input.dims.hasGroups || !input.lacksRows());
  for (const RowOperation &operation : program.operations) {
    bool doesVary = operation.name == "lnbwd.index" &&
                    operation.attributes.choice != "column";
    for (size_t operand : operation.operands)
      doesVary = doesVary || varies[operand];
    varies.push_back(doesVary);
  }
}

int64_t locate(const std::vector<PlaceTerm> &terms, int64_t number) {
  if (terms.empty())
    return number;
  int64_t place = 0;
  for (const PlaceTerm &term : terms) {
    int64_t index = number / term.divisor;
    if (term.modulus)
      index %= term.modulus;
    if (term.wrap)
      index = (index + term.shift) % term.wrap;
    place += index * term.factor;
  }
  return place;
}

/// Which row of its own an input has for a row of the program.
int64_t Interpreter::placeOf(const ProgramOperand &input, int64_t row) const {
  // What is strided is one row, whose elements are found one by one.
  if (!input.row.empty())
    return 0;
  if (input.dims.hasRows)
    return input.dims.hasGroups ? row : row % (rows / groups);
  return input.dims.hasGroups ? groupOf(row) : 0;
}

/// Loads row `place` of those of `length` elements that an input has, from its
/// element `first` on.
void Interpreter::load(const ProgramOperand &input, int64_t place,
                       int64_t first, int64_t length, Values &values) const {
  const Values &kept = written[input.buffer];
  if (!kept.empty() && static_cast<size_t>((place + 1) * length) > kept.size())
    throw std::invalid_argument("'" + program.name +
                                "' reads more than was written");
  const ConstArray &array = inputs.buffers[input.buffer];
  if (kept.empty() && !array.data)
    throw std::invalid_argument("'" + program.name +
                                "' reads a buffer that nothing was written to");
  for (size_t j = 0; j < values.size(); ++j) {
    auto number = static_cast<int64_t>(j);
    int64_t column = first + locate(input.column, number);
    if (!kept.empty())
      values[j] = kept[static_cast<size_t>(place * length + column)];
    else if (double value = array.at(place, column, length);
             input.type.element == Element::I32)
      values[j] = {static_cast<double>(
                       static_cast<uint32_t>(static_cast<int32_t>(value))),
                   0};
    else
      values[j] = {value, 0};
  }
}

void Interpreter::computeIndex(const RowOperation &operation, int64_t row,
                               Values &values) const {
  const OperationAttributes &attributes = operation.attributes;
  int64_t number = row;
  if (attributes.choice == "group")
    number = groupOf(row);
  else if (attributes.choice == "row_of_group")
    number = row % (rows / groups);
  for (size_t j = 0; j < values.size(); ++j) {
    if (attributes.choice == "column")
      number = static_cast<int64_t>(j);
    int64_t index = number / attributes.divisor;
    if (attributes.modulus)
      index %= attributes.modulus;
    values[j] = {static_cast<double>(static_cast<uint32_t>(index)), 0};
  }
}

/// Computes what varies, and for the first row the rest as well.
void Interpreter::computeValues(int64_t row, bool isFirst,
                                AllValues &values) const {
  size_t count = program.inputs.size();
  for (size_t i = 0; i < count; ++i)
    if (const ProgramOperand &input = program.inputs[i];
        (isFirst || varies[i]) && !isTable[i])
      load(input, placeOf(input, row),
           input.row.empty() ? 0 : locate(input.row, row), input.rowLength(),
           values[i]);
  std::vector<const Values *> operands;
  for (size_t i = 0; i < program.operations.size(); ++i) {
    if (!isFirst && !varies[count + i])
      continue;
    const RowOperation &operation = program.operations[i];
    if (operation.name == "lnbwd.index") {
      computeIndex(operation, row, values[count + i]);
      continue;
    }
    if (operation.name == "lnbwd.gather") {
      const ProgramOperand &table = program.inputs[operation.operands[0]];
      double index = values[operation.operands[1]][0].value;
      auto last = static_cast<double>(table.type.shape[0] - 1);
      load(table,
           static_cast<int64_t>(index < 0 ? last : std::min(index, last)),
           /*first=*/0, table.type.shape[1], values[count + i]);
      continue;
    }
    operands.clear();
    for (size_t operand : operation.operands)
      operands.push_back(&values[operand]);
    compute(operation, operands, values[count + i]);
  }
}

/// The rounding that puts an output into its type is the kernel's, and is
/// allowed for where the two are compared.
size_t Interpreter::comparedValue(const ProgramOperand &output) const {
  size_t count = program.inputs.size();
  if (output.value < count)
    return output.value;
  const RowOperation &operation = program.operations[output.value - count];
  return operation.name == "arith.truncf" ? operation.operands[0]
                                          : output.value;
}

/// The column of its own that each element of an output has; -1 where an
/// earlier element has the same, of what is no sum.
static std::vector<int64_t> findColumns(const ProgramOperand &output) {
  std::vector<int64_t> columns(static_cast<size_t>(output.type.size()));
  std::set<int64_t> taken;
  for (size_t j = 0; j < columns.size(); ++j) {
    columns[j] = locate(output.column, static_cast<int64_t>(j));
    if (!output.column.empty() && !output.lacksRows() &&
        !taken.insert(columns[j]).second)
      columns[j] = -1;
  }
  return columns;
}

/// Takes the rows from `begin` to `end`.
void Interpreter::process(unsigned worker, int64_t begin, int64_t end,
                          std::vector<PartialSums> &partials,
                          std::vector<Values> &rowsOut) {
  AllValues values(program.inputs.size() + program.operations.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (!isTable[i])
      values[i].resize(static_cast<size_t>(typeOf(i).size()));
  std::vector<std::vector<int64_t>> columns;
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const ProgramOperand &output = program.outputs[o];
    columns.push_back(findColumns(output));
    bool isOfGroups = output.dims.hasGroups;
    partials[o].firstGroup = isOfGroups ? groupOf(begin) : 0;
    int64_t count =
        isOfGroups ? groupOf(end - 1) - partials[o].firstGroup + 1 : 1;
    if (output.lacksRows())
      partials[o].sums.resize(static_cast<size_t>(count * output.rowLength()),
                              getNeutral(output));
  }
  for (int64_t row = begin; row < end; ++row) {
    computeValues(row, row == begin, values);
    for (size_t o = 0; o < program.outputs.size(); ++o) {
      const ProgramOperand &output = program.outputs[o];
      const Values &value = values[output.value];
      if (output.lacksRows()) {
        int64_t group =
            output.dims.hasGroups ? groupOf(row) - partials[o].firstGroup : 0;
        int64_t first = output.row.empty() ? group * output.rowLength()
                                           : locate(output.row, row);
        for (size_t j = 0; j < value.size(); ++j) {
          Sum &sum =
              partials[o].sums[static_cast<size_t>(first + columns[o][j])];
          output.isMaximum    ? sum.takeLarger(value[j])
          : output.isMatrix() ? sum.addInOrder(value[j])
                              : sum.add(value[j]);
        }
        continue;
      }
      int64_t first = output.row.empty() ? row * output.rowLength()
                                         : locate(output.row, row);
      const Values &compared = values[comparedValue(output)];
      for (size_t j = 0; j < value.size(); ++j) {
        if (columns[o][j] < 0)
          continue;
        auto element = static_cast<size_t>(first + columns[o][j]);
        if (isRead[output.buffer])
          rowsOut[o][element] = value[j];
        if (isFinal[output.buffer])
          consumer(worker, output.buffer, element,
                   output.type.element == Element::I32
                       ? Bounded{toSigned(compared[j].value), compared[j].error}
                       : compared[j]);
      }
    }
  }
}

/// Hands a sum over all rows on, `sums` being that of each element.
void Interpreter::finishSum(const ProgramOperand &output,
                            std::vector<Sum> &sums, Values &sumOut) {
  sumOut.resize(sums.size());
  int64_t terms = output.column.empty() ? rows : rows * output.type.size();
  const ConstArray &before = inputs.buffers[output.buffer];
  for (size_t j = 0; j < sums.size(); ++j) {
    // An outer sum is put together of two such chains.
    Bounded &sum = sumOut[j];
    sum = output.isMaximum    ? sums[j].total
          : output.isMatrix() ? sums[j].inOrder(/*chains=*/2)
                              : sums[j].inTree(static_cast<size_t>(terms));
    if (program.accumulate && before.data) {
      const Bounded both[] = {sum, {before[j], 0}};
      sum = findElementwise("arith.addf")->compute(both, {});
    }
    if (isFinal[output.buffer])
      consumer(0, output.buffer, j, sum);
  }
}

void Interpreter::checkGroups() const {
  bool hasGroups = false;
  for (const auto *operands : {&program.inputs, &program.outputs})
    for (const ProgramOperand &operand : *operands)
      hasGroups = hasGroups || operand.dims.tellsGroups();
  if (hasGroups && (groups < 1 ? rows != 0 : rows % groups != 0))
    throw std::invalid_argument(
        "'" + program.name + "': expected a multiple of the " +
        std::to_string(groups) + " groups of rows, got " +
        std::to_string(rows) + " rows");
}

void Interpreter::run() {
  checkGroups();
  size_t count = program.outputs.size();
  std::vector<Values> out(count);
  bool isInOrder = false;
  for (size_t o = 0; o < count; ++o) {
    const ProgramOperand &output = program.outputs[o];
    isInOrder = isInOrder || output.isMatrix();
    if (!output.lacksRows() && isRead[output.buffer])
      out[o].resize(static_cast<size_t>((output.row.empty() ? rows : 1) *
                                        output.rowLength()));
  }
  // A matrix of sums for each piece would take too much.
  int64_t pieces = isInOrder ? std::min<int64_t>(rows, 1) : pieceCount(rows);
  std::vector<std::vector<PartialSums>> partials(
      static_cast<size_t>(pieces), std::vector<PartialSums>(count));
  if (isInOrder && rows > 0)
    process(0, 0, rows, partials[0], out);
  else
    forEachPiece(rows, [&](unsigned worker, int64_t piece, int64_t begin,
                           int64_t end) {
      process(worker, begin, end, partials[static_cast<size_t>(piece)], out);
    });
  for (size_t o = 0; o < count; ++o) {
    const ProgramOperand &output = program.outputs[o];
    if (output.lacksRows()) {
      int64_t number = output.dims.hasGroups ? groups : 1;
      auto length = static_cast<size_t>(output.rowLength());
      std::vector<Sum> sums(static_cast<size_t>(number) * length,
                            getNeutral(output));
      for (const std::vector<PartialSums> &partial : partials) {
        auto first = static_cast<size_t>(partial[o].firstGroup) * length;
        for (size_t j = 0; j < partial[o].sums.size(); ++j)
          output.isMaximum
              ? sums[first + j].takeLarger(partial[o].sums[j].total)
              : sums[first + j].append(partial[o].sums[j]);
      }
      finishSum(output, sums, out[o]);
    }
    if (isRead[output.buffer])
      written[output.buffer] = std::move(out[o]);
  }
}

void interpret(const std::vector<RowProgram> &programs,
               const ProgramInputs &inputs, const ElementConsumer &consumer) {
  // Only what a program reads behind another is kept.
  std::vector<bool> isRead(inputs.buffers.size());
  for (const RowProgram &program : programs)
    for (const ProgramOperand &input : program.inputs)
      isRead[input.buffer] = true;
  std::vector<Values> written(inputs.buffers.size());
  for (size_t i = 0; i < programs.size(); ++i) {
    std::vector<bool> isFinal(inputs.buffers.size());
    for (size_t later = i; later < programs.size(); ++later)
      for (const ProgramOperand &output : programs[later].outputs)
        isFinal[output.buffer] = later == i && output.buffer < inputs.arguments;
    Interpreter(programs[i], inputs, written, isRead, isFinal, consumer).run();
  }
}

} // namespace lnbwd::reference
