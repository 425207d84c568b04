//===- Tensors.cpp - Tensors through PyTorch's stable interface -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include "lnbwd/Operations/Operations.h"

#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <dlfcn.h>
#include <stdexcept>
#include <utility>

// Of PyTorch 2.12 and later.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((weak)) int32_t aoti_torch_dtype_float8_e8m0fnu();

namespace lnbwd::torch_operators {

/// The number that PyTorch gives; that of float8_e8m0fnu where it is too old to
/// give one.
static int32_t numberOf(int32_t (*function)()) {
  return function ? function()
                  : static_cast<int32_t>(
                        torch::headeronly::ScalarType::Float8_e8m0fnu);
}

int32_t dtypeOf(int32_t element) {
#define LNBWD_ELEMENT(name, torch) numberOf(aoti_torch_dtype_##torch),
  static const int32_t numbers[] = {
#include "lnbwd/Operations/Operations.h.inc"
  };
#undef LNBWD_ELEMENT
  return numbers[element];
}

/// What PyTorch's C interface says of a tensor.
template <typename Answer>
static Answer ask(AOTITorchError (*question)(AtenTensorHandle, Answer *),
                  const Tensor &tensor) {
  Answer answer{};
  TORCH_ERROR_CODE_CHECK(question(tensor.get(), &answer));
  return answer;
}

int32_t elementOf(const Tensor &tensor) {
  int32_t dtype = ask(aoti_torch_get_dtype, tensor);
  for (int32_t element = 0; element < int32_t(kElementCount); ++element)
    if (dtype == dtypeOf(element))
      return element;
  return -2;
}

int64_t elementCount(const Tensor &tensor) {
  return ask(aoti_torch_get_numel, tensor);
}

Sizes sizesOf(const Tensor &tensor) {
  return {ask(aoti_torch_get_sizes, tensor),
          static_cast<size_t>(ask(aoti_torch_get_dim, tensor))};
}

Device deviceOf(const Tensor &tensor) {
  return {ask(aoti_torch_get_device_type, tensor),
          ask(aoti_torch_get_device_index, tensor)};
}

void *dataOf(const Tensor &tensor) {
  return ask(aoti_torch_get_data_ptr, tensor);
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

bool isAligned(const void *address, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(address) %
             static_cast<uintptr_t>(alignment) ==
         0;
}

void *makeDense(Tensor &tensor) {
  void *address = dataOf(tensor);
  if (isAligned(address) && ask(aoti_torch_is_contiguous, tensor))
    return address;
  using torch::headeronly::MemoryFormat;
  StableIValue stack[] = {give(std::move(tensor)),
                          from(std::optional(MemoryFormat::Contiguous))};
  TORCH_ERROR_CODE_CHECK(
      torch_call_dispatcher("aten::clone", "", stack, TORCH_ABI_VERSION));
  tensor.reset(to<AtenTensorHandle>(stack[0]));
  return dataOf(tensor);
}

Tensor allocate(const std::vector<int64_t> &sizes, int32_t dtype,
                Device device) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  AtenTensorHandle result = nullptr;
  if (aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(),
                               strides.data(), dtype, device.type, device.index,
                               &result) != 0)
    // These words are known to python/lnbwd/ops/native.py.
    throw std::runtime_error("lnbwd: out of memory: PyTorch could not allocate "
                             "a tensor of " +
                             std::to_string(stride) + " elements");
  return Tensor(result);
}

//===----------------------------------------------------------------------===//
// The rest of PyTorch
//===----------------------------------------------------------------------===//

void *currentStream(int32_t device) {
  // In the part of PyTorch that a build for the CPU lacks. It is loaded already
  // where there is a tensor on a GPU; ROCm builds keep CUDA's names.
  using Function = AOTITorchError (*)(int32_t, void **);
  static const auto function = [] {
    for (const char *library : {"libtorch_cuda.so", "libtorch_hip.so"})
      if (void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD))
        if (void *symbol = dlsym(handle, "aoti_torch_get_current_cuda_stream"))
          return reinterpret_cast<Function>(symbol);
    throw std::runtime_error("lnbwd: this build of PyTorch does not say what "
                             "the current stream is; set LNBWD_NATIVE=0 to use "
                             "the operators in Python");
  }();
  void *stream = nullptr;
  TORCH_ERROR_CODE_CHECK(function(device, &stream));
  return stream;
}

/// The words of the last error of an operator in Python, on this thread.
static std::string &notedError() {
  thread_local std::string words;
  return words;
}

void callPython(const std::string &name, StableIValue *stack, size_t results) {
  notedError().clear();
  if (torch_call_dispatcher(name.c_str(), "", stack, TORCH_ABI_VERSION) != 0)
    throw std::runtime_error("lnbwd: an operator in Python failed; its words "
                             "are on the standard error output");
  if (notedError().empty())
    return;
  for (size_t i = 0; i < results; ++i)
    Tensor(to<AtenTensorHandle>(stack[i]));
  throw std::runtime_error(notedError());
}

} // namespace lnbwd::torch_operators

/// Leaves words for callPython, on the thread that calls it.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) void
lnbwd_torch_note_error(const char *words) {
  // NOLINTEND(readability-identifier-naming)
  lnbwd::torch_operators::notedError() = words;
}
