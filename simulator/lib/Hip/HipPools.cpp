//===- HipPools.cpp - HIP: memory in the order of a stream ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// hipMallocAsync, hipFreeAsync and pools. What a stream is given is done at
// once, so that such memory is allocated and freed like any other, and a use
// after free is found; pools only count it. Exporting pools to other processes
// is not there.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

using namespace lnbwd::sim;

using Pool = ihipMemPoolHandle_t;

/// The lock is held.
static Pool *defaultPool(int Device) {
  auto &P = state().DefaultPools[Device];
  if (!P)
    P = std::make_unique<Pool>(Pool{Device});
  return P.get();
}

/// The lock is held.
static bool exists(const Pool *P) {
  const HipState &S = state();
  return S.Pools.count(const_cast<Pool *>(P)) ||
         llvm::any_of(S.DefaultPools,
                      [P](const auto &D) { return P && D.get() == P; });
}

/// Memory from a pool, or, if that is null, from the current one of the
/// stream's device.
static hipError_t allocate(const char *Function, void **Pointer, size_t Size,
                           Pool *From, hipStream_t Stream) {
  if (!Pointer)
    return refuse(Function, "null pointer");
  *Pointer = nullptr;
  if (!validStream(Stream))
    return noSuch(Function, "stream");
  if (isCaptured(Stream))
    return finish(hipErrorStreamCaptureUnsupported,
                  std::string(Function) +
                      ": the stream is being captured, and memory that belongs "
                      "to a graph is not simulated");
  const int Device = deviceOf(Stream);
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    if (!From)
      From = state().CurrentPools[Device];
    if (!From)
      From = defaultPool(Device);
    if (!exists(From))
      return refuse(Function, "the pool does not exist");
  }
  const int Before = currentDevice();
  currentDevice() = From->Device;
  const hipError_t Code = hipMalloc(Pointer, Size);
  currentDevice() = Before;
  if (Code != hipSuccess || !*Pointer)
    return Code;
  std::lock_guard<std::mutex> Guard(state().Lock);
  From->Buffers[*Pointer] = Size;
  From->Used += Size;
  From->MostUsed = std::max(From->MostUsed, From->Used);
  return finish(hipSuccess);
}

/// Where an attribute of 32 or 64 bits is kept; null: there is none like that.
static void *attribute(Pool &P, hipMemPoolAttr Attribute, size_t &Size) {
  Size = 8;
  switch (Attribute) {
  case hipMemPoolReuseFollowEventDependencies:
  case hipMemPoolReuseAllowOpportunistic:
  case hipMemPoolReuseAllowInternalDependencies:
    Size = 4;
    return &P.Reuse[Attribute - hipMemPoolReuseFollowEventDependencies];
  case hipMemPoolAttrReleaseThreshold:
    return &P.ReleaseThreshold;
  // A pool keeps nothing that is not used.
  case hipMemPoolAttrReservedMemCurrent:
  case hipMemPoolAttrUsedMemCurrent:
    return &P.Used;
  case hipMemPoolAttrReservedMemHigh:
  case hipMemPoolAttrUsedMemHigh:
    return &P.MostUsed;
  }
  return nullptr;
}

/// The default pool of a device, or the one that was set in its place.
static hipError_t poolOf(const char *Function, Pool **P, int Number,
                         bool Current) {
  const int Device = deviceNumbered(Number);
  if (!P || Device < 0)
    return refuse(Function,
                  "expected a device that exists, and a place for the pool");
  std::lock_guard<std::mutex> Guard(state().Lock);
  Pool *Set = Current ? state().CurrentPools[Device] : nullptr;
  *P = Set ? Set : defaultPool(Device);
  return finish(hipSuccess);
}

