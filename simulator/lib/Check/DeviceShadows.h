//===- DeviceShadows.h - What is known of all buffers -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps a BufferShadow for each buffer of a process while its memory is
// checked.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_DEVICESHADOWS_H
#define LNBWD_LIB_SIMULATOR_CHECK_DEVICESHADOWS_H

#include "Check/ShadowMemory.h"
#include "Core/Memory.h"

#include <string>

namespace lnbwd::sim {

/// Not synchronised, as the memory is not: the caller holds a lock.
class DeviceShadows {
public:
  explicit DeviceShadows(DeviceMemory &Memory) : Memory(Memory) {}
  /// From now on buffers have shadows.
  void setChecked(bool On);
  /// The shadow of the buffer that holds the address, or null.
  BufferShadow *shadowAt(uint64_t Address) const;

  /// The host has written the bytes; From: they are a copy of those there.
  void wrote(uint64_t Address, uint64_t Bytes, uint64_t From = 0);
  /// Says what the bytes, all of them in one buffer, are to kernels. From then
  /// on, kernels may access these bytes only. False: there is no such buffer.
  bool describe(uint64_t Address, uint64_t Bytes, const std::string &Name,
                bool ReadOnly, bool Unwritten);
  /// Makes the bytes, a part of a buffer that stays accessible, read-only to
  /// kernels, and names the buffer.
  void protect(uint64_t Address, uint64_t Bytes, const std::string &Name);

private:
  DeviceMemory &Memory;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_DEVICESHADOWS_H
