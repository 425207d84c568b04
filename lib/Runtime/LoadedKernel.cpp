//===- LoadedKernel.cpp - A program on a device ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedKernel.h"

#include "Error.h"

#include <algorithm>

namespace lnbwd::runtime {

constexpr int64_t kWorkspaceAlignment = 256;

[[noreturn]] static void invalid(const std::string &message) {
  throw Error(LNBWD_ERROR_INVALID_ARGUMENT, message);
}

static std::string describe(const Plan &plan, size_t index) {
  return "argument " + std::to_string(index) + " ('" +
         plan.arguments[index].name + "')";
}

static bool isAligned(const void *pointer, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

LoadedKernel::LoadedKernel(std::shared_ptr<const Driver> driver,
                           std::shared_ptr<const Program> program)
    : driver(std::move(driver)), program(std::move(program)) {
  const DeviceInfo &info = this->driver->info();
  checkChip(*this->program, info.arch, info.name);
  module = this->driver->loadModule(this->program->code);
  try {
    for (const PlanKernel &kernel : this->program->plan.kernels)
      functions.push_back(this->driver->findFunction(
          module, kernel.name, kernel.dynamicSharedBytes));
    boundClusters();
  } catch (...) {
    this->driver->unloadModule(module);
    throw;
  }
}

LoadedKernel::~LoadedKernel() { driver->unloadModule(module); }

/// Clusters lie within parts of the device, so that fewer of them run at once
/// than its compute units would hold; one that waits for a place would start
/// when all others have worked off their rows.
void LoadedKernel::boundClusters() {
  const Plan &plan = program->plan;
  clusterBounds.fill(0);
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlanKernel &kernel = plan.kernels[i];
    if (kernel.grid[0].kind != PlanValue::Kind::WorkgroupCount)
      continue;
    auto rule = static_cast<size_t>(kernel.grid[0].index);
    auto clusterSize =
        static_cast<uint32_t>(plan.workgroupCounts[rule].workgroupsPerRow);
    if (clusterSize == 1 || plan.workgroupCounts[rule].maxWorkgroups != 0)
      continue;
    LaunchConfig config;
    config.grid = {1, clusterSize, 1};
    config.block = kernel.block;
    config.dynamicSharedBytes = kernel.dynamicSharedBytes;
    config.dependentLaunch = false;
    clusterBounds[rule] =
        driver->residentClusters(functions[i], config, clusterSize);
  }
}

LoadedKernel::Sizes LoadedKernel::sizes(LaunchSize size) const {
  const Plan &plan = program->plan;
  plan.checkSize(size);
  Sizes result;
  for (size_t i = 0; i < plan.workgroupCounts.size(); ++i)
    result.workgroupCounts[i] = plan.workgroupCount(
        i, size, driver->info().compute_units, clusterBounds[i]);
  result.workspaceBytes = 0;
  for (size_t i = 0; i < plan.workspaces.size(); ++i) {
    result.workspaceOffsets[i] = result.workspaceBytes;
    int64_t bytes = checkedAlign(
        plan.workspaceBytes(i, size, result.workgroupCounts.data()),
        kWorkspaceAlignment, "workspace");
    result.workspaceBytes =
        checkedAdd(result.workspaceBytes, bytes, "workspace");
  }
  return result;
}

int64_t LoadedKernel::workspaceSize(LaunchSize size) const {
  return sizes(size).workspaceBytes;
}

void LoadedKernel::checkArguments(void *const *arguments, size_t argumentCount,
                                  LaunchSize size) const {
  const Plan &plan = program->plan;
  if (argumentCount != plan.arguments.size())
    invalid("arguments: expected " + std::to_string(plan.arguments.size()) +
            ", got " + std::to_string(argumentCount));
  if (!arguments && argumentCount != 0)
    invalid("arguments: expected " + std::to_string(argumentCount) +
            " device pointers, got a null pointer for the array");
  for (size_t i = 0; i < argumentCount; ++i) {
    // This also finds the sizes that do not fit in 63 bits.
    int64_t bytes = plan.argumentBytes(i, size);
    if (!arguments[i] && bytes != 0)
      invalid(describe(plan, i) + ": expected " + std::to_string(bytes) +
              " bytes of device memory, got a null pointer");
    auto alignment = static_cast<uintptr_t>(plan.arguments[i].alignment);
    if (!isAligned(arguments[i], alignment))
      invalid(describe(plan, i) + ": expected a pointer aligned to " +
              std::to_string(alignment) + " bytes, got one " +
              std::to_string(reinterpret_cast<uintptr_t>(arguments[i]) %
                             alignment) +
              " bytes beyond that");
  }
  if (plan.separateBuffers)
    checkSeparate(arguments, size);
}

/// Whether two arguments, at addresses `a` and `b`, share a byte. Rows of equal
/// strides may lie between each other.
static bool overlap(const Plan &plan, size_t first, size_t second, uintptr_t a,
                    uintptr_t b, LaunchSize size) {
  auto bytes = [&](size_t index) {
    return static_cast<uintptr_t>(plan.argumentBytes(index, size));
  };
  if (b - a >= bytes(first) && a - b >= bytes(second))
    return false;
  const PlanArgument &one = plan.arguments[first];
  const PlanArgument &other = plan.arguments[second];
  auto stride = [](const PlanArgument &argument) {
    return static_cast<uintptr_t>(argument.rowStride *
                                  elementSize(argument.element));
  };
  if (one.kind != LNBWD_ARGUMENT_ROW_BLOCK ||
      other.kind != LNBWD_ARGUMENT_ROW_BLOCK || stride(one) != stride(other))
    return true;
  auto rowBytes = [](const PlanArgument &argument) {
    return static_cast<uintptr_t>(argument.rowLength *
                                  elementSize(argument.element));
  };
  // From the beginning of a row of `one` to that of the next row of `other`.
  uintptr_t step = stride(one);
  uintptr_t gap = b >= a ? (b - a) % step : (step - (a - b) % step) % step;
  return gap < rowBytes(one) || gap + rowBytes(other) > step;
}

/// Workgroups that multiply matrices read rows that others have written
/// already, if these lie over them.
void LoadedKernel::checkSeparate(void *const *arguments,
                                 LaunchSize size) const {
  const Plan &plan = program->plan;
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    if (plan.arguments[i].access == LNBWD_ACCESS_READ)
      continue;
    for (size_t j = 0; j < plan.arguments.size(); ++j)
      if (i != j &&
          overlap(plan, i, j, reinterpret_cast<uintptr_t>(arguments[i]),
                  reinterpret_cast<uintptr_t>(arguments[j]), size))
        invalid(describe(plan, i) + ", which is written, overlaps " +
                describe(plan, j) +
                ": expected a buffer of its own; the kernels of '" + plan.name +
                "' read rows after others are written");
  }
}

