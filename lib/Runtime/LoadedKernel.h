//===- LoadedKernel.h - A program on a device -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program loaded on a device: computes what the plan leaves to the launch
// (grids, workspace) and performs it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_LOADEDKERNEL_H
#define LNBWD_LIB_RUNTIME_LOADEDKERNEL_H

#include "Driver.h"
#include "Program.h"

#include <array>
#include <memory>
#include <vector>

namespace lnbwd::runtime {

/// One program on one device. Threads may launch it at once.
class LoadedKernel {
public:
  /// Loads the program; throws if its chip is not the device's.
  LoadedKernel(std::shared_ptr<const Driver> driver,
               std::shared_ptr<const Program> program);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;

  /// Bytes of workspace.
  int64_t workspaceSize(LaunchSize size) const;

  /// As lnbwd_kernel_launch. Allocates no memory unless it fails.
  void launch(void *const *arguments, size_t argumentCount, LaunchSize size,
              void *workspace, size_t workspaceBytes, void *stream) const;

private:
  /// What follows from the size before anything is launched.
  struct Sizes {
    std::array<int64_t, kMaxWorkgroupCounts> workgroupCounts;
    std::array<int64_t, kMaxWorkspaces> workspaceOffsets;
    int64_t workspaceBytes;
  };

  void boundClusters();
  Sizes sizes(LaunchSize size) const;
  void checkArguments(void *const *arguments, size_t argumentCount,
                      LaunchSize size) const;
  void checkSeparate(void *const *arguments, LaunchSize size) const;
  LaunchConfig configure(const PlanKernel &kernel, LaunchSize size,
                         const Sizes &sizes) const;

  std::shared_ptr<const Driver> driver;
  std::shared_ptr<const Program> program;
  void *module = nullptr;
  std::vector<void *> functions;
  /// By workgroup count: the clusters that the device holds at once, or 0 where
  /// there is no such bound.
  std::array<int64_t, kMaxWorkgroupCounts> clusterBounds;
};

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_LOADEDKERNEL_H
