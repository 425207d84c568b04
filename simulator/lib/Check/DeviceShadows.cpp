//===- DeviceShadows.cpp - What is known of all buffers -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host does to its buffers.
//
//===----------------------------------------------------------------------===//

#include "Check/DeviceShadows.h"

#include <algorithm>
#include <memory>
#include <utility>

using namespace lnbwd::sim;

void DeviceShadows::setChecked(bool On) {
  if (!On)
    return Memory.setNotesMaker({});
  Memory.setNotesMaker([](uint64_t Begin, size_t Size, BufferKind Kind) {
    // Other memory than a device's comes with its contents.
    return std::make_shared<BufferShadow>(Begin, Size,
                                          Kind != BufferKind::Device);
  });
}

BufferShadow *DeviceShadows::shadowAt(uint64_t Address) const {
  uint64_t Begin;
  const DeviceMemory::Buffer *B = Memory.find(Address, Begin);
  // Nobody else makes notes.
  return B ? static_cast<BufferShadow *>(B->Notes.get()) : nullptr;
}

void DeviceShadows::wrote(uint64_t Address, uint64_t Bytes, uint64_t From) {
  BufferShadow *Shadow = shadowAt(Address);
  if (!Shadow || !Bytes)
    return;
  BufferShadow &To = *Shadow;
  uint64_t First = std::max(Address, To.begin());
  uint64_t Last = std::min(Address + Bytes, To.begin() + To.bytes());
  if (First >= Last)
    return;
  const BufferShadow *Source = From ? shadowAt(From) : nullptr;
  if (!Source)
    return To.mark(First, Last - First, true);
  for (uint64_t A = First; A < Last; ++A) {
    uint64_t Other = From + (A - Address);
    const BufferShadow &S = *Source;
    bool Known = Other >= S.begin() && Other < S.begin() + S.bytes();
    To.mark(A, 1, !Known || S.written(Other));
  }
}

bool DeviceShadows::describe(uint64_t Address, uint64_t Bytes,
                             const std::string &Name, bool ReadOnly,
                             bool Unwritten) {
  uint64_t Begin;
  const DeviceMemory::Buffer *B = Memory.find(Address, Begin);
  if (!B || Bytes > B->Size - (Address - Begin))
    return false;
  BufferShadow *Shadow = shadowAt(Address);
  if (!Shadow || Shadow->begin() != Address || Shadow->bytes() != Bytes) {
    auto New = std::make_shared<BufferShadow>(Address, Bytes, true);
    Shadow = New.get();
    Memory.setNotes(Begin, std::move(New));
  }
  Shadow->Name = Name;
  Shadow->ReadOnly = ReadOnly;
  if (Unwritten)
    Shadow->mark(Address, Bytes, false);
  return true;
}

void DeviceShadows::protect(uint64_t Address, uint64_t Bytes,
                            const std::string &Name) {
  BufferShadow *Shadow = shadowAt(Address);
  if (!Shadow)
    return;
  Shadow->Name = Name;
  Shadow->ReadOnlyParts.emplace_back(Address, Address + Bytes);
}
