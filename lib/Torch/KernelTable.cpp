//===- KernelTable.cpp - Loaded row programs by their names ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table, launches of what it has, and the functions by which Python fills
// it (python/lnbwd/ops/native.py binds them by ctypes).
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <utility>

namespace lnbwd::torch_operators {

namespace {

struct Tables {
  std::shared_mutex mutex;
  /// By place, then by the program's name.
  std::map<int32_t, std::map<std::string, RowProgram, std::less<>>> programs;
  /// The number of each that was met.
  std::map<std::string, int32_t> simulatedChips;
  /// The chip of `with lnbwd.simulate()`; empty: the environment decides.
  std::string chosenChip;
  /// Whether kernels add in the canonical order (lnbwd.batch_invariant).
  std::atomic<bool> isBatchInvariant = false;
};

} // namespace

/// Never destroyed: threads may still launch while the process ends.
static Tables &tables() {
  static auto *instance = new Tables();
  return *instance;
}

const RowProgram *lookUpProgram(std::string_view name, int32_t place) {
  Tables &all = tables();
  std::shared_lock lock(all.mutex);
  auto inPlace = all.programs.find(place);
  if (inPlace == all.programs.end())
    return nullptr;
  auto found = inPlace->second.find(name);
  return found == inPlace->second.end() ? nullptr : &found->second;
}

int64_t rowsHint(int64_t rows) {
  constexpr int64_t kLeast = 64, kMost = 1 << 20, kFew = 1 << 10;
  rows = std::clamp(rows, kLeast, kMost);
  int64_t below = kLeast;
  while (2 * below <= rows)
    below *= 2;
  int64_t above = 2 * below;
  if (below < kFew) {
    int64_t between = below / 2 * 3;
    if (rows < between)
      above = between;
    else
      below = between;
  }
  return rows * rows > below * above ? above : below;
}

/// The number that stands for the simulated chip now, -2 or less; -1 if none is
/// simulated.
static int32_t simulatedDevice() {
  Tables &all = tables();
  const char *environment = std::getenv("LNBWD_SIMULATE");
  std::unique_lock lock(all.mutex);
  std::string chip = !all.chosenChip.empty() ? all.chosenChip
                     : environment           ? environment
                                             : "";
  if (chip.empty() || chip == "0")
    return -1;
  int32_t next = -2 - static_cast<int32_t>(all.simulatedChips.size());
  return all.simulatedChips.emplace(chip, next).first->second;
}

int32_t findPlace(int32_t index) {
  int32_t device = index < 0 ? simulatedDevice() : index;
  return 2 * device + static_cast<int32_t>(tables().isBatchInvariant);
}

//===----------------------------------------------------------------------===//
// From tensors to a launch
//===----------------------------------------------------------------------===//

static void check(lnbwd_status status) {
  if (status != LNBWD_SUCCESS)
    throw std::runtime_error(std::string(lnbwd_last_error()) + " [" +
                             lnbwd_status_name(status) + "]");
}

std::vector<Tensor> makeOutputs(const RowProgram &program, Sizes rows,
                                Device device, Sizes columns, size_t ones) {
  std::vector<Tensor> outputs;
  outputs.reserve(program.outputs.size());
  std::vector<int64_t> sizes;
  sizes.reserve(rows.size() + columns.size() + 1);
  for (const Operand &operand : program.outputs) {
    const Dims &dims = operand.dims();
    sizes.clear();
    if (dims.hasRows)
      sizes.assign(rows.begin(), rows.end());
    if (!dims.hasColumns)
      sizes.resize(sizes.size() + ones, 1);
    else if (columns.empty())
      sizes.push_back(operand.rowLength);
    else
      sizes.insert(sizes.end(), columns.begin(), columns.end());
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

namespace {
/// Bytes in the host's memory.
struct HostRange {
  char *begin;
  size_t size;
};
} // namespace

/// Ranges in the order of their addresses, those that overlap as one.
static std::vector<HostRange> joined(std::vector<HostRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const HostRange &a, const HostRange &b) {
              return a.begin != b.begin ? a.begin < b.begin : a.size < b.size;
            });
  std::vector<HostRange> result;
  for (const HostRange &range : ranges) {
    if (result.empty() ||
        range.begin >= result.back().begin + result.back().size) {
      result.push_back(range);
      continue;
    }
    HostRange &last = result.back();
    last.size = std::max(last.size, range.begin - last.begin + range.size);
  }
  return result;
}

/// Where a range begins in a buffer, whose alignment is larger: as far from a
/// multiple of the least alignment of arguments.
static size_t offsetOf(const HostRange &range) {
  return reinterpret_cast<uintptr_t>(range.begin) % 16;
}

static void launchSimulated(const RowProgram &program, int64_t rows,
                            int64_t groups,
                            const std::vector<void *> &addresses) {
  const lnbwd_device *device = program.device;
  const size_t inputs = program.inputs.size();
  std::vector<HostRange> arguments;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Operand &operand =
        i < inputs ? program.inputs[i] : program.outputs[i - inputs];
    arguments.push_back(
        {static_cast<char *>(addresses[i]),
         operand.elementCount(rows, groups) *
             getInfo(static_cast<Element>(operand.element)).bytes});
  }
  // Arguments that overlap do so on the device too: an input that is changed in
  // place, outputs in each other's gaps.
  const std::vector<HostRange> ranges = joined(arguments);
  std::vector<SimulatedMemory> buffers;
  for (const HostRange &range : ranges) {
    size_t offset = offsetOf(range);
    buffers.push_back(
        allocateSimulated(device, range.size ? offset + range.size : 0));
    if (range.size)
      check(lnbwd_copy_to_device(
          device, static_cast<char *>(buffers.back().get()) + offset,
          range.begin, range.size));
  }
  std::vector<void *> pointers;
  for (const HostRange &argument : arguments) {
    size_t range = 0;
    while (range + 1 < ranges.size() &&
           ranges[range + 1].begin <= argument.begin)
      ++range;
    auto *memory = static_cast<char *>(buffers[range].get());
    pointers.push_back(memory ? memory + offsetOf(ranges[range]) +
                                    (argument.begin - ranges[range].begin)
                              : nullptr);
  }
  size_t bytes = 0;
  check(lnbwd_kernel_workspace_size(program.kernel, rows, groups, &bytes));
  SimulatedMemory workspace = allocateSimulated(device, bytes);
  check(lnbwd_kernel_launch(program.kernel, pointers.data(), pointers.size(),
                            rows, groups, workspace.get(), bytes, nullptr));
  check(lnbwd_synchronize(device, nullptr));
  for (size_t i = inputs; i < arguments.size(); ++i)
    if (arguments[i].size != 0)
      check(lnbwd_copy_to_host(device, arguments[i].begin, pointers[i],
                               arguments[i].size));
}

