//===- Operators.cpp - PyTorch's operators, from dispatch to launch -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of the operators that python/lnbwd/ops.py and regions_op.py
// define, for CUDA (which is ROCm's key, too) and for the CPU, where the
// simulator runs them. Through PyTorch's stable interface, so that one binary
// serves PyTorch 2.10 and later. There is no Python between the dispatcher and
// the launch, but for the first call of a kernel, which loads it. What no
// kernel of ours computes goes on to the operators ending in _by_torch, which
// are Python.
//
//===----------------------------------------------------------------------===//

#include "Norms.h"
#include "TensorLaunch.h"

#include <algorithm>
#include <stdexcept>

namespace lnbwd::torch_operators {

/// An operator for a normalisation.
template <NamedOperation operation>
static void normalise(StableIValue *stack, uint64_t, uint64_t) {
  NormCall call(operation, /*isAten=*/false, stack);
  std::string mistake = call.findMistake();
  if (!mistake.empty())
    throw std::runtime_error("lnbwd: " + mistake);
  if (!call.isComputedByKernels()) {
    // The operator in Python that does the same with PyTorch's operations.
    call.giveBack(stack);
    std::string name = std::string("lnbwd::_") + getName(operation);
    return callOperator((name + "_by_torch").c_str(), stack);
  }
  const RowProgram *program = call.isAnyWanted() ? call.findProgram() : nullptr;
  std::move(call).run(program, stack);
}

//===----------------------------------------------------------------------===//
// Any row program
//===----------------------------------------------------------------------===//

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

/// The sizes, after every input was checked against what the program takes.
static RegionSize regionSize(const RowProgram &region,
                             const std::vector<Tensor> &inputs) {
  if (inputs.size() != region.inputs.size())
    throw std::runtime_error("lnbwd::region: expected " +
                             std::to_string(region.inputs.size()) +
                             " inputs, got " + std::to_string(inputs.size()));
  RegionSize size = countRows(region, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand &operand = region.inputs[i];
    AtenTensorHandle tensor = inputs[i].get();
    std::string input = "lnbwd::region: input " + std::to_string(i);
    int32_t element = elementOf(tensor);
    static const char *const types[] = {"f16", "bf16", "f32", "bool"};
    if (element != operand.element)
      throw std::runtime_error(
          input + ": expected " + types[operand.element] + ", got " +
          (element < 0 ? "a type that no kernel has" : types[element]));
    if (deviceIndexOf(tensor) != deviceIndexOf(inputs[0].get()))
      throw std::runtime_error(input +
                               ": expected a tensor on the device of input 0");
    const KindInfo &kind = operand.kindInfo();
    int64_t expected =
        kind.countRows(size.rows, size.groups) * operand.rowLength;
    if (elementCount(tensor) != expected)
      throw std::runtime_error(input + " (" + kind.name + "): expected " +
                               std::to_string(expected) + " elements, got " +
                               std::to_string(elementCount(tensor)));
  }
  return size;
}

/// (inputs, program) -> outputs
static void region(StableIValue *stack, uint64_t, uint64_t) {
  Arguments arguments(stack);
  std::vector<Tensor> inputs = arguments.takeTensors();
  String name = arguments.takeString();
  if (inputs.empty())
    throw std::runtime_error("lnbwd::region: expected inputs, got none");
  const RowProgram &program =
      findProgram(name.text, deviceNumber(inputs[0].get()));
  RegionSize size = regionSize(program, inputs);
  if (program.isByTorch) {
    stack[0] = give(std::move(inputs));
    stack[1] = give(std::move(name));
    return callOperator("lnbwd::_region_by_torch", stack);
  }

  std::vector<Tensor> outputs;
  for (const Operand &operand : program.outputs) {
    const KindInfo &kind = operand.kindInfo();
    std::vector<int64_t> sizes;
    if (kind.hasGroups || kind.hasRows)
      sizes.push_back(kind.countRows(size.rows, size.groups));
    if (kind.hasColumns)
      sizes.push_back(operand.rowLength);
    outputs.push_back(allocate(sizes, dtypeOf(operand.element), inputs[0]));
  }
  LaunchTensors tensors;
  for (Tensor &input : inputs)
    tensors.input(std::move(input));
  for (const Tensor &output : outputs)
    tensors.output(output);
  launch(program.kernel, size.rows, tensors.addresses(),
         deviceOf(outputs[0].get()), size.groups);

  *stack = give(std::move(outputs));
}

static void registerKernels(torch::stable::detail::StableLibrary &library) {
  auto add = [&](NamedOperation operation, auto *kernel) {
    library.impl((std::string("_") + getName(operation)).c_str(), kernel);
  };
  add(NamedOperation::LayerNorm, normalise<NamedOperation::LayerNorm>);
  add(NamedOperation::LayerNormBwd, normalise<NamedOperation::LayerNormBwd>);
  add(NamedOperation::RmsNorm, normalise<NamedOperation::RmsNorm>);
  add(NamedOperation::RmsNormBwd, normalise<NamedOperation::RmsNormBwd>);
  library.impl("_region", region);
}

} // namespace lnbwd::torch_operators

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CUDA, library) {
  lnbwd::torch_operators::registerKernels(library);
}

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CPU, library) {
  lnbwd::torch_operators::registerKernels(library);
}
