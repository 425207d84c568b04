//===- RowStatistics.cpp - Numbers of rows computed before ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers go through buffers of their own, even where an output is the
// same: an output is written and never read, which a launcher relies on.
//
//===----------------------------------------------------------------------===//

#include "RowStatistics.h"
#include "ContractionTerms.h"

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace lnbwd;

using P = ProgramOperands;

namespace {
/// A value of a region, and where it is in memory.
struct Placed {
  Value value;
  Value buffer;
  std::string name;
};

/// Copies of parts of a row program.
class ProgramParts {
public:
  explicit ProgramParts(RowwiseOp op) : op(op), b(op) {}

  /// Writes a program that computes `outputs`, and reads `given`.
  RowwiseOp write(StringRef suffix, ArrayRef<Placed> given,
                  ArrayRef<Placed> outputs);
  Value allocateNumber();

private:
  /// The arguments of the region that `outputs` need beside `given`.
  llvm::DenseSet<Value> findArguments(ArrayRef<Placed> given,
                                      ArrayRef<Placed> outputs);

  RowwiseOp op;
  OpBuilder b;
  Value rowCount;
};
} // namespace

llvm::DenseSet<Value> ProgramParts::findArguments(ArrayRef<Placed> given,
                                                  ArrayRef<Placed> outputs) {
  llvm::DenseSet<Value> visited, arguments;
  for (const Placed &known : given)
    visited.insert(known.value);
  SmallVector<Value> pending;
  for (const Placed &output : outputs)
    pending.push_back(output.value);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!visited.insert(value).second)
      continue;
    if (Operation *producer = value.getDefiningOp())
      llvm::append_range(pending, producer->getOperands());
    else
      arguments.insert(value);
  }
  return arguments;
}

RowwiseOp ProgramParts::write(StringRef suffix, ArrayRef<Placed> given,
                              ArrayRef<Placed> outputs) {
  P operands;
  SmallVector<std::pair<Value, P::Place>> inputs;
  llvm::DenseSet<Value> needed = findArguments(given, outputs);
  for (BlockArgument argument : op.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    if (op.getAccess(number) == RowwiseOp::Access::Row ||
        needed.contains(argument))
      inputs.emplace_back(
          argument, operands.addInput(op.getOperand(number),
                                      op.getMap(number).isFunctionOfDim(0),
                                      op.getOperandName(number)));
  }
  for (const Placed &known : given)
    inputs.emplace_back(known.value,
                        operands.addInput(known.buffer, true, known.name));
  SmallVector<P::Place> places;
  for (const Placed &output : outputs)
    places.push_back(operands.addOutput(output.buffer, true, output.name));

  RowwiseOp program =
      operands.create(b, op.getLoc(), (op.getEntry() + suffix).str());
  program->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  OpBuilder body = OpBuilder::atBlockEnd(&program.getBody().front());
  IRMapping mapping;
  for (auto [value, place] : inputs)
    mapping.map(value, operands.getArgument(place));
  for (auto [output, place] : llvm::zip_equal(outputs, places))
    operands.setResult(place, copySlice(body, output.value, mapping));
  operands.yield(body, op.getLoc());
  return program;
}

Value ProgramParts::allocateNumber() {
  if (!rowCount)
    rowCount = RowCountOp::create(b, op.getLoc(), op.getRowBlock());
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  auto alloc = memref::AllocOp::create(b, op.getLoc(), type, rowCount);
  alloc->setAttr(rowScalarAttr, b.getUnitAttr());
  return alloc;
}

StatisticsPrograms lnbwd::takeStatisticsApart(RowwiseOp op,
                                              ArrayRef<Value> numbers) {
  ProgramParts parts(op);
  StatisticsPrograms programs;
  SmallVector<Placed> given;
  for (auto [i, number] : llvm::enumerate(numbers)) {
    programs.allocations.push_back(parts.allocateNumber());
    given.push_back({number, programs.allocations.back(),
                     "statistic_" + std::to_string(i)});
  }
  SmallVector<Placed> outputs(given);
  auto getOutput = [&](unsigned index) -> Placed {
    unsigned operand = op.getNumDpsInputs() + index;
    return {op.getYielded(index), op.getOperand(operand),
            op.getOperandName(operand)};
  };
  for (unsigned i = 0; i < op.getScalarOuts().size(); ++i)
    outputs.push_back(getOutput(i + 1));
  programs.statistics = parts.write("_statistics", /*given=*/{}, outputs);
  programs.rest = parts.write(/*suffix=*/"", given, getOutput(0));
  op.erase();
  return programs;
}
