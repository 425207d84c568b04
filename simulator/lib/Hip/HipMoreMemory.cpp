//===- HipMoreMemory.cpp - HIP: managed memory, rows, further copies ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is another name of something in HipMemory.cpp, or made of it. Managed
// memory is host memory, and every device can access all of it at all times.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include <algorithm>
#include <string>

using namespace lnbwd::sim;

/// Does something with each row of a rectangle, until that fails.
template <typename F>
static hipError_t forRows(const char *Function, size_t Width, size_t Pitch,
                          size_t Height, F Work) {
  if (Width > Pitch)
    return finishFault(
        hipErrorInvalidValue,
        std::string(Function) + ": a row of " + std::to_string(Width) +
            " bytes is wider than the pitch of " + std::to_string(Pitch));
  for (size_t Row = 0; Row < Height; ++Row)
    if (const hipError_t Code = Work(Row))
      return Code;
  return finish(hipSuccess);
}

static hipError_t copyRows(const char *Function, void *To, size_t ToPitch,
                           const void *From, size_t FromPitch, size_t Width,
                           size_t Height, hipMemcpyKind Kind) {
  return forRows(
      Function, Width, std::min(ToPitch, FromPitch), Height, [=](size_t Row) {
        return hipMemcpy(static_cast<char *>(To) + Row * ToPitch,
                         static_cast<const char *>(From) + Row * FromPitch,
                         Width, Kind);
      });
}

static hipError_t fillRows(const char *Function, void *To, size_t Pitch,
                           int Value, size_t Width, size_t Height) {
  return forRows(Function, Width, Pitch, Height, [=](size_t Row) {
    return hipMemset(static_cast<char *>(To) + Row * Pitch, Value, Width);
  });
}

extern "C" {

hipError_t hipMallocManaged(void **Pointer, size_t Size, unsigned) {
  const hipError_t Code = hipHostMalloc(Pointer, Size, 0);
  if (Code == hipSuccess && *Pointer) {
    std::lock_guard<std::mutex> Guard(state().Lock);
    state().Managed.insert(*Pointer);
  }
  return Code;
}
hipError_t hipMemPrefetchAsync(const void *, size_t, int, hipStream_t) {
  return finish(hipSuccess);
}
hipError_t hipMemAdvise(const void *, size_t, hipMemoryAdvise, int) {
  return finish(hipSuccess);
}

hipError_t hipMallocHost(void **Pointer, size_t Size) {
  return hipHostMalloc(Pointer, Size, 0);
}
hipError_t hipMemAllocHost(void **Pointer, size_t Size) {
  return hipHostMalloc(Pointer, Size, 0);
}
hipError_t hipHostAlloc(void **Pointer, size_t Size, unsigned Flags) {
  return hipHostMalloc(Pointer, Size, Flags);
}
hipError_t hipFreeHost(void *Pointer) { return hipHostFree(Pointer); }

hipError_t hipHostRegister(void *Pointer, size_t Size, unsigned) {
  if (!Pointer || !Size)
    return refuse(__func__, "nothing to register");
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!state().Memory.adopt(Pointer, Size, currentDevice()))
    return finishFault(hipErrorHostMemoryAlreadyRegistered,
                       "hipHostRegister: a part of the memory is registered "
                       "already, or was allocated by HIP");
  return finish(hipSuccess);
}
hipError_t hipHostUnregister(void *Pointer) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!state().Memory.abandon(Pointer))
    return finishFault(hipErrorHostMemoryNotRegistered,
                       "hipHostUnregister: the memory is not registered");
  return finish(hipSuccess);
}

hipError_t hipHostGetDevicePointer(void **Device, void *Host, unsigned) {
  hipPointerAttribute_t Attributes;
  if (!Device)
    return refuse(__func__, "null pointer");
  const hipError_t Code = hipPointerGetAttributes(&Attributes, Host);
  *Device = Code == hipSuccess ? Attributes.devicePointer : nullptr;
  return Code;
}

hipError_t hipMallocPitch(void **Pointer, size_t *Pitch, size_t Width,
                          size_t Height) {
  if (!Pitch)
    return refuse(__func__, "null pointer");
  *Pitch = (Width + 127) / 128 * 128;
  return hipMalloc(Pointer, *Pitch * Height);
}

hipError_t hipMemcpy2D(void *To, size_t ToPitch, const void *From,
                       size_t FromPitch, size_t Width, size_t Height,
                       hipMemcpyKind Kind) {
  return copyRows("hipMemcpy2D", To, ToPitch, From, FromPitch, Width, Height,
                  Kind);
}
hipError_t hipMemcpy2DAsync(void *To, size_t ToPitch, const void *From,
                            size_t FromPitch, size_t Width, size_t Height,
                            hipMemcpyKind Kind, hipStream_t Stream) {
  return enqueue("hipMemcpy2DAsync", Stream, [=] {
    return copyRows("hipMemcpy2DAsync", To, ToPitch, From, FromPitch, Width,
                    Height, Kind);
  });
}
hipError_t hipMemset2D(void *To, size_t Pitch, int Value, size_t Width,
                       size_t Height) {
  return fillRows("hipMemset2D", To, Pitch, Value, Width, Height);
}
hipError_t hipMemset2DAsync(void *To, size_t Pitch, int Value, size_t Width,
                            size_t Height, hipStream_t Stream) {
  return enqueue("hipMemset2DAsync", Stream, [=] {
    return fillRows("hipMemset2DAsync", To, Pitch, Value, Width, Height);
  });
}

hipError_t hipMemcpyWithStream(void *To, const void *From, size_t Bytes,
                               hipMemcpyKind Kind, hipStream_t Stream) {
  return hipMemcpyAsync(To, From, Bytes, Kind, Stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t To, hipDeviceptr_t From,
                              size_t Bytes, hipStream_t Stream) {
  return hipMemcpyAsync(To, From, Bytes, hipMemcpyDeviceToDevice, Stream);
}
hipError_t hipMemcpyPeer(void *To, int, const void *From, int, size_t Bytes) {
  return hipMemcpy(To, From, Bytes, hipMemcpyDeviceToDevice);
}
hipError_t hipMemcpyPeerAsync(void *To, int, const void *From, int,
                              size_t Bytes, hipStream_t Stream) {
  return hipMemcpyAsync(To, From, Bytes, hipMemcpyDeviceToDevice, Stream);
}

} // extern "C"
