//===- KernelTable.cpp - Loaded row programs by their names ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table, and the functions by which Python fills it (python/lnbwd/native.py
// binds them by ctypes).
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
/// `operands` holds kind, element and row length of each operand in turn,
/// `inputs` inputs before `outputs` outputs. The handles live as long as the
/// process.
LNBWD_TORCH_API void lnbwd_torch_add_program(const char *name, size_t name_size,
                                             int32_t place,
                                             const lnbwd_kernel *kernel,
                                             const lnbwd_device *device,
                                             const int64_t *operands,
                                             size_t inputs, size_t outputs) {
  RowProgram added{kernel, device, {}, {}};
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const int64_t *fields = operands + 3 * i;
    (i < inputs ? added.inputs : added.outputs)
        .push_back({static_cast<int32_t>(fields[0]),
                    static_cast<int32_t>(fields[1]), fields[2]});
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
