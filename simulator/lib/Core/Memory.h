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

#ifndef LNBWD_LIB_SIMULATOR_CORE_MEMORY_H
#define LNBWD_LIB_SIMULATOR_CORE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lnbwd::sim {

/// What is known of a buffer beside where it is. What an observer keeps of it
/// is in a class of its own, derived from this one.
class BufferNotes {
public:
  /// The bytes that kernels may access: the buffer, or a part of it.
  BufferNotes(uint64_t Begin, uint64_t Bytes) : Begin(Begin), Bytes(Bytes) {}
  virtual ~BufferNotes();
  BufferNotes(const BufferNotes &) = delete;
  BufferNotes &operator=(const BufferNotes &) = delete;
  uint64_t begin() const { return Begin; }
  uint64_t bytes() const { return Bytes; }

  std::string Name; ///< as the host described it; may be empty

private:
  uint64_t Begin, Bytes;
};

/// The bytes [Begin, End) of the address space.
struct Region {
  uint64_t Begin;
  uint64_t End;
  BufferNotes *Notes = nullptr; ///< what is known of the bytes, or null
  uint32_t Index = 0;           ///< in the launch's table
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

/// What a buffer is, as a pointer query or a diagnostic reports it.
enum class BufferKind : uint8_t { Device, Host, Code };

/// Makes the notes of a buffer that has been allocated.
using NotesMaker = std::function<std::shared_ptr<BufferNotes>(
    uint64_t Begin, size_t Size, BufferKind Kind)>;

/// The buffers of all devices. Not synchronised: the caller holds a lock.
class DeviceMemory {
public:
  struct Buffer {
    void *Storage; ///< null: the host's own memory
    size_t Size;
    int Device;
    BufferKind Kind;
    std::shared_ptr<BufferNotes> Notes; ///< may be null
  };

  ~DeviceMemory();
  /// From now on buffers have notes, and freed ones are kept back for a while
  /// so that their addresses are reported. Empty: nobody wants to know.
  void setNotesMaker(NotesMaker Maker) { MakeNotes = std::move(Maker); }
  /// Returns null if the host has no memory left. The result is aligned to 256
  /// bytes and at least 256 bytes away from every other buffer.
  void *allocate(size_t Size, int Device, BufferKind Kind);
  /// Makes memory of the host's a buffer, with its contents. False if a part of
  /// it is in a buffer already.
  bool adopt(void *Pointer, size_t Size, int Device);
  /// Takes that back. False if Pointer is not the start of such a buffer.
  bool abandon(void *Pointer);
  /// False if Pointer is not the start of a buffer of that kind.
  bool release(void *Pointer, BufferKind Kind);
  /// The buffer that holds the address and its start, or null.
  const Buffer *find(uint64_t Address, uint64_t &Begin) const;
  /// Bytes that a device's buffers take.
  size_t used(int Device) const;
  RegionTable snapshot() const;
  /// Buffers that were freed not long ago.
  std::vector<FreedRegion> freed() const;

  /// Replaces what is known of the buffer that starts there.
  void setNotes(uint64_t Begin, std::shared_ptr<BufferNotes> Notes);

private:
  struct FreedBuffer {
    FreedRegion Where;
    void *Storage;
  };
  /// Remembers a buffer that is no longer one, and keeps its storage.
  void keepBack(uint64_t Begin, const Buffer &B);
  NotesMaker MakeNotes;
  std::map<uint64_t, Buffer> Buffers;
  std::deque<FreedBuffer> Freed;
  size_t FreedBytes = 0;
};

/// "buffer 0x... of N bytes, K bytes past its end" of the nearest one, or of
/// the one that the address is made from, or a note that there is none at all.
std::string describeNearest(const RegionTable &Table, uint64_t Address,
                            const Region *From = nullptr);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_MEMORY_H
