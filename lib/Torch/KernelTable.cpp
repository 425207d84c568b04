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
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

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

/// Python's function: it loads the program that is asked for and adds it to the
/// table, or writes a message.
using Loader = int (*)(const char *text, int32_t device, char *message,
                       size_t messageBytes);
/// The callback that reports why there is no kernel, where PyTorch's is used
/// instead.
using RefusalListener = void (*)(const char *message);

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
struct NamedProgram {
  std::string text;
  RowProgram program;
};

struct Tables {
  std::shared_mutex mutex;
  /// By device, then by the program's text, which the value owns.
  std::unordered_map<
      int32_t, std::unordered_map<std::string_view,
                                  std::unique_ptr<NamedProgram>, TextHash>>
      programs;
  /// What was replaced: a launch on another thread may still use it.
  std::vector<std::unique_ptr<NamedProgram>> replaced;

  /// Programs that could not be loaded where there was something else.
  std::set<std::pair<int32_t, std::string>> refused;

  std::vector<std::string> simulatedChips;
  /// The chip of `with lnbwd.simulate()`; empty: the environment decides.
  std::string chosenChip;

  Loader load = nullptr;
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

const RowProgram *lookUpProgram(std::string_view text, int32_t device) {
  Tables &all = tables();
  std::shared_lock lock(all.mutex);
  auto ofDevice = all.programs.find(device);
  if (ofDevice == all.programs.end())
    return nullptr;
  auto found = ofDevice->second.find(text);
  return found == ofDevice->second.end() ? nullptr : &found->second->program;
}

void addProgram(std::string text, int32_t device, RowProgram program) {
  auto named = std::make_unique<NamedProgram>(
      NamedProgram{std::move(text), std::move(program)});
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  auto &ofDevice = all.programs[device];
  auto replaced = ofDevice.find(named->text);
  if (replaced != ofDevice.end()) {
    all.replaced.push_back(std::move(replaced->second));
    ofDevice.erase(replaced);
  }
  std::string_view key = named->text;
  ofDevice.emplace(key, std::move(named));
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

/// Has Python load a program. No lock is held: Python takes its own, and adds
/// it.
static int load(std::string_view text, int32_t device, char *message) {
  Loader load = tables().load;
  if (!load)
    fail("lnbwd: no kernel is loaded; import lnbwd.regions_op before its "
         "operators run");
  return load(std::string(text).c_str(), device, message, kMessageBytes);
}

static const RowProgram &lookUpLoaded(std::string_view text, int32_t device) {
  const RowProgram *found = lookUpProgram(text, device);
  if (!found)
    fail("lnbwd: the program that was just loaded is not in the table");
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

const RowProgram &findProgram(std::string_view text, int32_t device) {
  if (const RowProgram *found = lookUpProgram(text, device))
    return *found;
  std::array<char, kMessageBytes> message{};
  if (load(text, device, message.data()) != kLoaded)
    fail(message.data());
  return lookUpLoaded(text, device);
}

const RowProgram *tryToFindProgram(std::string_view text, int32_t device) {
  if (const RowProgram *found = lookUpProgram(text, device))
    return found;
  Tables &all = tables();
  std::pair<int32_t, std::string> key(device, text);
  {
    std::shared_lock lock(all.mutex);
    if (all.refused.count(key) != 0)
      return nullptr;
  }
  std::array<char, kMessageBytes> message{};
  switch (load(text, device, message.data())) {
  case kLoaded:
    return &lookUpLoaded(text, device);
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

/// Sets the function that is asked for what is not in the table, and the one
/// that is told what could not be.
LNBWD_TORCH_API void lnbwd_torch_set_loader(Loader loader,
                                            RefusalListener refusal) {
  Tables &all = tables();
  std::unique_lock lock(all.mutex);
  all.load = loader;
  all.hearRefusal = refusal;
}

/// What rowsHint makes of a number of rows.
LNBWD_TORCH_API int64_t lnbwd_torch_rows_hint(int64_t rows) {
  return rowsHint(rows);
}

/// Puts a row program into the table: `operands` holds kind, element and row
/// length of each operand in turn, `inputs` inputs before `outputs` outputs.
/// The handles live as long as the process. `by_torch`: there is no kernel, and
/// PyTorch computes it.
LNBWD_TORCH_API void
lnbwd_torch_add_program(const char *text, int32_t torch_device,
                        const lnbwd_kernel *kernel, const lnbwd_device *device,
                        const lnbwd_program *program, const int64_t *operands,
                        size_t inputs, size_t outputs, int32_t by_torch) {
  RowProgram added;
  added.isByTorch = by_torch != 0;
  added.kernel = {kernel, device, program};
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const int64_t *fields = operands + 3 * i;
    (i < inputs ? added.inputs : added.outputs)
        .push_back({static_cast<int32_t>(fields[0]),
                    static_cast<int32_t>(fields[1]), fields[2]});
  }
  addProgram(text, torch_device, std::move(added));
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
