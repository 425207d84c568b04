//===- Memory.h - Device memory of a simulated device -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device pointers are host addresses. Every buffer is known here, so that each
// access of a kernel can be checked against the live buffers.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_MEMORY_H
#define LNBWD_LIB_SIMULATOR_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lnbwd::sim {

class BufferShadow;

/// The bytes [Begin, End) of the address space.
struct Region {
  uint64_t Begin;
  uint64_t End;
  /// For checked launches: what is known of the bytes, or null.
  BufferShadow *Shadow = nullptr;
  uint32_t Index = 0; ///< in the launch's table
};

/// A region that was freed.
struct FreedRegion {
  uint64_t Begin, End;
  std::string Name; ///< as the host had described it; may be empty
};

/// Non-overlapping regions in ascending order.
using RegionTable = std::vector<Region>;

/// The region that holds the address, or null.
const Region *findRegion(const RegionTable &Table, uint64_t Address);

/// What a buffer is, as a pointer query or a diagnostic tells it.
enum class BufferKind : uint8_t { Device, Host, Code };

/// The buffers of all devices. Not synchronised: the caller holds a lock.
class DeviceMemory {
public:
  struct Buffer {
    void *Storage;
    size_t Size;
    int Device;
    BufferKind Kind;
    /// While memory is checked: what is known of each byte, perhaps only of
    /// the part that the host has described.
    std::shared_ptr<BufferShadow> Shadow;
  };

  ~DeviceMemory();
  /// From now on buffers have shadows, and freed ones are kept back for a
  /// while so that their addresses are told.
  void setChecked(bool On) { Checked = On; }
  /// Returns null if the host has no memory left. The result is aligned to 256
  /// bytes and at least 256 bytes away from every other buffer.
  void *allocate(size_t Size, int Device, BufferKind Kind);
  /// False if Pointer is not the start of a buffer of that kind.
  bool release(void *Pointer, BufferKind Kind);
  /// The buffer that holds the address and its start, or null.
  const Buffer *find(uint64_t Address, uint64_t &Begin) const;
  /// Bytes that a device's buffers take.
  size_t used(int Device) const;
  RegionTable snapshot() const;
  /// Buffers that were freed not long ago.
  std::vector<FreedRegion> freed() const;

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
  struct FreedBuffer {
    FreedRegion Where;
    void *Storage;
  };
  bool Checked = false;
  std::map<uint64_t, Buffer> Buffers;
  std::deque<FreedBuffer> Freed;
  size_t FreedBytes = 0;
};

/// "buffer 0x... of N bytes, K bytes past its end", or a note that there is
/// none at all.
std::string describeNearest(const RegionTable &Table, uint64_t Address);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_MEMORY_H
