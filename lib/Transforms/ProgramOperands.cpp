//===- ProgramOperands.cpp - A row program put together -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramOperands.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lnbwd;

ProgramOperands::Place ProgramOperands::add(Group group, Value buffer,
                                            StringRef name) {
  auto &list = buffers[group];
  const auto *known = llvm::find(list, buffer);
  if (known != list.end() && group < RowOuts)
    return {group, unsigned(known - list.begin())};
  list.push_back(buffer);
  names[group].push_back(name.str());
  return {group, unsigned(list.size()) - 1};
}

OperandGroups::Group OperandGroups::getGroup(RowwiseOp op, unsigned index) {
  // By RowwiseOp::Access.
  static constexpr Group inputs[] = {Rows, Columns, GroupColumns, Scalars,
                                     Matrices};
  static constexpr Group outputs[] = {RowOuts, ColumnSums, GroupSums,
                                      ScalarOuts, OuterSums};
  bool isInput = int64_t(index) < op.getNumDpsInputs();
  return (isInput ? inputs : outputs)[size_t(op.getAccess(index))];
}

void ProgramOperands::addInputs(RowwiseOp op) {
  for (auto [i, value] : llvm::enumerate(op.getInputs())) {
    // Not `add`: an argument for each operand, as the region has it.
    Group group = getGroup(op, unsigned(i));
    buffers[group].push_back(value);
    names[group].push_back(op.getOperandName(unsigned(i)));
  }
}

void ProgramOperands::addOutputs(RowwiseOp op,
                                 function_ref<bool(unsigned)> keep) {
  for (auto [i, value] : llvm::enumerate(op.getOutputs())) {
    unsigned operand = op.getNumDpsInputs() + unsigned(i);
    if (keep(unsigned(i)))
      add(getGroup(op, operand), value, op.getOperandName(operand));
  }
}

/// Operands are known by their names, so that those of different buffers
/// differ. An argument of a function has the one that its caller knows.
SmallVector<std::string> ProgramOperands::getNames() const {
  llvm::StringMap<Value> taken;
  SmallVector<std::string> result;
  for (bool isArgument : {true, false})
    for (size_t group = 0; group < groupCount; ++group)
      for (auto [buffer, name] : llvm::zip_equal(buffers[group], names[group]))
        if (isa<BlockArgument>(buffer) == isArgument)
          (void)taken.try_emplace(name, buffer);
  for (size_t group = 0; group < groupCount; ++group)
    for (auto [buffer, name] : llvm::zip_equal(buffers[group], names[group])) {
      std::string unique = name;
      for (unsigned i = 1;
           taken.try_emplace(unique, buffer).first->second != buffer; ++i)
        unique = name + "_" + std::to_string(i);
      result.push_back(unique);
    }
  return result;
}

RowwiseOp ProgramOperands::create(OpBuilder &b, Location loc,
                                  StringRef entry) const {
  SmallVector<std::string> allNames = getNames();
  auto program = RowwiseOp::create(
      b, loc, TypeRange(), entry, buffers[Rows], buffers[Columns],
      buffers[GroupColumns], buffers[Scalars], buffers[Matrices],
      buffers[RowOuts], buffers[ScalarOuts], buffers[ColumnSums],
      buffers[GroupSums], buffers[OuterSums],
      b.getStrArrayAttr(llvm::to_vector_of<StringRef>(allNames)),
      ScheduleAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&program.getBody());
  for (unsigned i = 0; i < program.getNumDpsInputs(); ++i)
    body->addArgument(program.getRegionType(i), loc);
  return program;
}

unsigned ProgramOperands::getOperand(Place place) const {
  unsigned operand = place.index;
  for (unsigned group = 0; group < place.group; ++group)
    operand += unsigned(buffers[group].size());
  return operand;
}

Value ProgramOperands::getArgument(RowwiseOp program, Place place) const {
  return program.getBody().front().getArgument(getOperand(place));
}

unsigned ProgramOperands::getOutput(Place place) const {
  return getOperand(place) - getOperand({RowOuts, 0});
}

unsigned ProgramOperands::countOutputs() const {
  return getOutput({OuterSums, unsigned(buffers[OuterSums].size())});
}
