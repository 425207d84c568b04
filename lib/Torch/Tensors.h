//===- Tensors.h - Tensors through PyTorch's stable interface ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners of what PyTorch's stable C interface hands out, and the few questions
// that an operator asks of a tensor. The functions throw std::runtime_error
// where PyTorch refuses a call.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TORCH_TENSORS_H
#define LNBWD_LIB_TORCH_TENSORS_H

#include <torch/csrc/stable/library.h>

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

/// A tensor that is owned; null: an optional tensor that was not given.
using Tensor = std::unique_ptr<AtenTensorOpaque, TensorDeleter>;

/// Takes a tensor off the stack of a boxed call. Each argument is taken once
/// and owned from then on. All are to be taken before anything can throw:
/// PyTorch does not free what is left.
Tensor takeTensor(StableIValue value);
Tensor takeOptionalTensor(StableIValue value);

/// PyTorch's number of an lnbwd_element; that of booleans for LNBWD_ELEMENT_I8.
int32_t dtypeOf(int32_t element);
/// The lnbwd_element of a tensor, or -2 if it has another type.
int32_t elementOf(AtenTensorHandle tensor);
/// Whether the shape ends in `sizes`, and whether it is `sizes`.
bool endsIn(AtenTensorHandle tensor, const std::vector<int64_t> &sizes);
bool hasShape(AtenTensorHandle tensor, const std::vector<int64_t> &sizes);
/// The shape without its last `count` dimensions.
std::vector<int64_t> leadingSizes(AtenTensorHandle tensor, size_t count);
int64_t elementCount(AtenTensorHandle tensor);
/// The GPU's index, or below 0 for the CPU.
int32_t deviceIndexOf(AtenTensorHandle tensor);
void *dataOf(AtenTensorHandle tensor);

/// Where tensors are.
struct Device {
  int32_t type;  ///< PyTorch's number of CUDA (which is ROCm's, too) or the CPU
  int32_t index; ///< the GPU's
  bool isGPU() const { return type == aoti_torch_device_type_cuda(); }
};
Device deviceOf(AtenTensorHandle tensor);

/// What kernels take: a multiple of 16 bytes.
bool isAligned(const void *address);

/// The tensor itself if its rows are dense and its address is a multiple of 16
/// bytes; else a copy that is.
Tensor makeDense(Tensor tensor);

/// A new dense tensor on a device.
Tensor allocate(const std::vector<int64_t> &sizes, int32_t dtype,
                Device device);

/// PyTorch's current stream of a GPU.
void *currentStream(int32_t device);

/// Puts values back on a stack, for another operator or as results.
StableIValue give(Tensor tensor);
StableIValue giveOptional(Tensor tensor);
/// A tensor that is not defined, as PyTorch's C++ has them.
StableIValue giveUndefined();

/// Runs an operator in Python on the arguments on a stack, and leaves its
/// results there: that many tensors. It notes the words of an error
/// (lnbwd_torch_note_error), and returns anything: PyTorch would print an
/// exception. Here they are those of a std::runtime_error.
void callPython(const std::string &name, StableIValue *stack, size_t results);

} // namespace lnbwd::torch_operators

#endif // LNBWD_LIB_TORCH_TENSORS_H
