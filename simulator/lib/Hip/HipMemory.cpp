//===- HipMemory.cpp - HIP: memory ----------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocation, copies and fills. A range that starts in a buffer has to end in
// it.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace lnbwd::sim;

static std::string hex(const void *P) {
  char Text[32];
  std::snprintf(Text, sizeof(Text), "%p", P);
  return Text;
}

namespace {
enum class Where { Device, Host, Any };
} // namespace

/// Checks [Pointer, Pointer + Bytes). Empty if it is good.
static std::string checkRange(const char *Function, const char *Role,
                              const void *Pointer, size_t Bytes, Where Side) {
  if (!Bytes)
    return "";
  if (!Pointer)
    return std::string(Function) + ": the " + Role + " is null";
  uint64_t Begin, Address = reinterpret_cast<uint64_t>(Pointer);
  const DeviceMemory::Buffer *B = state().Memory.find(Address, Begin);
  if (!B) {
    if (Side == Where::Device)
      return std::string(Function) + ": the " + Role + " " + hex(Pointer) +
             " is not in a device buffer";
    return "";
  }
  if (Bytes > B->Size - (Address - Begin))
    return std::string(Function) + ": " + std::to_string(Bytes) +
           " bytes from " + hex(Pointer) + " run over the end of the " + Role +
           " buffer, which has " + std::to_string(B->Size - (Address - Begin)) +
           " bytes there";
  return "";
}

static hipError_t copy(const char *Function, void *To, const void *From,
                       size_t Bytes, Where ToSide, Where FromSide) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  std::string Problem = checkRange(Function, "destination", To, Bytes, ToSide);
  if (Problem.empty())
    Problem = checkRange(Function, "source", From, Bytes, FromSide);
  if (!Problem.empty())
    return finishFault(hipErrorInvalidValue, Problem);
  if (Bytes) {
    std::memmove(To, From, Bytes);
    // Of memory that is not a buffer nothing is known, so it is written.
    state().Shadows.wrote(reinterpret_cast<uint64_t>(To), Bytes,
                          reinterpret_cast<uint64_t>(From));
  }
  return finish(hipSuccess);
}

static hipError_t copyKind(const char *Function, void *To, const void *From,
                           size_t Bytes, hipMemcpyKind Kind) {
  switch (Kind) {
  case hipMemcpyHostToHost:
    return copy(Function, To, From, Bytes, Where::Host, Where::Host);
  case hipMemcpyHostToDevice:
    return copy(Function, To, From, Bytes, Where::Device, Where::Host);
  case hipMemcpyDeviceToHost:
    return copy(Function, To, From, Bytes, Where::Host, Where::Device);
  case hipMemcpyDeviceToDevice:
    return copy(Function, To, From, Bytes, Where::Device, Where::Device);
  case hipMemcpyDefault:
    return copy(Function, To, From, Bytes, Where::Any, Where::Any);
  }
  return finish(hipErrorInvalidMemcpyDirection,
                std::string(Function) + ": unknown direction");
}

template <typename T>
static hipError_t fill(const char *Function, void *To, T Value, size_t Count) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (Count > SIZE_MAX / sizeof(T))
    return finish(hipErrorInvalidValue,
                  std::string(Function) + ": the size overflows");
  std::string Problem =
      checkRange(Function, "destination", To, Count * sizeof(T), Where::Device);
  if (!Problem.empty())
    return finishFault(hipErrorInvalidValue, Problem);
  if (sizeof(T) == 1) {
    if (Count)
      std::memset(To, int(Value), Count);
  } else {
    auto *P = static_cast<unsigned char *>(To);
    for (size_t I = 0; I < Count; ++I)
      std::memcpy(P + I * sizeof(T), &Value, sizeof(T));
  }
  state().Shadows.wrote(reinterpret_cast<uint64_t>(To), Count * sizeof(T));
  return finish(hipSuccess);
}

/// A copy on a stream.
static hipError_t copyAsync(const char *Function, void *To, const void *From,
                            size_t Bytes, hipMemcpyKind Kind,
                            hipStream_t Stream) {
  const int Device = validStream(Stream) ? deviceOf(Stream) : 0;
  return enqueue(Function, Stream, [=] {
    advanceClock(Device, CopyMicroseconds, 2 * Bytes);
    return copyKind(Function, To, From, Bytes, Kind);
  });
}

