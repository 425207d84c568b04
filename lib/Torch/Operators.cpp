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

/// B: that of the first group column among the inputs; where the outputs alone
/// have groups, the first dimension of the first row block.
static int64_t regionGroups(const RowProgram &region,
                            const std::vector<Tensor> &inputs) {
  auto isGroupColumn = [](const Operand &operand) {
    return operand.kind == LNBWD_ARGUMENT_GROUP_COLUMN;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (isGroupColumn(region.inputs[i]))
      return elementCount(inputs[i].get()) / region.inputs[i].rowLength;
  if (std::any_of(region.outputs.begin(), region.outputs.end(), isGroupColumn))
    for (size_t i = 0; i < inputs.size(); ++i)
      if (region.inputs[i].kind == LNBWD_ARGUMENT_ROW_BLOCK)
        return leadingSizes(inputs[i].get(), 0).front();
  return 1;
}

/// The sizes, after every input was checked against what the program takes.
static RegionSize regionSize(const RowProgram &region,
                             const std::vector<Tensor> &inputs) {
  if (inputs.size() != region.inputs.size())
    throw std::runtime_error("lnbwd::region: expected " +
                             std::to_string(region.inputs.size()) +
                             " inputs, got " + std::to_string(inputs.size()));
  RegionSize size;
  int64_t &rows = size.rows;
  for (int32_t kind : {LNBWD_ARGUMENT_ROW_BLOCK, LNBWD_ARGUMENT_ROW_SCALAR})
    for (size_t i = 0; i < inputs.size() && rows < 0; ++i)
      if (region.inputs[i].kind == kind)
        rows = elementCount(inputs[i].get()) / region.inputs[i].rowLength;
  size.groups = regionGroups(region, inputs);
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
    int64_t expected = operand.rowLength;
    if (operand.kind == LNBWD_ARGUMENT_GROUP_COLUMN)
      expected *= size.groups;
    else if (operand.kind != LNBWD_ARGUMENT_COLUMN)
      expected *= rows;
    if (elementCount(tensor) != expected)
      throw std::runtime_error(
          input + " (" + getName(static_cast<OperandKind>(operand.kind)) +
          "): expected " + std::to_string(expected) + " elements, got " +
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
    std::vector<int64_t> sizes;
    if (operand.kind == LNBWD_ARGUMENT_GROUP_COLUMN)
      sizes.push_back(size.groups);
    else if (operand.kind != LNBWD_ARGUMENT_COLUMN)
      sizes.push_back(size.rows);
    if (operand.kind != LNBWD_ARGUMENT_ROW_SCALAR)
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