LaunchConfig LoadedKernel::configure(const PlanKernel &kernel, LaunchSize size,
                                     const Sizes &sizes) const {
  const DeviceInfo &info = driver->info();
  LaunchConfig config;
  config.block = kernel.block;
  config.dynamicSharedBytes = kernel.dynamicSharedBytes;
  config.dependentLaunch = kernel.dependentLaunch;
  for (size_t i = 0; i < 3; ++i) {
    int64_t count = kernel.grid[i].evaluate(size, sizes.workgroupCounts.data(),
                                            "the number of workgroups");
    int64_t limit =
        std::min(info.maxWorkgroups[i], info.maxWorkItems / kernel.block[i]);
    if (count > limit)
      throw Error(
          LNBWD_ERROR_TOO_LARGE,
          "kernel '" + kernel.name + "' needs " + std::to_string(count) +
              " workgroups of " + std::to_string(kernel.block[i]) +
              " work-items along dimension " + std::to_string(i) +
              ", device '" + info.name + "' takes " + std::to_string(limit) +
              "; use fewer rows a launch or a persistent schedule");
    config.grid[i] = static_cast<uint32_t>(count);
  }
  return config;
}

void LoadedKernel::launch(void *const *arguments, size_t argumentCount,
                          LaunchSize size, void *workspace,
                          size_t workspaceBytes, void *stream) const {
  const Plan &plan = program->plan;
  Sizes launchSizes = sizes(size);
  checkArguments(arguments, argumentCount, size);
  if (workspaceBytes < static_cast<size_t>(launchSizes.workspaceBytes))
    invalid("workspace: expected " +
            std::to_string(launchSizes.workspaceBytes) + " bytes or more for " +
            std::to_string(size.rows) + " rows, got " +
            std::to_string(workspaceBytes));
  if (launchSizes.workspaceBytes != 0) {
    if (!workspace)
      invalid("workspace: expected " +
              std::to_string(launchSizes.workspaceBytes) +
              " bytes of device memory, got a null pointer");
    if (!isAligned(workspace, kWorkspaceAlignment))
      invalid("workspace: expected a pointer aligned to " +
              std::to_string(kWorkspaceAlignment) + " bytes");
  }

  // Every kernel is checked before the first is launched: all or none.
  std::array<LaunchConfig, kMaxKernels> configs;
  for (size_t i = 0; i < plan.kernels.size(); ++i)
    configs[i] = configure(plan.kernels[i], size, launchSizes);

  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlanKernel &kernel = plan.kernels[i];
    // Of no groups.
    const std::array<uint32_t, 3> &grid = configs[i].grid;
    if (std::find(grid.begin(), grid.end(), 0) != grid.end())
      continue;
    // Pointers and integers alike travel as 64-bit values.
    std::array<uint64_t, kMaxParameters> values;
    std::array<void *, kMaxParameters> addresses;
    for (size_t p = 0; p < kernel.parameters.size(); ++p) {
      const PlanValue &parameter = kernel.parameters[p];
      if (parameter.kind == PlanValue::Kind::Argument)
        values[p] = reinterpret_cast<uint64_t>(arguments[parameter.index]);
      else if (parameter.kind == PlanValue::Kind::Workspace)
        values[p] = reinterpret_cast<uint64_t>(workspace) +
                    launchSizes.workspaceOffsets[parameter.index];
      else
        values[p] = static_cast<uint64_t>(parameter.evaluate(
            size, launchSizes.workgroupCounts.data(), "a parameter"));
      addresses[p] = &values[p];
    }
    driver->launch(functions[i], kernel.name.c_str(), configs[i],
                   addresses.data(), stream);
  }
}

} // namespace lnbwd::runtime