/// A fill on a stream.
template <typename T>
static hipError_t fillAsync(const char *Function, void *To, T Value,
                            size_t Count, hipStream_t Stream) {
  const int Device = validStream(Stream) ? deviceOf(Stream) : 0;
  return enqueue(Function, Stream, [=] {
    advanceClock(Device, CopyMicroseconds, Count * sizeof(T));
    return fill(Function, To, Value, Count);
  });
}

extern "C" {

hipError_t hipMalloc(void **Pointer, size_t Size) {
  if (!Pointer)
    return refuse(__func__, "null pointer");
  *Pointer = nullptr;
  if (!Size)
    return finish(hipSuccess);
  std::lock_guard<std::mutex> Guard(state().Lock);
  int Device = currentDevice();
  size_t Used = state().Memory.used(Device), Total = deviceMemoryBytes();
  if (Size > Total - Used)
    return finish(hipErrorOutOfMemory,
                  "hipMalloc: " + std::to_string(Size) + " bytes asked for, " +
                      std::to_string(Total - Used) + " of " +
                      std::to_string(Total) +
                      " are free; LNBWD_SIM_MEMORY_MB sets the size of the "
                      "device's memory");
  *Pointer = state().Memory.allocate(Size, Device, BufferKind::Device);
  if (!*Pointer)
    return finish(hipErrorOutOfMemory,
                  "hipMalloc: the host has no memory for " +
                      std::to_string(Size) + " bytes");
  noteAllocation(*Pointer);
  return finish(hipSuccess);
}

hipError_t hipFree(void *Pointer) {
  if (!Pointer)
    return finish(hipSuccess);
  std::lock_guard<std::mutex> Guard(state().Lock);
  const BufferKind Kind =
      state().Managed.erase(Pointer) ? BufferKind::Host : BufferKind::Device;
  if (!state().Memory.release(Pointer, Kind))
    return finishFault(hipErrorInvalidValue,
                       "hipFree: " + hex(Pointer) +
                           " is not the start of a device buffer");
  leavePool(Pointer);
  return finish(hipSuccess);
}

hipError_t hipMemGetInfo(size_t *Free, size_t *Total) {
  if (!Free || !Total)
    return refuse(__func__, "null pointer");
  std::lock_guard<std::mutex> Guard(state().Lock);
  *Total = deviceMemoryBytes();
  *Free = *Total - state().Memory.used(currentDevice());
  return finish(hipSuccess);
}

hipError_t hipHostMalloc(void **Pointer, size_t Size, unsigned int) {
  if (!Pointer)
    return refuse(__func__, "null pointer");
  *Pointer = nullptr;
  if (!Size)
    return finish(hipSuccess);
  std::lock_guard<std::mutex> Guard(state().Lock);
  *Pointer = state().Memory.allocate(Size, currentDevice(), BufferKind::Host);
  if (!*Pointer)
    return finish(hipErrorOutOfMemory,
                  "hipHostMalloc: the host has no memory for " +
                      std::to_string(Size) + " bytes");
  return finish(hipSuccess);
}

hipError_t hipHostFree(void *Pointer) {
  if (!Pointer)
    return finish(hipSuccess);
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!state().Memory.release(Pointer, BufferKind::Host))
    return finishFault(hipErrorInvalidValue,
                       "hipHostFree: " + hex(Pointer) +
                           " is not the start of a host buffer");
  return finish(hipSuccess);
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *Attributes,
                                   const void *Pointer) {
  if (!Attributes || !Pointer)
    return refuse(__func__, "null pointer");
  std::lock_guard<std::mutex> Guard(state().Lock);
  uint64_t Begin;
  const DeviceMemory::Buffer *B =
      state().Memory.find(reinterpret_cast<uint64_t>(Pointer), Begin);
  if (!B || B->Kind == BufferKind::Code)
    return finish(hipErrorInvalidValue,
                  "hipPointerGetAttributes: " + hex(Pointer) +
                      " is not in a buffer");
  std::memset(Attributes, 0, sizeof(*Attributes));
  bool Host = B->Kind == BufferKind::Host;
  Attributes->memoryType = Host ? hipMemoryTypeHost : hipMemoryTypeDevice;
  Attributes->device = numberOf(B->Device);
  Attributes->isManaged =
      state().Managed.count(reinterpret_cast<void *>(Begin)) != 0;
  Attributes->devicePointer = const_cast<void *>(Pointer);
  Attributes->hostPointer = Host ? const_cast<void *>(Pointer) : nullptr;
  return finish(hipSuccess);
}