extern "C" {

hipError_t hipMallocAsync(void **Pointer, size_t Size, hipStream_t Stream) {
  return allocate("hipMallocAsync", Pointer, Size, nullptr, Stream);
}
hipError_t hipMallocFromPoolAsync(void **Pointer, size_t Size,
                                  hipMemPool_t From, hipStream_t Stream) {
  if (!From)
    return refuse("hipMallocFromPoolAsync", "the pool is null");
  return allocate("hipMallocFromPoolAsync", Pointer, Size, From, Stream);
}
hipError_t hipFreeAsync(void *Pointer, hipStream_t Stream) {
  if (!validStream(Stream))
    return noSuch("hipFreeAsync", "stream");
  if (isCaptured(Stream))
    return refuse(__func__,
                  "the stream is being captured, and memory that belongs to a "
                  "graph is not simulated",
                  hipErrorStreamCaptureUnsupported);
  return hipFree(Pointer);
}

hipError_t hipMemPoolCreate(hipMemPool_t *Made, const hipMemPoolProps *Of) {
  if (!Made || !Of)
    return refuse("hipMemPoolCreate", "null pointer");
  *Made = nullptr;
  const int Device = deviceNumbered(Of->location.id);
  if (Of->location.type != hipMemLocationTypeDevice || Device < 0)
    return refuse(__func__, "the location is no device that exists");
  if (Of->allocType != hipMemAllocationTypePinned)
    return refuse(__func__, "expected memory of hipMemAllocationTypePinned");
  if (Of->handleTypes != hipMemHandleTypeNone)
    return refuse(__func__,
                  "pools that other processes can open are not simulated",
                  hipErrorNotSupported);
  return keep(state().Pools, new Pool{Device}, Made);
}
/// What was taken from it stays until it is freed.
hipError_t hipMemPoolDestroy(hipMemPool_t P) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!state().Pools.erase(P))
    return finishFault(hipErrorInvalidValue,
                       "hipMemPoolDestroy: not a pool that was created");
  for (Pool *&Current : state().CurrentPools)
    if (Current == P)
      Current = nullptr;
  delete P;
  return finish(hipSuccess);
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *P, int Number) {
  return poolOf(__func__, P, Number, /*Current=*/false);
}
hipError_t hipDeviceGetMemPool(hipMemPool_t *P, int Number) {
  return poolOf(__func__, P, Number, /*Current=*/true);
}
hipError_t hipDeviceSetMemPool(int Number, hipMemPool_t P) {
  const int Device = deviceNumbered(Number);
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (Device < 0 || !exists(P) || P->Device != Device)
    return refuse("hipDeviceSetMemPool", "expected a pool of the device");
  state().CurrentPools[Device] = P;
  return finish(hipSuccess);
}

hipError_t hipMemPoolTrimTo(hipMemPool_t P, size_t) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!exists(P))
    return refuse("hipMemPoolTrimTo", "the pool does not exist");
  return finish(hipSuccess);
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t P, hipMemPoolAttr Attribute,
                                  void *Value) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  size_t Size;
  const void *Place = exists(P) ? attribute(*P, Attribute, Size) : nullptr;
  if (!Place || !Value)
    return refuse(__func__,
                  "expected a pool, one of its attributes, and a place for it");
  std::memcpy(Value, Place, Size);
  return finish(hipSuccess);
}
hipError_t hipMemPoolSetAttribute(hipMemPool_t P, hipMemPoolAttr Attribute,
                                  void *Value) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  size_t Size;
  void *Place = exists(P) ? attribute(*P, Attribute, Size) : nullptr;
  if (!Place || !Value)
    return refuse(__func__,
                  "expected a pool, one of its attributes, and its value");
  if (Place == &P->Used)
    return refuse(__func__, "the attribute can only be read");
  if (Place == &P->MostUsed) {
    uint64_t New;
    std::memcpy(&New, Value, Size);
    if (New)
      return refuse(__func__, "a high watermark can only be set to 0");
    P->MostUsed = P->Used;
    return finish(hipSuccess);
  }
  std::memcpy(Place, Value, Size);
  return finish(hipSuccess);
}

/// A pool's own device can always read and write; there are no other ones that
/// could.
hipError_t hipMemPoolSetAccess(hipMemPool_t P, const hipMemAccessDesc *Wanted,
                               size_t Count) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!exists(P) || (Count && !Wanted))
    return refuse("hipMemPoolSetAccess", "expected a pool and descriptions");
  for (size_t K = 0; K < Count; ++K)
    if (deviceNumbered(Wanted[K].location.id) != P->Device ||
        Wanted[K].flags != hipMemAccessFlagsProtReadWrite)
      return refuse(
          __func__,
          "only the pool's own device can reach it, to read and write",
          hipErrorNotSupported);
  return finish(hipSuccess);
}
hipError_t hipMemPoolGetAccess(hipMemAccessFlags *Flags, hipMemPool_t P,
                               hipMemLocation *Of) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!Flags || !Of || !exists(P))
    return refuse("hipMemPoolGetAccess", "expected a pool and a location");
  *Flags = deviceNumbered(Of->id) == P->Device ? hipMemAccessFlagsProtReadWrite
                                               : hipMemAccessFlagsProtNone;
  return finish(hipSuccess);
}

} // extern "C"
