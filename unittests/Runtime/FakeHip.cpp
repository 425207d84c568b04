//===- FakeHip.cpp - A HIP library that only writes things down -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libamdhip64 in the tests of the runtime: it has one device of
// host memory and notes every launch instead of performing it. The
// environment's FAKE_HIP says how it misbehaves:
//   no-device   reports hipErrorNoDevice
//   layout-6    fills hipDeviceProp_t as ROCm 6 does
//   full        has no memory left
//   small       has 64 MiB left
//   broken      fails every launch
//
//===----------------------------------------------------------------------===//

#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string notes;
int currentDevice = 3;

} // namespace

static bool isMode(const char *mode) {
  const char *chosen = std::getenv("FAKE_HIP");
  return chosen && std::strcmp(chosen, mode) == 0;
}

/// A card whose compute units come in pairs.
static bool isRdna() { return isMode("rdna") || isMode("rdna-units"); }

/// The number of parameters of the test program's kernels.
static int parameterCount(const char *name) {
  return std::strcmp(name, "main") == 0 ? 10 : 5;
}

// NOLINTBEGIN(readability-identifier-naming): HIP's own names.
extern "C" {

/// What was launched since the last call, one line a launch.
const char *fakeHipNotes() {
  static std::string result;
  result.swap(notes);
  notes.clear();
  return result.c_str();
}
/// The device that is current.
int fakeHipCurrentDevice() { return currentDevice; }

hipError_t hipInit(unsigned) { return hipSuccess; }
const char *hipGetErrorName(hipError_t error) {
  return error == hipErrorNoDevice        ? "hipErrorNoDevice"
         : error == hipErrorOutOfMemory   ? "hipErrorOutOfMemory"
         : error == hipErrorLaunchFailure ? "hipErrorLaunchFailure"
                                          : "hipErrorNotFound";
}
const char *hipGetErrorString(hipError_t error) {
  return error == hipErrorNoDevice ? "no ROCm-capable device is detected"
                                   : hipGetErrorName(error);
}
hipError_t hipGetDeviceCount(int *count) {
  *count = 1;
  return isMode("no-device") ? hipErrorNoDevice : hipSuccess;
}
hipError_t hipGetDevice(int *device) {
  *device = currentDevice;
  return hipSuccess;
}
hipError_t hipSetDevice(int device) {
  currentDevice = device;
  return hipSuccess;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int) {
  char *bytes = reinterpret_cast<char *>(properties);
  std::memset(bytes, 0x11, isMode("layout-6") ? 1472 : 792);
  std::strcpy(bytes, "Fake card");
  std::strcpy(bytes + (isMode("layout-6") ? 1160 : 396),
              isRdna() ? "gfx1100" : "gfx942:sramecc+:xnack-");
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int *pi, hipDeviceAttribute_t attr, int) {
  // An RX 7900 XTX: 96 compute units in 48 workgroup processors.
  const int units = !isRdna() ? 304 : isMode("rdna-units") ? 96 : 48;
  *pi = attr == hipDeviceAttributeMultiprocessorCount ? units
        : attr == hipDeviceAttributeWarpSize          ? isRdna() ? 32 : 64
                                                      : 4 << 20;
  return hipSuccess;
}
hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  *free = size_t(1) << (isMode("small") ? 26 : 30);
  *total = size_t(1) << 31;
  return hipSuccess;
}
hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  *module = static_cast<hipModule_t>(const_cast<void *>(image));
  return hipSuccess;
}
hipError_t hipModuleUnload(hipModule_t) {
  notes += "unload\n";
  return hipSuccess;
}
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t,
                                const char *name) {
  if (std::strcmp(name, "main") != 0 && std::strcmp(name, "finalize") != 0)
    return hipErrorNotFound;
  *function = reinterpret_cast<hipFunction_t>(
      const_cast<char *>(std::strcmp(name, "main") == 0 ? "main" : "finalize"));
  return hipSuccess;
}
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gridDimX,
                                 unsigned gridDimY, unsigned gridDimZ,
                                 unsigned blockDimX, unsigned blockDimY,
                                 unsigned blockDimZ, unsigned sharedMemBytes,
                                 hipStream_t stream, void **kernelParams,
                                 void **) {
  if (isMode("broken"))
    return hipErrorLaunchFailure;
  const char *name = reinterpret_cast<const char *>(f);
  char line[256];
  std::snprintf(line, sizeof(line),
                "%s device %d grid %u,%u,%u block %u,%u,%u shared %u stream "
                "%" PRIxPTR " parameters",
                name, currentDevice, gridDimX, gridDimY, gridDimZ, blockDimX,
                blockDimY, blockDimZ, sharedMemBytes,
                reinterpret_cast<uintptr_t>(stream));
  notes += line;
  for (int i = 0; i < parameterCount(name); ++i) {
    uint64_t value;
    std::memcpy(&value, kernelParams[i], sizeof(value));
    std::snprintf(line, sizeof(line), " %" PRIx64, value);
    notes += line;
  }
  notes += "\n";
  return hipSuccess;
}
hipError_t hipMalloc(void **ptr, size_t size) {
  if (isMode("full"))
    return hipErrorOutOfMemory;
  *ptr = std::aligned_alloc(256, (size + 255) / 256 * 256);
  return hipSuccess;
}
hipError_t hipFree(void *ptr) {
  std::free(ptr);
  return hipSuccess;
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t sizeBytes) {
  std::memcpy(dst, src, sizeBytes);
  return hipSuccess;
}
hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t sizeBytes) {
  std::memcpy(dst, src, sizeBytes);
  return hipSuccess;
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src,
                              size_t sizeBytes, hipStream_t) {
  std::memcpy(dst, src, sizeBytes);
  return hipSuccess;
}
hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value,
                            size_t sizeBytes, hipStream_t) {
  std::memset(dst, value, sizeBytes);
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned) {
  *event = reinterpret_cast<hipEvent_t>(new int(0));
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  delete reinterpret_cast<int *>(event);
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
hipError_t hipEventElapsedTime(float *ms, hipEvent_t, hipEvent_t) {
  *ms = 1.5F;
  return hipSuccess;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
