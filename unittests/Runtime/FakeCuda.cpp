//===- FakeCuda.cpp - A CUDA driver that only writes things down ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcuda in the tests of the runtime, as FakeHip.cpp does for
// libamdhip64. It has one device, sm_90, and refuses PTX with the word
// "broken".
//
//===----------------------------------------------------------------------===//

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string notes;
int primaryContext;
void *currentContext = nullptr;

} // namespace

static uint64_t asNumber(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}
void *asPointer(uint64_t number) { return reinterpret_cast<void *>(number); }

// NOLINTBEGIN(readability-identifier-naming): the driver's own names.
extern "C" {

const char *fakeCudaNotes() {
  static std::string result;
  result.swap(notes);
  notes.clear();
  return result.c_str();
}
void *fakeCudaCurrentContext() { return currentContext; }

int cuInit(unsigned) { return 0; }
int cuGetErrorName(int error, const char **name) {
  *name = error == 218 ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_NOT_FOUND";
  return 0;
}
int cuGetErrorString(int error, const char **words) {
  *words =
      error == 218 ? "a PTX JIT compilation failed" : "named symbol not found";
  return 0;
}
int cuDriverGetVersion(int *version) {
  *version = 12040;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int *device, int) {
  *device = 0;
  return 0;
}
int cuDeviceGetName(char *name, int, int) {
  std::strcpy(name, "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int *value, int which, int) {
  switch (which) {
  case 10:
    *value = 32;
    return 0;
  case 16:
    *value = 132;
    return 0;
  case 5:
    *value = 2147483647;
    return 0;
  case 75:
    *value = 9;
    return 0;
  case 76:
    *value = 0;
    return 0;
  default:
    *value = 65535;
    return 0;
  }
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t(1) << 31;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  notes += "retain\n";
  *context = &primaryContext;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  notes += "release\n";
  return 0;
}
int cuCtxGetCurrent(void **context) {
  *context = currentContext;
  return 0;
}
int cuCtxSetCurrent(void *context) {
  currentContext = context;
  return 0;
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = size_t(1) << 30;
  *total = size_t(1) << 31;
  return 0;
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                       int *options, void **values) {
  *module = const_cast<void *>(image);
  if (!std::strstr(static_cast<const char *>(image), "broken"))
    return 0;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 5) // the error log
      std::strcpy(static_cast<char *>(values[i]),
                  "ptxas application ptx input, line 7; fatal: broken");
  return 218;
}
int cuModuleUnload(void *) {
  notes += "unload\n";
  return 0;
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  if (std::strcmp(name, "main") != 0 && std::strcmp(name, "finalize") != 0)
    return 500;
  *function =
      const_cast<char *>(std::strcmp(name, "main") == 0 ? "main" : "finalize");
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  notes += std::string(static_cast<char *>(function)) + " attribute " +
           std::to_string(attribute) + " = " + std::to_string(value) + "\n";
  return 0;
}
int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY,
                   unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned shared, void *stream,
                   void **parameters, void **) {
  char line[256];
  std::snprintf(line, sizeof(line),
                "%s%s grid %u,%u,%u block %u,%u,%u shared %u stream %" PRIx64
                " first parameter %" PRIx64 "\n",
                static_cast<char *>(function),
                currentContext == &primaryContext ? "" : " WITHOUT CONTEXT",
                gridX, gridY, gridZ, blockX, blockY, blockZ, shared,
                asNumber(stream), *static_cast<uint64_t *>(parameters[0]));
  notes += line;
  return 0;
}
#ifndef WITHOUT_LAUNCH_KERNEL_EX
/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  int padding;
  int value[16];
};
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
int cuLaunchKernelEx(const LaunchConfig *config, void *function,
                     void **parameters, void **extra) {
  for (unsigned i = 0; i < config->attributeCount; ++i)
    notes += "attribute " + std::to_string(config->attributes[i].id) + " = " +
             std::to_string(config->attributes[i].value[0]) + " ";
  return cuLaunchKernel(function, config->grid[0], config->grid[1],
                        config->grid[2], config->block[0], config->block[1],
                        config->block[2], config->shared, config->stream,
                        parameters, extra);
}
#endif
#ifndef WITHOUT_LAUNCH_KERNEL_EX
/// A device that holds two clusters at once.
int cuOccupancyMaxActiveClusters(int *count, void *function,
                                 const LaunchConfig *config) {
  notes += std::string(static_cast<char *>(function)) + " clusters of " +
           std::to_string(config->attributes[0].value[1]) + "\n";
  *count = config->attributes[0].id == 4 ? 2 : -1;
  return 0;
}
#endif
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  *pointer = asNumber(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
int cuMemFree_v2(uint64_t pointer) {
  std::free(asPointer(pointer));
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  std::memcpy(asPointer(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  std::memcpy(to, asPointer(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *) {
  std::memcpy(asPointer(to), asPointer(from), bytes);
  return 0;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *) {
  std::memset(asPointer(to), value, bytes);
  return 0;
}
int cuStreamSynchronize(void *) { return 0; }
int cuEventCreate(void **event, unsigned) {
  *event = new int(0);
  return 0;
}
int cuEventDestroy_v2(void *event) {
  delete static_cast<int *>(event);
  return 0;
}
int cuEventRecord(void *, void *) { return 0; }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 2.5F;
  return 0;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
