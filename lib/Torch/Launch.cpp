//===- Launch.cpp - From tensors to a launch ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include <stdexcept>

namespace lnbwd::torch_operators {

static void check(lnbwd_status status) {
  if (status != LNBWD_SUCCESS)
    throw std::runtime_error(std::string(lnbwd_last_error()) + " [" +
                             lnbwd_status_name(status) + "]");
}

namespace {

/// Memory of the simulated device.
class SimulatedBuffer {
public:
  SimulatedBuffer(const lnbwd_device *device, size_t bytes) : device(device) {
    check(lnbwd_malloc(device, bytes, &pointer));
  }
  SimulatedBuffer(SimulatedBuffer &&other) noexcept
      : device(other.device), pointer(std::exchange(other.pointer, nullptr)) {}
  SimulatedBuffer(const SimulatedBuffer &) = delete;
  SimulatedBuffer &operator=(const SimulatedBuffer &) = delete;
  SimulatedBuffer &operator=(SimulatedBuffer &&) = delete;
  ~SimulatedBuffer() { lnbwd_free(device, pointer); }

  void *get() const { return pointer; }

private:
  const lnbwd_device *device;
  void *pointer = nullptr;
};

} // namespace

static void launchSimulated(const LoadedKernel &kernel, int64_t rows,
                            int64_t groups,
                            const std::vector<AtenTensorHandle> &tensors) {
  std::vector<SimulatedBuffer> buffers;
  std::vector<void *> pointers;
  std::vector<lnbwd_argument_info> infos(tensors.size());
  std::vector<size_t> sizes(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(lnbwd_program_argument(kernel.program, i, &infos[i]));
    check(lnbwd_program_argument_size_grouped(kernel.program, i, rows, groups,
                                              &sizes[i]));
    pointers.push_back(buffers.emplace_back(kernel.device, sizes[i]).get());
    if (infos[i].access != LNBWD_ACCESS_WRITE && sizes[i] != 0)
      check(lnbwd_copy_to_device(kernel.device, pointers[i], dataOf(tensors[i]),
                                 sizes[i]));
  }
  size_t bytes = 0;
  check(
      lnbwd_kernel_workspace_size_grouped(kernel.kernel, rows, groups, &bytes));
  SimulatedBuffer workspace(kernel.device, bytes);
  check(lnbwd_kernel_launch_grouped(kernel.kernel, pointers.data(),
                                    pointers.size(), rows, groups,
                                    workspace.get(), bytes, nullptr));
  check(lnbwd_synchronize(kernel.device, nullptr));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (infos[i].access != LNBWD_ACCESS_READ && sizes[i] != 0)
      check(lnbwd_copy_to_host(kernel.device, dataOf(tensors[i]), pointers[i],
                               sizes[i]));
}

void launch(const LoadedKernel &kernel, int64_t rows,
            const std::vector<AtenTensorHandle> &tensors, const Tensor &like,
            int64_t groups) {
  if (!kernel.kernel)
    return;
  if (!isOnGPU(like.get()))
    return launchSimulated(kernel, rows, groups, tensors);
  size_t bytes = 0;
  check(
      lnbwd_kernel_workspace_size_grouped(kernel.kernel, rows, groups, &bytes));
  // Freed on return, which is sound: PyTorch gives the memory to later work of
  // the stream.
  Tensor workspace;
  if (bytes != 0)
    workspace =
        allocate({static_cast<int64_t>(bytes)}, aoti_torch_dtype_uint8(), like);
  std::vector<void *> pointers;
  pointers.reserve(tensors.size());
  for (AtenTensorHandle tensor : tensors)
    pointers.push_back(dataOf(tensor));
  check(lnbwd_kernel_launch_grouped(
      kernel.kernel, pointers.data(), pointers.size(), rows, groups,
      workspace ? dataOf(workspace.get()) : nullptr, bytes,
      currentStream(deviceIndexOf(like.get()))));
}

} // namespace lnbwd::torch_operators
