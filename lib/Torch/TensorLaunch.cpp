//===- TensorLaunch.cpp - From tensors to a launch ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include <stdexcept>

namespace lnbwd::torch_operators {

static void check(lnbwd_status status) {
  if (status != LNBWD_SUCCESS)
    throw std::runtime_error(std::string(lnbwd_last_error()) + " [" +
                             lnbwd_status_name(status) + "]");
}

std::vector<NewTensor> makeOutputs(const RowProgram &program,
                                   const std::vector<int64_t> &rows,
                                   Device device,
                                   const std::vector<int64_t> &columns,
                                   const std::vector<int64_t> &rest) {
  std::vector<NewTensor> outputs;
  for (const Operand &operand : program.outputs) {
    const Dims &dims = operand.dims();
    std::vector<int64_t> sizes;
    if (dims.hasRows)
      sizes = rows;
    if (dims.hasColumns && columns.empty())
      sizes.push_back(operand.rowLength);
    const std::vector<int64_t> &others = dims.hasColumns ? columns : rest;
    sizes.insert(sizes.end(), others.begin(), others.end());
    outputs.push_back(allocate(sizes, dtypeOf(operand.element), device));
  }
  return outputs;
}

namespace {
struct SimulatedMemoryDeleter {
  const lnbwd_device *device;
  void operator()(void *memory) const { lnbwd_free(device, memory); }
};
} // namespace

/// Memory of the simulated device.
using SimulatedMemory = std::unique_ptr<void, SimulatedMemoryDeleter>;

static SimulatedMemory allocateSimulated(const lnbwd_device *device,
                                         size_t bytes) {
  void *memory = nullptr;
  check(lnbwd_malloc(device, bytes, &memory));
  return {memory, {device}};
}

static void launchSimulated(const RowProgram &program, int64_t rows,
                            int64_t groups,
                            const std::vector<void *> &addresses) {
  const lnbwd_device *device = program.device;
  const size_t inputs = program.inputs.size();
  std::vector<SimulatedMemory> buffers;
  std::vector<void *> pointers;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Operand &operand =
        i < inputs ? program.inputs[i] : program.outputs[i - inputs];
    sizes.push_back(operand.elementCount(rows, groups) *
                    getInfo(static_cast<Element>(operand.element)).bytes);
    buffers.push_back(allocateSimulated(device, sizes[i]));
    pointers.push_back(buffers[i].get());
    if (i < inputs && sizes[i] != 0)
      check(lnbwd_copy_to_device(device, pointers[i], addresses[i], sizes[i]));
  }
  size_t bytes = 0;
  check(lnbwd_kernel_workspace_size(program.kernel, rows, groups, &bytes));
  SimulatedMemory workspace = allocateSimulated(device, bytes);
  check(lnbwd_kernel_launch(program.kernel, pointers.data(), pointers.size(),
                            rows, groups, workspace.get(), bytes, nullptr));
  check(lnbwd_synchronize(device, nullptr));
  for (size_t i = inputs; i < addresses.size(); ++i)
    if (sizes[i] != 0)
      check(lnbwd_copy_to_host(device, addresses[i], pointers[i], sizes[i]));
}

void launch(const RowProgram &program, int64_t rows,
            const std::vector<void *> &addresses, Device device,
            int64_t groups) {
  if (!program.kernel)
    return;
  if (!device.isGPU())
    return launchSimulated(program, rows, groups, addresses);
  size_t bytes = 0;
  check(lnbwd_kernel_workspace_size(program.kernel, rows, groups, &bytes));
  // Freed on return, which is sound: PyTorch gives the memory to later work of
  // the stream.
  NewTensor workspace;
  if (bytes != 0)
    workspace = allocate({static_cast<int64_t>(bytes)},
                         aoti_torch_dtype_uint8(), device);
  check(lnbwd_kernel_launch(program.kernel, addresses.data(), addresses.size(),
                            rows, groups,
                            workspace ? dataOf(workspace) : nullptr, bytes,
                            currentStream(device.index)));
}

} // namespace lnbwd::torch_operators
