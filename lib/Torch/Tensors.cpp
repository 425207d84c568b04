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

// Of PyTorch 2.12 and later.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((weak)) int32_t aoti_torch_dtype_float8_e8m0fnu();

namespace lnbwd::torch_operators {

static void check(AOTITorchError error, const char *what) {
  if (error != 0)
    throw std::runtime_error(std::string("lnbwd: PyTorch ") + what);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Tensor takeTensor(StableIValue value) {
  return Tensor(torch::stable::detail::to<AtenTensorHandle>(value));
}

Tensor takeOptionalTensor(StableIValue value) {
  using Inner = std::optional<AtenTensorHandle>;
  return Tensor(torch::stable::detail::to<Inner>(value).value_or(nullptr));
}

StableIValue give(Tensor tensor) {
  return torch::stable::detail::from(tensor.release());
}

StableIValue giveOptional(Tensor tensor) {
  if (!tensor)
    return torch::stable::detail::from(std::nullopt);
  return torch::stable::detail::from(
      std::optional<AtenTensorHandle>(tensor.release()));
}

StableIValue giveUndefined() {
  AtenTensorHandle undefined = nullptr;
  check(aoti_torch_new_uninitialized_tensor(&undefined), "made no tensor");
  return give(Tensor(undefined));
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// What PyTorch says of a tensor; `failure`: the words if it does not.
template <typename Value>
static Value ask(AOTITorchError (*function)(AtenTensorHandle, Value *),
                 AtenTensorHandle tensor, const char *failure) {
  Value value{};
  check(function(tensor, &value), failure);
  return value;
}

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

static int32_t dtypeNumber(AtenTensorHandle tensor) {
  return ask(aoti_torch_get_dtype, tensor, "gave no tensor's type");
}

int32_t elementOf(AtenTensorHandle tensor) {
  int32_t dtype = dtypeNumber(tensor);
  for (int32_t element = 0; element < int32_t(kElementCount); ++element)
    if (dtype == dtypeOf(element))
      return element;
  return -2;
}

static int64_t rankOf(AtenTensorHandle tensor) {
  return ask(aoti_torch_get_dim, tensor, "gave no tensor's rank");
}

static const int64_t *shapeOf(AtenTensorHandle tensor) {
  return ask(aoti_torch_get_sizes, tensor, "gave no tensor's shape");
}

bool endsIn(AtenTensorHandle tensor, const std::vector<int64_t> &sizes) {
  int64_t leading = rankOf(tensor) - static_cast<int64_t>(sizes.size());
  return leading >= 0 &&
         std::equal(sizes.begin(), sizes.end(), shapeOf(tensor) + leading);
}

bool hasShape(AtenTensorHandle tensor, const std::vector<int64_t> &sizes) {
  return rankOf(tensor) == static_cast<int64_t>(sizes.size()) &&
         endsIn(tensor, sizes);
}

std::vector<int64_t> leadingSizes(AtenTensorHandle tensor, size_t count) {
  const int64_t *sizes = shapeOf(tensor);
  return {sizes, sizes + rankOf(tensor) - static_cast<int64_t>(count)};
}

int64_t elementCount(AtenTensorHandle tensor) {
  return ask(aoti_torch_get_numel, tensor, "gave no tensor's size");
}

Device deviceOf(AtenTensorHandle tensor) {
  return {ask(aoti_torch_get_device_type, tensor,
              "gave no tensor's kind of device"),
          ask(aoti_torch_get_device_index, tensor, "gave no tensor's device")};
}

int32_t deviceIndexOf(AtenTensorHandle tensor) {
  Device device = deviceOf(tensor);
  return device.isGPU() ? device.index : -1;
}

void *dataOf(AtenTensorHandle tensor) {
  return ask(aoti_torch_get_data_ptr, tensor, "gave no tensor's address");
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

bool isAligned(const void *address) {
  constexpr uintptr_t kArgumentAlignment = 16;
  return reinterpret_cast<uintptr_t>(address) % kArgumentAlignment == 0;
}

Tensor makeDense(Tensor tensor) {
  bool isContiguous =
      ask(aoti_torch_is_contiguous, tensor.get(), "gave no tensor's layout");
  // A number may be an element of another tensor.
  if (isContiguous &&
      (rankOf(tensor.get()) == 0 || isAligned(dataOf(tensor.get()))))
    return tensor;
  using torch::headeronly::MemoryFormat;
  StableIValue stack[] = {
      torch::stable::detail::from(tensor.release()),
      torch::stable::detail::from(
          std::optional<MemoryFormat>(MemoryFormat::Contiguous))};
  check(torch_call_dispatcher("aten::clone", "", stack, TORCH_ABI_VERSION),
        "could not copy a tensor that is not dense");
  return takeTensor(stack[0]);
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
    // These words are known to python/lnbwd/native.py.
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
  check(function(device, &stream), "gave no current stream");
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
    takeTensor(stack[i]);
  throw std::runtime_error(notedError());
}

} // namespace lnbwd::torch_operators

/// Leaves words for callPython, on the thread that calls it.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) void
lnbwd_torch_note_error(const char *words) {
  lnbwd::torch_operators::notedError() = words;
}
