//===- Memory.cpp - Device memory of a simulated device -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of buffers and the search in it.
//
//===----------------------------------------------------------------------===//

#include "Core/Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace lnbwd::sim;

constexpr size_t Guard = 256;
/// What freed buffers are kept back.
constexpr size_t MostFreedBytes = size_t(256) << 20;
constexpr size_t MostFreedBuffers = 4096;

BufferNotes::~BufferNotes() = default;

const Region *lnbwd::sim::findRegion(const RegionTable &Table,
                                     uint64_t Address) {
  auto It = llvm::upper_bound(
      Table, Address, [](uint64_t A, const Region &R) { return A < R.Begin; });
  if (It == Table.begin())
    return nullptr;
  --It;
  return Address < It->End ? &*It : nullptr;
}

std::string lnbwd::sim::describeNearest(const RegionTable &Table,
                                        uint64_t Address, const Region *From) {
  auto DistanceTo = [&](const Region &R) {
    return Address >= R.End    ? Address - R.End
           : Address < R.Begin ? R.Begin - Address
                               : 0;
  };
  const Region *Nearest = nullptr;
  for (const Region &R : Table)
    if (!Nearest || DistanceTo(R) < DistanceTo(*Nearest))
      Nearest = &R;
  const Region *Best = From ? From : Nearest;
  if (!Best)
    return "no buffer is allocated";
  char Text[256];
  std::string Name;
  if (Best->Notes && !Best->Notes->Name.empty())
    Name = " '" + Best->Notes->Name + "'";
  if (Address >= Best->Begin && Address < Best->End)
    std::snprintf(Text, sizeof(Text),
                  "it runs over the end of the buffer%s at 0x%llx of %llu "
                  "bytes",
                  Name.c_str(), (unsigned long long)Best->Begin,
                  (unsigned long long)(Best->End - Best->Begin));
  else
    std::snprintf(
        Text, sizeof(Text),
        Best == Nearest
            ? "the nearest buffer%s is at 0x%llx, %llu bytes long; the address "
              "lies %llu bytes %s"
            : "the address is made from the argument%s, which is at 0x%llx, "
              "%llu bytes long, and lies %llu bytes %s",
        Name.c_str(), (unsigned long long)Best->Begin,
        (unsigned long long)(Best->End - Best->Begin),
        (unsigned long long)DistanceTo(*Best),
        Address >= Best->End ? "past its end" : "before its start");
  return Text;
}

DeviceMemory::~DeviceMemory() {
  for (auto &Entry : Buffers)
    std::free(Entry.second.Storage);
  for (FreedBuffer &F : Freed)
    std::free(F.Storage);
}

void *DeviceMemory::allocate(size_t Size, int Device, BufferKind Kind) {
  if (Size > SIZE_MAX - 4 * Guard)
    return nullptr;
  size_t Whole = (Size + Guard - 1) / Guard * Guard + 2 * Guard;
  void *Storage = std::aligned_alloc(Guard, Whole);
  if (!Storage)
    return nullptr;
  uint64_t Begin = reinterpret_cast<uint64_t>(Storage) + Guard;
  Buffer &B = Buffers[Begin];
  B = {Storage, Size, Device, Kind, nullptr};
  if (MakeNotes)
    B.Notes = MakeNotes(Begin, Size, Kind);
  return reinterpret_cast<void *>(Begin);
}

bool DeviceMemory::adopt(void *Pointer, size_t Size, int Device) {
  const uint64_t Begin = reinterpret_cast<uint64_t>(Pointer);
  auto Next = Buffers.lower_bound(Begin);
  if (Next != Buffers.end() && Next->first - Begin < Size)
    return false;
  uint64_t Other;
  if (find(Begin, Other))
    return false;
  Buffer &B = Buffers[Begin];
  B = {nullptr, Size, Device, BufferKind::Host, nullptr};
  if (MakeNotes)
    B.Notes = MakeNotes(Begin, Size, B.Kind);
  return true;
}

bool DeviceMemory::abandon(void *Pointer) {
  auto It = Buffers.find(reinterpret_cast<uint64_t>(Pointer));
  if (It == Buffers.end() || It->second.Storage)
    return false;
  if (MakeNotes)
    keepBack(It->first, It->second);
  Buffers.erase(It);
  return true;
}

void DeviceMemory::keepBack(uint64_t Begin, const Buffer &B) {
  Freed.push_back(
      {{Begin, Begin + B.Size, B.Notes ? B.Notes->Name : std::string()},
       B.Storage});
  // The process has the storage of what it had registered.
  auto BytesOf = [](const FreedBuffer &F) {
    return F.Storage ? size_t(F.Where.End - F.Where.Begin) : 0;
  };
  FreedBytes += BytesOf(Freed.back());
  while (FreedBytes > MostFreedBytes || Freed.size() > MostFreedBuffers) {
    FreedBytes -= BytesOf(Freed.front());
    std::free(Freed.front().Storage);
    Freed.pop_front();
  }
}

bool DeviceMemory::release(void *Pointer, BufferKind Kind) {
  auto It = Buffers.find(reinterpret_cast<uint64_t>(Pointer));
  if (It == Buffers.end() || It->second.Kind != Kind || !It->second.Storage)
    return false;
  if (MakeNotes)
    keepBack(It->first, It->second);
  else
    std::free(It->second.Storage);
  Buffers.erase(It);
  return true;
}

std::vector<FreedRegion> DeviceMemory::freed() const {
  std::vector<FreedRegion> Table;
  Table.reserve(Freed.size());
  for (const FreedBuffer &F : Freed)
    Table.push_back(F.Where);
  return Table;
}

void DeviceMemory::setNotes(uint64_t Begin,
                            std::shared_ptr<BufferNotes> Notes) {
  Buffers.at(Begin).Notes = std::move(Notes);
}

const DeviceMemory::Buffer *DeviceMemory::find(uint64_t Address,
                                               uint64_t &Begin) const {
  auto It = Buffers.upper_bound(Address);
  if (It == Buffers.begin())
    return nullptr;
  --It;
  // A buffer of no bytes still has an address.
  if (Address - It->first >= std::max<size_t>(It->second.Size, 1))
    return nullptr;
  Begin = It->first;
  return &It->second;
}

size_t DeviceMemory::used(int Device) const {
  size_t Sum = 0;
  for (auto &Entry : Buffers)
    if (Entry.second.Device == Device &&
        Entry.second.Kind == BufferKind::Device)
      Sum += Entry.second.Size;
  return Sum;
}

RegionTable DeviceMemory::snapshot() const {
  RegionTable Table;
  Table.reserve(Buffers.size());
  for (auto &Entry : Buffers)
    if (BufferNotes *N = Entry.second.Notes.get())
      Table.push_back({N->begin(), N->begin() + N->bytes(), N});
    else
      Table.push_back({Entry.first, Entry.first + Entry.second.Size});
  return Table;
}
