//===- ProgramOperands.cpp - A row program put together -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/ProgramOperands.h"

#include "OperandForms.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace lnbwd;

using P = ProgramOperands;

P::Place P::addInput(Value buffer, AffineMap map, StringRef name) {
  inputs.push_back(
      {buffer, buffer.getType(), map, name.str(), Reduction::None});
  return {false, unsigned(inputs.size()) - 1};
}

P::Place P::addOutput(Value buffer, AffineMap map, StringRef name,
                      Reduction reduction) {
  outputs.push_back({buffer, buffer.getType(), map, name.str(), reduction});
  return {true, unsigned(outputs.size()) - 1};
}

P::Place P::add(bool isOutput, Type type, AffineMap map, StringRef name,
                Reduction reduction) {
  if (isOutput && reduction == Reduction::None &&
      detail::countDims(map, 0, numRowDims) < numRowDims)
    reduction = Reduction::Add;
  auto &operands = isOutput ? outputs : inputs;
  operands.push_back({Value(), type, map, name.str(), reduction});
  return {isOutput, unsigned(operands.size()) - 1};
}

/// The map of a buffer with a column dimension for each of `lengths`, to which
/// it adds its own.
static AffineMap makeMap(SmallVectorImpl<int64_t> &lengths, Value buffer,
                         bool hasRows) {
  SmallVector<unsigned> dims;
  if (hasRows)
    dims.push_back(0);
  // The two dimensions of a square matrix differ.
  for (int64_t size : llvm::reverse(
           cast<ShapedType>(buffer.getType()).getShape().drop_front(hasRows))) {
    unsigned dim = 0;
    while (dim < lengths.size() &&
           (lengths[dim] != size || llvm::is_contained(dims, dim + 1)))
      ++dim;
    if (dim == lengths.size())
      lengths.push_back(size);
    dims.insert(dims.begin() + hasRows, dim + 1);
  }
  return AffineMap::getMultiDimMapWithTargets(unsigned(lengths.size()) + 1,
                                              dims, buffer.getContext());
}

P::Place P::addInput(Value buffer, bool hasRows, StringRef name) {
  AffineMap map = makeMap(lengths, buffer, hasRows);
  auto *known = llvm::find_if(inputs, [&](const Operand &input) {
    return input.buffer == buffer && input.map.getResults() == map.getResults();
  });
  if (known != inputs.end())
    return {false, unsigned(known - inputs.begin())};
  return addInput(buffer, map, name);
}

P::Place P::addOutput(Value buffer, bool hasRows, StringRef name) {
  return addOutput(buffer, makeMap(lengths, buffer, hasRows), name,
                   hasRows ? Reduction::None : Reduction::Add);
}

/// Operands are known by their names, so that those of different buffers
/// differ. An argument of a function has the one that its caller knows.
SmallVector<std::string> P::makeNames() const {
  SmallVector<const Operand *> operands;
  for (unsigned index : inputOrder)
    operands.push_back(&inputs[index]);
  for (unsigned index : outputOrder)
    operands.push_back(&outputs[index]);
  llvm::StringMap<Value> taken;
  for (bool isArgument : {true, false})
    for (const Operand *operand : operands)
      if (isa<BlockArgument>(operand->buffer) == isArgument)
        (void)taken.try_emplace(operand->name, operand->buffer);
  SmallVector<std::string> names;
  for (const Operand *operand : operands) {
    std::string unique = operand->name;
    for (unsigned i = 1;
         taken.try_emplace(unique, operand->buffer).first->second !=
         operand->buffer;
         ++i)
      unique = operand->name + "_" + std::to_string(i);
    names.push_back(unique);
  }
  return names;
}

RowwiseOp P::create(OpBuilder &b, Location loc, StringRef entry,
                    TypeRange resultTypes,
                    function_ref<Value(Type)> makeBuffer) {
  unsigned numDims = 0;
  for (const Operand &operand : llvm::concat<Operand>(inputs, outputs))
    numDims = std::max(numDims, operand.map.getNumDims());
  SmallVector<Attribute> maps, combined, reductions;
  SmallVector<Type> types;
  for (Operand &operand : llvm::concat<Operand>(inputs, outputs)) {
    operand.map = AffineMap::get(numDims, operand.map.getNumSymbols(),
                                 operand.map.getResults(), b.getContext());
    maps.push_back(AffineMapAttr::get(operand.map));
    types.push_back(operand.type);
  }
  for (const Operand &operand : outputs)
    combined.push_back(ReductionAttr::get(b.getContext(), operand.reduction));
  detail::OperandForms forms(numRowDims, maps, combined, types);

  SmallVector<Attribute> sortedMaps;
  auto sort = [&](SmallVectorImpl<Operand> &operands, bool isOutput,
                  SmallVectorImpl<unsigned> &order) {
    llvm::append_range(order, llvm::seq<unsigned>(0, operands.size()));
    llvm::stable_sort(order, [&](unsigned l, unsigned r) {
      auto place = [&](unsigned i) {
        return detail::getAccessOrder(
            forms.getAccess(i + (isOutput ? unsigned(inputs.size()) : 0)),
            isOutput);
      };
      return place(l) < place(r);
    });
    SmallVector<Value> buffers;
    for (unsigned index : order) {
      Operand &operand = operands[index];
      if (!operand.buffer)
        operand.buffer = makeBuffer(operand.type);
      buffers.push_back(operand.buffer);
      sortedMaps.push_back(AffineMapAttr::get(operand.map));
      if (isOutput)
        reductions.push_back(combined[index]);
    }
    return buffers;
  };
  SmallVector<Value> ins = sort(inputs, false, inputOrder);
  SmallVector<Value> outs = sort(outputs, true, outputOrder);
  SmallVector<std::string> names = makeNames();
  program = RowwiseOp::create(
      b, loc, resultTypes, entry, ins, outs, b.getArrayAttr(sortedMaps),
      numRowDims, b.getArrayAttr(reductions), /*operand_forms=*/ArrayAttr(),
      b.getStrArrayAttr(llvm::to_vector_of<StringRef>(names)), ScheduleAttr(),
      /*row_ratio=*/{}, /*leaves=*/IntegerAttr());
  program.updateForms();
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&program.getBody());
  for (auto [index, buffer] : llvm::enumerate(ins))
    body->addArgument(program.getRegionType(unsigned(index)), buffer.getLoc());
  results.resize(outputs.size());
  return program;
}

Value P::getArgument(Place place) {
  assert(!place.isOutput && "an output is no argument");
  return program.getBody().front().getArgument(
      unsigned(llvm::find(inputOrder, place.index) - inputOrder.begin()));
}

unsigned P::getOutput(Place place) const {
  assert(place.isOutput && "an input is no output");
  return unsigned(llvm::find(outputOrder, place.index) - outputOrder.begin());
}

void P::setResult(Place place, Value value) {
  results[getOutput(place)] = value;
}

void P::yield(OpBuilder &b, Location loc) { YieldOp::create(b, loc, results); }