hipError_t hipPointerGetAttribute(void *Data, hipPointer_attribute Attribute,
                                  hipDeviceptr_t Pointer) {
  hipPointerAttribute_t Known;
  if (!Data)
    return refuse(__func__, "null pointer");
  if (const hipError_t Code = hipPointerGetAttributes(&Known, Pointer))
    return Code;
  std::lock_guard<std::mutex> Guard(state().Lock);
  uint64_t Begin = 0;
  const DeviceMemory::Buffer *B =
      state().Memory.find(reinterpret_cast<uint64_t>(Pointer), Begin);
  switch (Attribute) {
  case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *static_cast<unsigned *>(Data) = unsigned(Known.memoryType);
    break;
  case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    *static_cast<void **>(Data) = Known.devicePointer;
    break;
  case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!Known.hostPointer)
      return refuse(__func__, "the host has no pointer to it");
    *static_cast<void **>(Data) = Known.hostPointer;
    break;
  case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
    *static_cast<bool *>(Data) = Known.isManaged;
    break;
  case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *static_cast<int *>(Data) = Known.device;
    break;
  case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *static_cast<uint64_t *>(Data) = Begin;
    break;
  case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
    *static_cast<size_t *>(Data) = B->Size;
    break;
  default:
    return finish(hipErrorInvalidValue,
                  "hipPointerGetAttribute: the simulator does not have "
                  "attribute " +
                      std::to_string(int(Attribute)));
  }
  return finish(hipSuccess);
}

hipError_t hipMemcpy(void *To, const void *From, size_t Bytes,
                     hipMemcpyKind Kind) {
  return copyKind("hipMemcpy", To, From, Bytes, Kind);
}

hipError_t hipMemcpyAsync(void *To, const void *From, size_t Bytes,
                          hipMemcpyKind Kind, hipStream_t Stream) {
  return copyAsync("hipMemcpyAsync", To, From, Bytes, Kind, Stream);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t To, void *From, size_t Bytes) {
  return copyKind("hipMemcpyHtoD", To, From, Bytes, hipMemcpyHostToDevice);
}
hipError_t hipMemcpyDtoH(void *To, hipDeviceptr_t From, size_t Bytes) {
  return copyKind("hipMemcpyDtoH", To, From, Bytes, hipMemcpyDeviceToHost);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t To, hipDeviceptr_t From, size_t Bytes) {
  return copyKind("hipMemcpyDtoD", To, From, Bytes, hipMemcpyDeviceToDevice);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t To, void *From, size_t Bytes,
                              hipStream_t Stream) {
  return copyAsync("hipMemcpyHtoDAsync", To, From, Bytes, hipMemcpyHostToDevice,
                   Stream);
}
hipError_t hipMemcpyDtoHAsync(void *To, hipDeviceptr_t From, size_t Bytes,
                              hipStream_t Stream) {
  return copyAsync("hipMemcpyDtoHAsync", To, From, Bytes, hipMemcpyDeviceToHost,
                   Stream);
}

hipError_t hipMemset(void *To, int Value, size_t Bytes) {
  return fill("hipMemset", To, static_cast<unsigned char>(Value), Bytes);
}
hipError_t hipMemsetAsync(void *To, int Value, size_t Bytes,
                          hipStream_t Stream) {
  return fillAsync("hipMemsetAsync", To, static_cast<unsigned char>(Value),
                   Bytes, Stream);
}
hipError_t hipMemsetD8(hipDeviceptr_t To, unsigned char Value, size_t Count) {
  return fill("hipMemsetD8", To, Value, Count);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t To, unsigned char Value,
                            size_t Count, hipStream_t Stream) {
  return fillAsync("hipMemsetD8Async", To, Value, Count, Stream);
}
hipError_t hipMemsetD16(hipDeviceptr_t To, unsigned short Value, size_t Count) {
  return fill("hipMemsetD16", To, Value, Count);
}
hipError_t hipMemsetD32(hipDeviceptr_t To, int Value, size_t Count) {
  return fill("hipMemsetD32", To, Value, Count);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t To, int Value, size_t Count,
                             hipStream_t Stream) {
  return fillAsync("hipMemsetD32Async", To, Value, Count, Stream);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t To, unsigned short Value,
                             size_t Count, hipStream_t Stream) {
  return fillAsync("hipMemsetD16Async", To, Value, Count, Stream);
}

} // extern "C"

// Other names of the functions above, and functions made of them. Managed
// memory is host memory, and every device can access all of it at all times.

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
