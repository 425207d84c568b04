//===- Tensors.h - Tensors through PyTorch's stable interface ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PyTorch's stable C++ interface lacks, or has at a higher price for each
// call. The functions throw std::runtime_error where PyTorch refuses a call.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_TENSORS_H
#define LNBWD_LIB_TORCH_TENSORS_H

#include <torch/csrc/stable/library.h>
#include <torch/headeronly/util/HeaderOnlyArrayRef.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lnbwd::torch_operators {

struct TensorDeleter {
  void operator()(AtenTensorOpaque *tensor) const {
    aoti_torch_delete_tensor_object(tensor);
  }
};

/// A tensor that is owned; null: one that was not given. (torch::stable::Tensor
/// allocates a counter for each.)
using Tensor = std::unique_ptr<AtenTensorOpaque, TensorDeleter>;

using Sizes = torch::headeronly::IntHeaderOnlyArrayRef;
using torch::stable::detail::from;
using torch::stable::detail::to;

/// Hands a tensor on as an argument or a result.
inline StableIValue give(Tensor tensor) {
  return torch::stable::detail::from(tensor.release());
}

/// PyTorch's number of an lnbwd_element; that of booleans for LNBWD_ELEMENT_I8.
int32_t dtypeOf(int32_t element);
/// The lnbwd_element of a tensor, or -2 if it has another type.
int32_t elementOf(const Tensor &tensor);
int64_t elementCount(const Tensor &tensor);
Sizes sizesOf(const Tensor &tensor);
void *dataOf(const Tensor &tensor);

/// Where tensors are.
struct Device {
  int32_t type;  ///< PyTorch's number of CUDA (which is ROCm's, too) or the CPU
  int32_t index; ///< the GPU's
  bool isGPU() const { return type == aoti_torch_device_type_cuda(); }
  /// The index, or below 0 of the CPU.
  int32_t number() const { return isGPU() ? index : -1; }
};
Device deviceOf(const Tensor &tensor);

/// What kernels take, unless their plan says less: a multiple of 16 bytes.
constexpr int64_t kArgumentAlignment = 16;
bool isAligned(const void *address, int64_t alignment = kArgumentAlignment);

/// Makes a tensor a copy of itself, unless its rows are dense and its address
/// is a multiple of 16 bytes. Gives the address.
void *makeDense(Tensor &tensor);

/// A new dense tensor on a device.
Tensor allocate(const std::vector<int64_t> &sizes, int32_t dtype,
                Device device);

/// PyTorch's current stream of a GPU.
void *currentStream(int32_t device);

/// Runs an operator in Python on the arguments on a stack, and leaves its
/// results there: that many tensors. It notes the words of an error
/// (lnbwd_torch_note_error), and returns anything: PyTorch would print an
/// exception. Here they are those of a std::runtime_error.
void callPython(const std::string &name, StableIValue *stack, size_t results);

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_TENSORS_H
