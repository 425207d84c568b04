//===- AtenOverride.cpp - Our kernels as those of PyTorch's operators -----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts our kernels into the places of PyTorch's own for LayerNorm and RMSNorm
// on a kind of device, when Python asks for it (python/lnbwd/aten.py), and
// takes them out again. All that surrounds a kernel is PyTorch's then,
// derivatives in C++ included. What no kernel of ours computes goes on to
// PyTorch's kernel, by the operators lnbwd::_original_*, which are Python and
// hold it.
//
//===----------------------------------------------------------------------===//

#include "Norms.h"

#include <array>
#include <map>
#include <mutex>
#include <stdexcept>

namespace lnbwd::torch_operators {

/// What PyTorch's kernels need an epsilon for that was not given, by the
/// lnbwd_element of the rows, which masks are none of; below 0: not known.
static std::array<double, LNBWD_ELEMENT_F32 + 1> defaultEpsilons = {-1, -1, -1};

/// Whether a parameter is one that PyTorch's kernels take, and ours: of x's
/// type, shape and device. Null is.
static bool fits(const Tensor &parameter, const Tensor &x,
                 const std::vector<int64_t> &shape) {
  return !parameter ||
         (haveSameType(parameter.get(), x.get()) &&
          hasShape(parameter.get(), shape) &&
          isOnGPU(parameter.get()) == isOnGPU(x.get()) &&
          deviceIndexOf(parameter.get()) == deviceIndexOf(x.get()));
}

static bool fits(const Tensor &tensor, int32_t element, int64_t count,
                 const Tensor &x) {
  return elementOf(tensor.get()) == element &&
         elementCount(tensor.get()) == count &&
         isOnGPU(tensor.get()) == isOnGPU(x.get()) &&
         deviceIndexOf(tensor.get()) == deviceIndexOf(x.get());
}

/// Whether kernels of ours can be asked for a call; everything else, wrong
/// arguments included, is PyTorch's.
static bool isOurs(const Tensor &x, const std::vector<int64_t> &shape,
                   const Tensor &weight, const Tensor &bias) {
  return !shape.empty() && endsIn(x.get(), shape) &&
         isComputedByKernels(x.get(), shape) && elementCount(x.get()) != 0 &&
         deviceNumber(x.get()) != -1 && fits(weight, x, shape) &&
         fits(bias, x, shape);
}

/// PyTorch's shape of the statistics: x's, with 1 for what was normalised.
static std::vector<int64_t> statisticsShape(const Tensor &x, size_t count) {
  std::vector<int64_t> sizes = leadingSizes(x.get(), count);
  sizes.insert(sizes.end(), count, 1);
  return sizes;
}

/// The operator in Python that holds PyTorch's kernel.
static std::string nameOfOriginal(NamedOperation operation) {
  return std::string("lnbwd::_original_") + getName(operation);
}

/// (input, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd), and for
/// RMSNorm (input, normalized_shape, weight?, eps?) -> (y, rstd).
template <NamedOperation operation>
static void forward(StableIValue *stack, uint64_t, uint64_t) {
  constexpr bool isLayerNorm = getInfo(operation).hasMean();
  Arguments arguments(stack);
  Tensor x = arguments.takeTensor();
  std::vector<int64_t> shape = arguments.takeIntegers();
  Tensor weight = arguments.takeOptionalTensor();
  Tensor bias = isLayerNorm ? arguments.takeOptionalTensor() : Tensor();
  std::optional<double> given =
      isLayerNorm ? arguments.takeDouble() : arguments.takeOptionalDouble();

  const KernelHandle *kernel = nullptr;
  Norm norm{};
  if (isOurs(x, shape, weight, bias)) {
    norm = describe(operation, x, shape, weight, bias);
    norm.key.epsilon = given.value_or(defaultEpsilons[norm.key.element]);
    if (norm.key.epsilon >= 0)
      kernel = tryToFindKernel(norm.key);
  }
  if (!kernel) {
    StableIValue *place = giveArguments(stack, isLayerNorm, std::move(x), shape,
                                        std::move(weight), std::move(bias));
    *place = isLayerNorm ? torch::stable::detail::from(*given)
                         : torch::stable::detail::from(given);
    return callOriginal(nameOfOriginal(operation).c_str(), stack);
  }
  const std::vector<int64_t> statistics = statisticsShape(x, shape.size());
  giveResults(stack, runForward(*kernel, norm, std::move(x), std::move(weight),
                                std::move(bias), statistics));
}

/// (grad_out, input, normalized_shape, mean, rstd, weight?, bias?, output_mask)
/// -> (dx, dweight, dbias), and without mean, bias and dbias for RMSNorm.
template <NamedOperation operation>
static void backward(StableIValue *stack, uint64_t, uint64_t) {
  constexpr bool isLayerNorm = getInfo(operation).hasMean();
  Arguments arguments(stack);
  Tensor dy = arguments.takeTensor();
  Tensor x = arguments.takeTensor();
  std::vector<int64_t> shape = arguments.takeIntegers();
  Tensor mean = isLayerNorm ? arguments.takeTensor() : Tensor();
  Tensor rstd = arguments.takeTensor();
  Tensor weight = arguments.takeOptionalTensor();
  Tensor bias = isLayerNorm ? arguments.takeOptionalTensor() : Tensor();
  std::vector<bool> mask = arguments.takeBooleans();

  const KernelHandle *kernel = nullptr;
  Norm norm{};
  if (isOurs(x, shape, weight, bias)) {
    norm = describe(operation, x, shape, weight, bias);
    norm.key.wants = wantsOf(mask, weight, bias);
    if (norm.key.wants != 0 &&
        fits(dy, norm.key.element, elementCount(x.get()), x) &&
        (!mean || fits(mean, LNBWD_ELEMENT_F32, norm.rows, x)) &&
        fits(rstd, LNBWD_ELEMENT_F32, norm.rows, x))
      kernel = tryToFindKernel(norm.key);
  }
  if (!kernel) {
    StableIValue *place = stack;
    *place++ = give(std::move(dy));
    *place++ = give(std::move(x));
    *place++ = give(shape);
    if (isLayerNorm)
      *place++ = give(std::move(mean));
    *place++ = give(std::move(rstd));
    *place++ = giveOptional(std::move(weight));
    if (isLayerNorm)
      *place++ = giveOptional(std::move(bias));
    *place = give(mask);
    return callOriginal(nameOfOriginal(operation).c_str(), stack);
  }
  BackwardResults results =
      runBackward(*kernel, norm, std::move(dy), std::move(x), std::move(mean),
                  std::move(rstd), std::move(weight), bias);
  *stack++ = giveOrUndefined(std::move(results.dx));
  *stack++ = giveOrUndefined(std::move(results.dweight));
  if (isLayerNorm)
    *stack = giveOrUndefined(std::move(results.dbias));
}

} // namespace lnbwd::torch_operators

