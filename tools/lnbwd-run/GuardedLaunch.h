//===- GuardedLaunch.h - A launch with every trap set -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel so that what it must not do shows: every output and the
// workspace hold a NaN pattern before the launch, every buffer lies between two
// guard bands, and the inputs are compared with their contents afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_GUARDEDLAUNCH_H
#define LNBWD_TOOLS_LNBWD_RUN_GUARDEDLAUNCH_H

#include "Handles.h"
#include "Problem.h"
#include "Simulator.h"

#include <string>
#include <vector>

namespace lnbwd::run {

/// A device buffer between two guard bands.
class GuardedBuffer {
public:
  GuardedBuffer(const lnbwd_device *device, std::string name, size_t bytes);

  void *data() const;
  size_t size() const { return bytes; }

  /// Sets the contents, and the guard bands anew.
  void upload(const char *contents) const;
  /// Fills it with a 16-bit pattern, and sets the guard bands anew.
  void fill(uint16_t pattern) const;
  /// The contents now.
  std::vector<char> download() const;
  /// Says where the guard bands were written to; empty if nowhere.
  std::string describeGuardDamage() const;

private:
  const lnbwd_device *device;
  std::string name;
  size_t bytes;
  DeviceMemory memory;
};

/// Everything a launch works on.
class GuardedLaunch {
public:
  /// Allocates all buffers; throws if the device's memory does not suffice.
  GuardedLaunch(const lnbwd_device *device, const lnbwd_kernel *kernel,
                const Problem &problem, const Simulator &simulator);

  /// The sum of all allocations of such a run, in bytes; checked against the
  /// device before anything is allocated or computed. Returns the workspace's
  /// size.
  static size_t checkMemory(const lnbwd_device *device,
                            const lnbwd_kernel *kernel, const Problem &problem);

  /// Launches once and waits.
  void launch() const;

  /// Launches once with every trap set. `pattern` is what the outputs and the
  /// workspace hold before; what is read and written starts with its input.
  /// Complaints about guard bands and inputs are added to `complaints`. Returns
  /// the outputs' contents, by argument, without what lies between rows.
  std::vector<std::vector<char>> run(uint16_t pattern,
                                     std::vector<std::string> &complaints);

  /// The arguments' device pointers.
  const std::vector<void *> &pointers() const { return argumentPointers; }
  size_t workspaceSize() const { return workspace.size(); }

private:
  /// How the kernel uses the buffer of an argument.
  lnbwd_access accessOf(size_t index) const;
  /// The rows of an output without what lies between them, which must be as it
  /// was: as in `before`, or the pattern. Otherwise there is a complaint.
  std::vector<char> takeRows(size_t index, const std::vector<char> &contents,
                             const char *before, uint16_t pattern,
                             std::string &complaint) const;

  const lnbwd_device *device;
  const lnbwd_kernel *kernel;
  const Problem &problem;
  const Simulator &simulator;
  std::vector<GuardedBuffer> buffers;
  GuardedBuffer workspace;
  std::vector<void *> argumentPointers;
};

/// Patterns for the outputs before a launch: NaNs in every type, of a payload
/// that no arithmetic gives, and different in every byte of the two.
constexpr uint16_t kFirstPoison = 0xffa5;
constexpr uint16_t kSecondPoison = 0x7fb6;

/// The number of elements that still hold the pattern.
size_t countPoison(const std::vector<char> &contents, Element format,
                   uint16_t pattern);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_GUARDEDLAUNCH_H
