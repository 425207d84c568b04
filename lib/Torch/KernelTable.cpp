//===- KernelTable.cpp - Loaded kernels by what they compute --------------===//
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
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace lnbwd::torch_operators {

constexpr size_t kMessageBytes = 4096;

static size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

namespace {

/// What Python's functions return. (Those numbers are in
/// python/lnbwd/native.py.)
enum LoadStatus : int {
  kLoaded = 0,
  kRefused = 1,
  kNotNow = 2,      ///< a graph is being captured
  kInterrupted = 3, ///< by Ctrl-C, for one
};

/// Python's functions: they load what is asked for and add it to the table, or
/// write a message.
using NormLoader = int (*)(int32_t operation, int64_t rowLength,
                           int32_t element, int32_t weight, int32_t bias,
                           uint32_t wants, double epsilon, int32_t device,
                           int64_t rows, char *message, size_t messageBytes);
using RegionLoader = int (*)(const char *text, int32_t device, char *message,
                             size_t messageBytes);
/// The callback that reports why there is no kernel, where PyTorch's is used
/// instead.
using RefusalListener = void (*)(const char *message);

struct NormKeyHash {
  size_t operator()(const NormKey &key) const {
    size_t hash = std::hash<int64_t>()(key.rowLength);
    for (int64_t part :
         {static_cast<int64_t>(key.operation), int64_t(key.element),
          int64_t(key.weight), int64_t(key.bias), int64_t(key.wants),
          int64_t(key.device), key.rows})
      hash = mix(hash, static_cast<size_t>(part));
    return mix(hash, std::hash<double>()(key.epsilon));
  }
};

/// Programs' texts may be long, and differ near their ends as anywhere: their
/// last bytes and their length place them, and comparison decides.
struct TextHash {
  size_t operator()(std::string_view text) const {
    constexpr size_t kBytes = 128;
    size_t skipped = text.size() - std::min(text.size(), kBytes);
    return mix(text.size(),
               std::hash<std::string_view>()(text.substr(skipped)));
  }
};

/// A row program, and the text that it is found by.
struct NamedRegion {
  std::string text;
  Region region;
};

struct Tables {
  std::shared_mutex mutex;
  std::unordered_map<NormKey, std::unique_ptr<KernelHandle>, NormKeyHash>
      kernels;
  /// By device, then by the program's text, which the value owns.
  std::unordered_map<int32_t,
                     std::unordered_map<std::string_view,
                                        std::unique_ptr<NamedRegion>, TextHash>>
      regions;
  /// What was replaced: a launch on another thread may still use it.
  std::vector<std::unique_ptr<KernelHandle>> replacedKernels;
  std::vector<std::unique_ptr<NamedRegion>> replacedRegions;

  /// Kernels that could not be loaded where there was something else.
  std::unordered_set<NormKey, NormKeyHash> refused;

  std::vector<std::string> simulatedChips;
  /// The chip of `with lnbwd.simulate()`; empty: the environment decides.
  std::string chosenChip;

  NormLoader loadNorm = nullptr;
  RegionLoader loadRegion = nullptr;
  RefusalListener hearRefusal = nullptr;
};

} // namespace

/// Never destroyed: threads may still launch while the process ends.
static Tables &tables() {
  static auto *instance = new Tables();
  return *instance;
}

[[noreturn]] static void fail(const std::string &message) {
  throw std::runtime_error(message);
}

static const KernelHandle *lookUp(const NormKey &key) {
  Tables &all = tables();
  std::shared_lock lock(all.mutex);
  auto found = all.kernels.find(key);
  return found == all.kernels.end() ? nullptr : found->second.get();
}

static const Region *lookUp(std::string_view text, int32_t device) {
  Tables &all = tables();
  std::shared_lock lock(all.mutex);
  auto ofDevice = all.regions.find(device);
  if (ofDevice == all.regions.end())
    return nullptr;
  auto found = ofDevice->second.find(text);
  return found == ofDevice->second.end() ? nullptr : &found->second->region;
}

/// The number of a chip, made when it is first met. The lock is held.
static int32_t chipNumber(Tables &all, const std::string &chip) {
  auto &chips = all.simulatedChips;
  size_t index = 0;
  while (index < chips.size() && chips[index] != chip)
    ++index;
  if (index == chips.size())
    chips.push_back(chip);
  return -2 - static_cast<int32_t>(index);
}

/// Has Python load a kernel. No lock is held: Python takes its own, and adds
/// the kernel.
static int loadKernel(const NormKey &key, char *message) {
  NormLoader load = tables().loadNorm;
  if (!load)
    fail("lnbwd: no kernel is loaded; import lnbwd before its operators run");
  return load(static_cast<int32_t>(key.operation), key.rowLength, key.element,
              key.weight, key.bias, key.wants, key.epsilon, key.device,
              key.rows, message, kMessageBytes);
}

static const KernelHandle &lookUpLoaded(const NormKey &key) {
  const KernelHandle *found = lookUp(key);
  if (!found)
    fail("lnbwd: the kernel that was just loaded is not in the table");
  return *found;
}

int64_t rowsHint(int64_t rows) {
  constexpr int64_t kLeast = 64, kMost = 1 << 20;
  rows = std::clamp(rows, kLeast, kMost);
  int64_t below = kLeast;
  while (2 * below <= rows)
    below *= 2;
  // Which of the two powers around it is nearer: that decides beyond sqrt(2).
  return rows * rows > 2 * below * below ? 2 * below : below;
}

const KernelHandle &findKernel(const NormKey &key) {
  if (const KernelHandle *found = lookUp(key))
    return *found;
  std::array<char, kMessageBytes> message{};
  if (loadKernel(key, message.data()) != kLoaded)
    fail(message.data());
  return lookUpLoaded(key);
}

const KernelHandle *tryToFindKernel(const NormKey &key) {
  if (const KernelHandle *found = lookUp(key))
    return found;
  Tables &all = tables();
  {
    std::shared_lock lock(all.mutex);
    if (all.refused.count(key) != 0)
      return nullptr;
  }
  std::array<char, kMessageBytes> message{};
  switch (loadKernel(key, message.data())) {
  case kLoaded:
    return &lookUpLoaded(key);
  case kNotNow:
    return nullptr;
  case kRefused: {
    bool isNew = false;
    {
      std::unique_lock lock(all.mutex);
      isNew = all.refused.insert(key).second;
    }
    if (isNew && all.hearRefusal)
      all.hearRefusal(message.data());
    return nullptr;
  }
  default:
    fail(message.data());
  }
}

const Region &findRegion(std::string_view text, int32_t device) {
  if (const Region *found = lookUp(text, device))
    return *found;
  RegionLoader load = tables().loadRegion;
  if (!load)
    fail("lnbwd::region: import lnbwd.regions_op before the operator runs");
  std::array<char, kMessageBytes> message{};
  if (load(std::string(text).c_str(), device, message.data(), message.size()) !=
      0)
    fail(message.data());
  const Region *found = lookUp(text, device);
  if (!found)
    fail("lnbwd::region: the program that was just loaded is not in the table");
  return *found;
}

int32_t simulatedDevice() {
  Tables &all = tables();
  const char *environment = std::getenv("LNBWD_SIMULATE");
  std::unique_lock lock(all.mutex);
  if (!all.chosenChip.empty())
    return chipNumber(all, all.chosenChip);
  std::string chip = environment ? environment : "";
  return chip.empty() || chip == "0" ? -1 : chipNumber(all, chip);
}

} // namespace lnbwd::torch_operators