//===----------------------------------------------------------------------===//
// Python's side. C's names and typedefs, not those of the C++ code:
// NOLINTBEGIN(readability-identifier-naming)
//===----------------------------------------------------------------------===//

using lnbwd::NamedOperation;
using namespace lnbwd::torch_operators;

#define LNBWD_TORCH_API extern "C" __attribute__((visibility("default")))

/// Overrides PyTorch's kernels for a dispatch key, "CUDA" or "CPU", or takes
/// ours out again. 0: done; else PyTorch refused it.
LNBWD_TORCH_API int lnbwd_torch_override_aten(const char *dispatch_key,
                                              int is_on) {
  using torch::stable::detail::StableLibrary;
  static std::mutex mutex;
  static auto *libraries =
      new std::map<std::string, std::unique_ptr<StableLibrary>>();
  std::lock_guard lock(mutex);
  auto &library = (*libraries)[dispatch_key];
  library.reset();
  if (!is_on)
    return 0;
  try {
    library = std::make_unique<StableLibrary>(StableLibrary::Kind::IMPL, "aten",
                                              dispatch_key, __FILE__, __LINE__);
    library->impl("native_layer_norm", forward<NamedOperation::LayerNorm>)
        .impl("native_layer_norm_backward",
              backward<NamedOperation::LayerNormBwd>)
        .impl("_fused_rms_norm", forward<NamedOperation::RmsNorm>)
        .impl("_fused_rms_norm_backward", backward<NamedOperation::RmsNormBwd>);
  } catch (const std::exception &) {
    library.reset();
    return 1;
  }
  return 0;
}

/// Says what epsilon stands for one that was not given; below 0: not known.
/// Gives 0, or 1 for elements that no rows are of.
LNBWD_TORCH_API int lnbwd_torch_set_default_epsilon(int32_t element,
                                                    double epsilon) {
  if (element < 0 || static_cast<size_t>(element) >= defaultEpsilons.size())
    return 1;
  defaultEpsilons[element] = epsilon;
  return 0;
}

// NOLINTEND(readability-identifier-naming)
