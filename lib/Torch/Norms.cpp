//===- Norms.cpp - Launches of normalisations -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Norms.h"

#include "TensorLaunch.h"

namespace lnbwd::torch_operators {

static int64_t product(const std::vector<int64_t> &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int32_t deviceNumber(AtenTensorHandle tensor) {
  return isOnGPU(tensor) ? deviceIndexOf(tensor) : simulatedDevice();
}

bool isComputedByKernels(AtenTensorHandle x,
                         const std::vector<int64_t> &shape) {
  return elementOf(x) >= 0 && product(shape) > 0;
}

Norm describe(NamedOperation operation, const Tensor &x,
              const std::vector<int64_t> &shape, const Tensor &weight,
              const Tensor &bias) {
  int64_t rowLength = product(shape);
  int64_t rows = elementCount(x.get()) / rowLength;
  return {{operation, rowLength, elementOf(x.get()),
           weight ? elementOf(weight.get()) : kNoElement,
           bias ? elementOf(bias.get()) : kNoElement, 0, -1,
           deviceNumber(x.get()), rowsHint(rows)},
          rows};
}

void giveResults(StableIValue *stack, ForwardResults results) {
  *stack++ = give(std::move(results.y));
  if (results.mean)
    *stack++ = give(std::move(results.mean));
  *stack = give(std::move(results.rstd));
}

StableIValue *giveArguments(StableIValue *stack, bool hasBias, Tensor x,
                            const std::vector<int64_t> &shape, Tensor weight,
                            Tensor bias) {
  *stack++ = give(std::move(x));
  *stack++ = give(shape);
  *stack++ = giveOptional(std::move(weight));
  if (hasBias)
    *stack++ = giveOptional(std::move(bias));
  return stack;
}

ForwardResults runForward(const KernelHandle &kernel, const Norm &norm,
                          Tensor x, Tensor weight, Tensor bias,
                          const std::vector<int64_t> &statistics) {
  const bool hasMean = norm.key.operation == NamedOperation::LayerNorm;
  Device device = deviceOf(x.get());
  int32_t f32 = dtypeOf(LNBWD_ELEMENT_F32);
  ForwardResults results;
  results.y = allocateLike(x);
  if (hasMean)
    results.mean = allocate(statistics, f32, device);
  results.rstd = allocate(statistics, f32, device);
  LaunchTensors tensors;
  tensors.input(std::move(x));
  tensors.input(std::move(weight));
  tensors.input(std::move(bias));
  tensors.output(results.y);
  tensors.output(results.mean);
  tensors.output(results.rstd);
  launch(kernel, norm.rows, tensors.addresses(), device);
  return results;
}

BackwardResults runBackward(const KernelHandle &kernel, const Norm &norm,
                            Tensor dy, Tensor x, Tensor mean, Tensor rstd,
                            Tensor weight, const Tensor &bias) {
  Device device = deviceOf(x.get());
  BackwardResults results;
  if (norm.key.wants & kWantsX)
    results.dx = allocateLike(x);
  if (norm.key.wants & kWantsWeight)
    results.dweight = allocateLike(weight);
  if (norm.key.wants & kWantsBias)
    results.dbias = allocateLike(bias);
  LaunchTensors tensors;
  tensors.input(std::move(dy));
  tensors.input(std::move(x));
  tensors.input(std::move(weight));
  tensors.input(std::move(mean));
  tensors.input(std::move(rstd));
  tensors.output(results.dx);
  tensors.output(results.dweight);
  tensors.output(results.dbias);
  launch(kernel, norm.rows, tensors.addresses(), device);
  return results;
}

uint32_t wantsOf(const std::vector<bool> &mask, const Tensor &weight,
                 const Tensor &bias) {
  uint32_t wants = 0;
  if (mask[0])
    wants |= kWantsX;
  if (mask[1] && weight)
    wants |= kWantsWeight;
  if (mask.size() > 2 && mask[2] && bias)
    wants |= kWantsBias;
  return wants;
}

} // namespace lnbwd::torch_operators