void launch(const RowProgram &program, int64_t rows,
            const std::vector<void *> &addresses, Device device,
            int64_t groups) {
  if (!device.isGPU())
    return launchSimulated(program, rows, groups, addresses);
  size_t bytes = 0;
  check(lnbwd_kernel_workspace_size(program.kernel, rows, groups, &bytes));
  // Freed on return, which is sound: PyTorch gives the memory to later work of
  // the stream.
  Tensor workspace;
  if (bytes != 0)
    workspace = allocate({static_cast<int64_t>(bytes)},
                         aoti_torch_dtype_uint8(), device);
  check(lnbwd_kernel_launch(program.kernel, addresses.data(), addresses.size(),
                            rows, groups,
                            workspace ? dataOf(workspace) : nullptr, bytes,
                            currentStream(device.index)));
}

} // namespace lnbwd::torch_operators

//===----------------------------------------------------------------------===//
// Python's side. C's names and typedefs, not those of the C++ code:
// NOLINTBEGIN(readability-identifier-naming)
//===----------------------------------------------------------------------===//

using namespace lnbwd::torch_operators;

#define LNBWD_TORCH_API extern "C" __attribute__((visibility("default")))

/// What rowsHint makes of a number of rows.
LNBWD_TORCH_API int64_t lnbwd_torch_rows_hint(int64_t rows) {
  return rowsHint(rows);
}

/// Puts a row program into the table, unless it has one of that name:
/// `operands` holds kind, element, row length and alignment of each operand in
/// turn, `inputs` inputs before `outputs` outputs. The handles live as long as
/// the process.
LNBWD_TORCH_API void lnbwd_torch_add_program(const char *name, size_t name_size,
                                             int32_t place,
                                             const lnbwd_kernel *kernel,
                                             const lnbwd_device *device,
                                             const int64_t *operands,
                                             size_t inputs, size_t outputs) {
  RowProgram added{kernel, device, {}, {}};
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const int64_t *fields = operands + 4 * i;
    (i < inputs ? added.inputs : added.outputs)
        .push_back({static_cast<int32_t>(fields[0]),
                    static_cast<int32_t>(fields[1]), fields[2], fields[3]});
  }
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  all.programs[place].emplace(std::string(name, name_size), std::move(added));
}

/// Chooses the chip that CPU tensors are simulated on; empty: the environment's
/// LNBWD_SIMULATE chooses.
LNBWD_TORCH_API void lnbwd_torch_set_simulated_chip(const char *chip) {
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  all.chosenChip = chip;
}

/// Chooses the order in which kernels add: the canonical one, or the fastest.
LNBWD_TORCH_API void lnbwd_torch_set_batch_invariant(int chosen) {
  tables().isBatchInvariant = chosen != 0;
}

/// The number of a place (findPlace).
LNBWD_TORCH_API int32_t lnbwd_torch_place(int32_t index) {
  return findPlace(index);
}

// NOLINTEND(readability-identifier-naming)
