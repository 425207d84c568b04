//===- Regions.cpp - Any row program, from dispatch to launch -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of lnbwd::_region, which python/lnbwd/regions_op.py defines, for
// CUDA (which is ROCm's key, too) and for the CPU, where the simulator runs it.
// Through PyTorch's stable interface, so that one binary serves PyTorch 2.10
// and later. There is no Python between the dispatcher and the launch.
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"
#include "TensorLaunch.h"
#include "Tensors.h"

namespace lnbwd::torch_operators {

/// M, and B, the number of groups of rows, 1 where the program has none.
struct RegionSize {
  int64_t rows = -1;
  int64_t groups = 1;
};

/// M and B: of the first inputs with all rows, of groups, and of the rows of a
/// group; where the outputs alone have groups, B is the first dimension of the
/// first row block.
static RegionSize countRows(const RowProgram &region,
                            const std::vector<Tensor> &inputs) {
  auto find = [&](bool hasGroups, bool hasRows) -> int64_t {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const KindInfo &kind = region.inputs[i].kindInfo();
      if (kind.hasGroups == hasGroups && kind.hasRows == hasRows)
        return elementCount(inputs[i].get()) / region.inputs[i].rowLength;
    }
    return -1;
  };
  RegionSize size;
  size.rows = find(true, true);
  if (!region.hasGroups())
    return size;
  int64_t groups = find(true, false), rowsOfGroup = find(false, true);
  if (groups >= 0)
    size.groups = groups;
  else if (rowsOfGroup >= 0)
    size.groups = rowsOfGroup ? size.rows / rowsOfGroup : 0;
  else
    for (size_t i = 0; i < inputs.size(); ++i)
      if (region.inputs[i].kind == LNBWD_ARGUMENT_ROW_BLOCK) {
        size.groups = leadingSizes(inputs[i].get(), 0).front();
        break;
      }
  return size;
}

/// The sizes, or nothing where an input is none that the program takes.
static std::optional<RegionSize> findSize(const RowProgram &region,
                                          const std::vector<Tensor> &inputs) {
  if (inputs.size() != region.inputs.size())
    return std::nullopt;
  RegionSize size = countRows(region, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand &operand = region.inputs[i];
    AtenTensorHandle tensor = inputs[i].get();
    if (elementOf(tensor) != operand.element ||
        deviceIndexOf(tensor) != deviceIndexOf(inputs[0].get()) ||
        elementCount(tensor) !=
            operand.kindInfo().countRows(size.rows, size.groups) *
                operand.rowLength)
      return std::nullopt;
  }
  return size;
}

/// (inputs, program) -> outputs
static void region(StableIValue *stack, uint64_t, uint64_t) {
  Arguments arguments(stack);
  std::vector<Tensor> inputs = arguments.takeTensors();
  String name = arguments.takeString();
  const RowProgram *program =
      inputs.empty() ? nullptr
                     : lookUpProgram(name.text, deviceNumber(inputs[0].get()));
  std::optional<RegionSize> size;
  if (program)
    size = findSize(*program, inputs);
  if (!size) {
    stack[0] = give(std::move(inputs));
    stack[1] = give(std::move(name));
    return callPython("lnbwd::_region_in_python", stack, 0);
  }

  std::vector<Tensor> outputs;
  for (const Operand &operand : program->outputs) {
    const KindInfo &kind = operand.kindInfo();
    std::vector<int64_t> sizes;
    if (kind.hasGroups || kind.hasRows)
      sizes.push_back(kind.countRows(size->rows, size->groups));
    if (kind.hasColumns)
      sizes.push_back(operand.rowLength);
    outputs.push_back(allocate(sizes, dtypeOf(operand.element), inputs[0]));
  }
  LaunchTensors tensors;
  for (Tensor &input : inputs)
    tensors.input(std::move(input));
  for (const Tensor &output : outputs)
    tensors.output(output);
  launch(*program, size->rows, tensors.addresses(), deviceOf(outputs[0].get()),
         size->groups);

  *stack = give(std::move(outputs));
}

} // namespace lnbwd::torch_operators

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CUDA, library) {
  library.impl("_region", lnbwd::torch_operators::region);
}

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CPU, library) {
  library.impl("_region", lnbwd::torch_operators::region);
}
