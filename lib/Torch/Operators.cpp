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

[[noreturn]] static void fail(const std::string &message) {
  throw std::runtime_error("lnbwd: " + message);
}

/// Where a kernel would read or write beyond a tensor's end, or take its bits
/// for another type, the call is refused.
static void expect(const char *name, const Tensor &tensor, int32_t element,
                   int64_t count, const Tensor &x) {
  if (elementOf(tensor.get()) != element)
    fail(std::string(name) + ": expected another element type; see lnbwd." +
         getName(NamedOperation::LayerNorm) + ", which converts it");
  if (elementCount(tensor.get()) != count)
    fail(std::string(name) + ": expected " + std::to_string(count) +
         " elements, got " + std::to_string(elementCount(tensor.get())));
  if (deviceIndexOf(tensor.get()) != deviceIndexOf(x.get()))
    fail(std::string(name) + ": expected a tensor on the device of x");
}

/// What every operator is called with, refused where it does not fit together.
/// lnbwd.functional has the words for users.
static void verify(AtenTensorHandle x, const std::vector<int64_t> &shape,
                   AtenTensorHandle weight, AtenTensorHandle bias) {
  if (shape.empty() || !endsIn(x, shape))
    fail("x: expected a shape that ends in normalized_shape");
  if ((elementOf(x) < 0 || elementOf(x) == LNBWD_ELEMENT_I8) && !isFloat64(x))
    fail("x: expected float16, bfloat16, float32 or float64");
  for (AtenTensorHandle parameter : {weight, bias}) {
    if (!parameter)
      continue;
    const char *name = parameter == weight ? "weight" : "bias";
    if (!hasShape(parameter, shape))
      fail(std::string(name) + ": expected the shape normalized_shape");
    if (isOnGPU(parameter) != isOnGPU(x) ||
        deviceIndexOf(parameter) != deviceIndexOf(x))
      fail(std::string(name) + ": expected a tensor on the device of x");
    if (!haveSameType(parameter, x) &&
        (isFloat64(x) || elementOf(parameter) != LNBWD_ELEMENT_F32))
      fail(std::string(name) + ": expected the type of x or float32");
  }
}

/// The operator in Python that does the same with PyTorch's operations.
static std::string nameByTorch(NamedOperation operation) {
  return std::string("lnbwd::_") + getName(operation) + "_by_torch";
}

/// (x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd), and without
/// bias and mean for RMSNorm.
template <NamedOperation operation>
static void forward(StableIValue *stack, uint64_t, uint64_t) {
  constexpr bool isLayerNorm = getInfo(operation).hasMean();
  Arguments arguments(stack);
  Tensor x = arguments.takeTensor();
  std::vector<int64_t> shape = arguments.takeIntegers();
  Tensor weight = arguments.takeOptionalTensor();
  Tensor bias = isLayerNorm ? arguments.takeOptionalTensor() : Tensor();
  double epsilon = arguments.takeDouble();

  verify(x.get(), shape, weight.get(), bias.get());
  if (!(epsilon >= 0))
    fail("eps: expected a number that is 0 or more");
  if (!isComputedByKernels(x.get(), shape)) {
    *giveArguments(stack, isLayerNorm, std::move(x), shape, std::move(weight),
                   std::move(bias)) = torch::stable::detail::from(epsilon);
    return callOperator(nameByTorch(operation).c_str(), stack);
  }
  Norm norm = describe(operation, x, shape, weight, bias);
  norm.key.epsilon = epsilon;
  const KernelHandle &kernel = findKernel(norm.key);
  const std::vector<int64_t> leading = leadingSizes(x.get(), shape.size());
  giveResults(stack, runForward(kernel, norm, std::move(x), std::move(weight),
                                std::move(bias), leading));
}

/// (dy, x, mean, rstd, weight?, bias?, normalized_shape, mask)
/// -> (dx, dweight, dbias), and without mean, bias and dbias for RMSNorm.
template <NamedOperation operation>
static void backward(StableIValue *stack, uint64_t, uint64_t) {
  constexpr bool isLayerNorm = getInfo(operation).hasMean();
  Arguments arguments(stack);
  Tensor dy = arguments.takeTensor();
  Tensor x = arguments.takeTensor();
  Tensor mean = isLayerNorm ? arguments.takeTensor() : Tensor();
  Tensor rstd = arguments.takeTensor();
  Tensor weight = arguments.takeOptionalTensor();
  Tensor bias = isLayerNorm ? arguments.takeOptionalTensor() : Tensor();
  std::vector<int64_t> shape = arguments.takeIntegers();
  std::vector<bool> mask = arguments.takeBooleans();

  verify(x.get(), shape, weight.get(), bias.get());
  if (mask.size() != (isLayerNorm ? 3 : 2))
    fail("mask: expected a truth value for each gradient, got " +
         std::to_string(mask.size()));
  if (!isComputedByKernels(x.get(), shape)) {
    StableIValue *place = stack;
    *place++ = give(std::move(dy));
    *place++ = give(std::move(x));
    if (isLayerNorm)
      *place++ = give(std::move(mean));
    *place++ = give(std::move(rstd));
    *place++ = giveOptional(std::move(weight));
    if (isLayerNorm)
      *place++ = giveOptional(std::move(bias));
    *place++ = give(shape);
    *place = give(mask);
    return callOperator(nameByTorch(operation).c_str(), stack);
  }
  Norm norm = describe(operation, x, shape, weight, bias);
  expect("dy", dy, norm.key.element, elementCount(x.get()), x);
  if (mean)
    expect("mean", mean, LNBWD_ELEMENT_F32, norm.rows, x);
  expect("rstd", rstd, LNBWD_ELEMENT_F32, norm.rows, x);
  norm.key.wants = wantsOf(mask, weight, bias);

  // What is not asked for is a tensor without elements.
  const uint32_t wants = norm.key.wants;
  Tensor noX = wants & kWantsX ? Tensor() : allocateEmpty(x);
  Tensor noWeight = wants & kWantsWeight ? Tensor() : allocateEmpty(x);
  Tensor noBias =
      wants & kWantsBias || !isLayerNorm ? Tensor() : allocateEmpty(x);
  BackwardResults results;
  if (wants != 0)
    results =
        runBackward(findKernel(norm.key), norm, std::move(dy), std::move(x),
                    std::move(mean), std::move(rstd), std::move(weight), bias);
  *stack++ = give(std::move(wants & kWantsX ? results.dx : noX));
  *stack++ = give(std::move(wants & kWantsWeight ? results.dweight : noWeight));
  if (isLayerNorm)
    *stack = give(std::move(wants & kWantsBias ? results.dbias : noBias));
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
static int64_t regionGroups(const Region &region,
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
static RegionSize regionSize(const Region &region,
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
  const Region &program = findRegion(name.text, deviceNumber(inputs[0].get()));
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
  add(NamedOperation::LayerNorm, forward<NamedOperation::LayerNorm>);
  add(NamedOperation::LayerNormBwd, backward<NamedOperation::LayerNormBwd>);
  add(NamedOperation::RmsNorm, forward<NamedOperation::RmsNorm>);
  add(NamedOperation::RmsNormBwd, backward<NamedOperation::RmsNormBwd>);
  library.impl("_region", region);
}

} // namespace lnbwd::torch_operators

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CUDA, library) {
  lnbwd::torch_operators::registerKernels(library);
}

STABLE_TORCH_LIBRARY_IMPL(lnbwd, CPU, library) {
  lnbwd::torch_operators::registerKernels(library);
}
