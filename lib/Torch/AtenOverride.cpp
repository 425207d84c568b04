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

/// Whether kernels of ours can be asked for a call; everything else, wrong
/// arguments included, is PyTorch's, whose kernels take parameters of x's type
/// alone.
static bool isOurs(const NormCall &call) {
  auto hasTypeOfX = [&](const Tensor &parameter) {
    return !parameter || haveSameType(parameter.get(), call.x.get());
  };
  return hasTypeOfX(call.weight) && hasTypeOfX(call.bias) &&
         deviceNumber(call.x.get()) != -1 && call.findMistake().empty() &&
         call.isComputedByKernels() && call.rows != 0 && call.isAnyWanted();
}

/// One of PyTorch's operators.
template <NamedOperation operation>
static void normalise(StableIValue *stack, uint64_t, uint64_t) {
  NormCall call(operation, /*isAten=*/true, stack);
  if (!call.givenEpsilon && call.element >= 0 &&
      static_cast<size_t>(call.element) < defaultEpsilons.size())
    call.epsilon = defaultEpsilons[call.element];
  const RowProgram *program = isOurs(call) ? call.findProgram() : nullptr;
  if (program)
    return std::move(call).run(program, stack);
  // The operator in Python that holds PyTorch's kernel.
  call.giveBack(stack);
  callOriginal((std::string("lnbwd::_original_") + getName(operation)).c_str(),
               stack);
}

} // namespace lnbwd::torch_operators

//===----------------------------------------------------------------------===//
// Python's side. C's names and typedefs, not those of the C++ code:
// NOLINTBEGIN(readability-identifier-naming)
//===----------------------------------------------------------------------===//

using lnbwd::NamedOperation;
using namespace lnbwd::torch_operators;

#define LNBWD_TORCH_API extern "C" __attribute__((visibility("default")))

/// Overrides PyTorch's kernels for a dispatch key, "CUDA" or "CPU": of the
/// operators of these names, in the order of NamedOperation. Null takes ours
/// out again. 0: done; else PyTorch refused it.
LNBWD_TORCH_API int lnbwd_torch_override_aten(const char *dispatch_key,
                                              const char *const *names) {
  using torch::stable::detail::StableLibrary;
  static std::mutex mutex;
  static auto *libraries =
      new std::map<std::string, std::unique_ptr<StableLibrary>>();
  std::lock_guard lock(mutex);
  auto &library = (*libraries)[dispatch_key];
  library.reset();
  if (!names)
    return 0;
  try {
    library = std::make_unique<StableLibrary>(StableLibrary::Kind::IMPL, "aten",
                                              dispatch_key, __FILE__, __LINE__);
    library->impl(names[0], normalise<NamedOperation::LayerNorm>)
        .impl(names[1], normalise<NamedOperation::RmsNorm>)
        .impl(names[2], normalise<NamedOperation::LayerNormBwd>)
        .impl(names[3], normalise<NamedOperation::RmsNormBwd>);
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