//===----------------------------------------------------------------------===//
// Python's side. C's names and typedefs, not those of the C++ code:
// NOLINTBEGIN(readability-identifier-naming)
//===----------------------------------------------------------------------===//

using namespace lnbwd::torch_operators;

#define LNBWD_TORCH_API extern "C" __attribute__((visibility("default")))

/// Sets the functions that are asked for what is not in the table, and the one
/// that is told what could not be.
LNBWD_TORCH_API void lnbwd_torch_set_loaders(NormLoader norm,
                                             RegionLoader region,
                                             RefusalListener refusal) {
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  all.loadNorm = norm;
  all.loadRegion = region;
  all.hearRefusal = refusal;
}

/// Puts a kernel into the table, for a number of rows of rowsHint. The handles
/// live as long as the process.
LNBWD_TORCH_API void
lnbwd_torch_add_kernel(int32_t operation, int64_t row_length, int32_t element,
                       int32_t weight, int32_t bias, uint32_t wants,
                       double epsilon, int32_t torch_device, int64_t rows,
                       const lnbwd_kernel *kernel, const lnbwd_device *device,
                       const lnbwd_program *program) {
  Tables &all = tables();
  NormKey key{static_cast<lnbwd::NamedOperation>(operation),
              row_length,
              element,
              weight,
              bias,
              wants,
              epsilon,
              torch_device,
              rows};
  std::unique_lock lock(all.mutex);
  auto &place = all.kernels[key];
  if (place)
    all.replacedKernels.push_back(std::move(place));
  place = std::make_unique<KernelHandle>(KernelHandle{kernel, device, program});
}

/// What rowsHint makes of a number of rows.
LNBWD_TORCH_API int64_t lnbwd_torch_rows_hint(int64_t rows) {
  return rowsHint(rows);
}

/// Puts a row program into the table: `operands` holds kind, element and row
/// length of each operand in turn, `inputs` inputs before `outputs` outputs.
/// `by_torch`: there is no kernel, and PyTorch computes it.
LNBWD_TORCH_API void
lnbwd_torch_add_region(const char *text, int32_t torch_device,
                       const lnbwd_kernel *kernel, const lnbwd_device *device,
                       const lnbwd_program *program, const int64_t *operands,
                       size_t inputs, size_t outputs, int32_t by_torch) {
  auto named = std::make_unique<NamedRegion>();
  named->text = text;
  named->region.isByTorch = by_torch != 0;
  named->region.kernel = {kernel, device, program};
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const int64_t *fields = operands + 3 * i;
    (i < inputs ? named->region.inputs : named->region.outputs)
        .push_back({static_cast<int32_t>(fields[0]),
                    static_cast<int32_t>(fields[1]), fields[2]});
  }
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  auto &ofDevice = all.regions[torch_device];
  auto replaced = ofDevice.find(named->text);
  if (replaced != ofDevice.end()) {
    all.replacedRegions.push_back(std::move(replaced->second));
    ofDevice.erase(replaced);
  }
  std::string_view key = named->text;
  ofDevice.emplace(key, std::move(named));
}

/// Chooses the chip that CPU tensors are simulated on; empty: the environment's
/// LNBWD_SIMULATE chooses.
LNBWD_TORCH_API void lnbwd_torch_set_simulated_chip(const char *chip) {
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  all.chosenChip = chip;
}

/// The number that stands for CPU tensors' device now (simulatedDevice).
LNBWD_TORCH_API int32_t lnbwd_torch_simulated_device() {
  return simulatedDevice();
}

// NOLINTEND(readability-identifier-naming)
