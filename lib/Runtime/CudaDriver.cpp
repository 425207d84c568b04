//===- CudaDriver.cpp - NVIDIA devices through the CUDA driver ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CUDA driver's interface has been stable since CUDA 4, and no free package
// carries its header: the few functions used are declared here. The device's
// primary context is used, which is the one that CUDA's own runtime and
// PyTorch use, so that memory and streams of theirs can be passed in.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "DynamicLibrary.h"
#include "Error.h"

#include <limits>
#include <vector>

namespace lnbwd::runtime {

namespace {

// The driver's types; handles are pointers to what only it knows.
using CUresult = int;
using CUdevice = int;
// A number of 64 bits, passed as a pointer is.
using CUdeviceptr = void *;
using CUcontext = void *;
using CUmodule = void *;
using CUfunction = void *;
using CUstream = void *;
using CUevent = void *;

constexpr CUresult kSuccess = 0;
constexpr CUresult kErrorOutOfMemory = 2;
constexpr CUresult kErrorNoDevice = 100;
constexpr CUresult kErrorInvalidDevice = 101;
constexpr CUresult kErrorNoBinaryForGpu = 209;
constexpr CUresult kErrorInvalidPtx = 218;
constexpr CUresult kErrorUnsupportedPtxVersion = 222;
constexpr CUresult kErrorInvalidValue = 1;

// Attributes of a device and of a function, and options of the PTX compiler.
constexpr int kAttributeWarpSize = 10;
constexpr int kAttributeMultiprocessorCount = 16;
constexpr int kAttributeMaxGridX = 5;
constexpr int kAttributeMaxGridY = 6;
constexpr int kAttributeMaxGridZ = 7;
constexpr int kAttributeL2CacheSize = 38;
constexpr int kAttributeCapabilityMajor = 75;
constexpr int kAttributeCapabilityMinor = 76;
constexpr int kFunctionMaxDynamicSharedBytes = 8;
constexpr int kLaunchAttributeClusterDimension = 4;
constexpr int kLaunchAttributeProgrammaticStreamSerialization = 6;
constexpr int kJitErrorLogBuffer = 5;
constexpr int kJitErrorLogBufferSize = 6;

/// CUlaunchAttribute: an identifier and a value of 64 bytes.
struct CUlaunchAttribute {
  int id;
  int padding;
  union {
    unsigned clusterDim[3];
    int programmaticStreamSerializationAllowed;
    char reserved[64];
  } value;
};

/// CUlaunchConfig.
struct CUlaunchConfig {
  unsigned gridDim[3];
  unsigned blockDim[3];
  unsigned sharedMemBytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned attributeCount;
};

// Every function that is used, by its exported name, with its parameters.
#define LNBWD_CUDA_FUNCTIONS(FUNCTION)                                         \
  FUNCTION(cuInit, unsigned)                                                   \
  FUNCTION(cuGetErrorName, CUresult, const char **)                            \
  FUNCTION(cuGetErrorString, CUresult, const char **)                          \
  FUNCTION(cuDriverGetVersion, int *)                                          \
  FUNCTION(cuDeviceGetCount, int *)                                            \
  FUNCTION(cuDeviceGet, CUdevice *, int)                                       \
  FUNCTION(cuDeviceGetName, char *, int, CUdevice)                             \
  FUNCTION(cuDeviceGetAttribute, int *, int, CUdevice)                         \
  FUNCTION(cuDeviceTotalMem_v2, size_t *, CUdevice)                            \
  FUNCTION(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice)                    \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, CUdevice)                             \
  FUNCTION(cuCtxGetCurrent, CUcontext *)                                       \
  FUNCTION(cuCtxSetCurrent, CUcontext)                                         \
  FUNCTION(cuMemGetInfo_v2, size_t *, size_t *)                                \
  FUNCTION(cuModuleLoadDataEx, CUmodule *, const void *, unsigned, int *,      \
           void **)                                                            \
  FUNCTION(cuModuleUnload, CUmodule)                                           \
  FUNCTION(cuModuleGetFunction, CUfunction *, CUmodule, const char *)          \
  FUNCTION(cuFuncSetAttribute, CUfunction, int, int)                           \
  FUNCTION(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, \
           unsigned, unsigned, unsigned, CUstream, void **, void **)           \
  FUNCTION(cuMemAlloc_v2, CUdeviceptr *, size_t)                               \
  FUNCTION(cuMemFree_v2, CUdeviceptr)                                          \
  FUNCTION(cuMemcpyHtoD_v2, CUdeviceptr, const void *, size_t)                 \
  FUNCTION(cuMemcpyDtoH_v2, void *, const void *, size_t)                      \
  FUNCTION(cuMemcpyDtoDAsync_v2, CUdeviceptr, const void *, size_t, CUstream)  \
  FUNCTION(cuMemsetD8Async, CUdeviceptr, unsigned char, size_t, CUstream)      \
  FUNCTION(cuStreamSynchronize, CUstream)                                      \
  FUNCTION(cuEventCreate, CUevent *, unsigned)                                 \
  FUNCTION(cuEventDestroy_v2, CUevent)                                         \
  FUNCTION(cuEventRecord, CUevent, CUstream)                                   \
  FUNCTION(cuEventSynchronize, CUevent)                                        \
  FUNCTION(cuEventElapsedTime, float *, CUevent, CUevent)

// Those that are null in older drivers: since CUDA 11.8, and the last 10.1.
#define LNBWD_CUDA_NEWER_FUNCTIONS(FUNCTION)                                   \
  FUNCTION(cuLaunchKernelEx, const CUlaunchConfig *, CUfunction, void **,      \
           void **)                                                            \
  FUNCTION(cuOccupancyMaxActiveClusters, int *, CUfunction,                    \
           const CUlaunchConfig *)                                             \
  FUNCTION(cuThreadExchangeStreamCaptureMode, int *)

/// The driver's functions.
struct CudaLibrary {
  DynamicLibrary library;
#define LNBWD_DECLARE(NAME, ...) CUresult (*NAME)(__VA_ARGS__) = nullptr;
  LNBWD_CUDA_FUNCTIONS(LNBWD_DECLARE)
  LNBWD_CUDA_NEWER_FUNCTIONS(LNBWD_DECLARE)
#undef LNBWD_DECLARE

  CudaLibrary(const std::vector<std::string> &names, const std::string &remedy)
      : library("LNBWD_CUDA_LIBRARY", names, remedy) {
#define LNBWD_LOAD(NAME, ...) library.load(this->NAME, #NAME);
    LNBWD_CUDA_FUNCTIONS(LNBWD_LOAD)
#undef LNBWD_LOAD
#define LNBWD_LOOK_UP(NAME, ...)                                               \
  NAME = reinterpret_cast<decltype(NAME)>(library.symbol(#NAME));
    LNBWD_CUDA_NEWER_FUNCTIONS(LNBWD_LOOK_UP)
#undef LNBWD_LOOK_UP
  }

  /// While it lives, this thread may give memory and modules back although a
  /// graph is being captured: what a garbage collector frees meanwhile is no
  /// part of the graph, and would end the capture.
  class AllowFreeing {
  public:
    explicit AllowFreeing(const CudaLibrary &cuda) : cuda(cuda) { exchange(); }
    ~AllowFreeing() { exchange(); }
    AllowFreeing(const AllowFreeing &) = delete;
    AllowFreeing &operator=(const AllowFreeing &) = delete;

  private:
    void exchange() {
      if (cuda.cuThreadExchangeStreamCaptureMode)
        cuda.cuThreadExchangeStreamCaptureMode(&mode);
    }

    const CudaLibrary &cuda;
    int mode = 2; ///< CU_STREAM_CAPTURE_MODE_RELAXED
  };

  std::string describe(const std::string &call, CUresult error) const {
    const char *name = nullptr;
    const char *words = nullptr;
    cuGetErrorName(error, &name);
    cuGetErrorString(error, &words);
    std::string message = call + " failed: ";
    message += name ? name : ("error " + std::to_string(error)).c_str();
    if (words)
      message += std::string(" (") + words + ")";
    return message;
  }

  void check(const char *call, CUresult error) const {
    if (error != kSuccess)
      fail(call, error);
  }

  [[noreturn]] void fail(const std::string &call, CUresult error,
                         const std::string &details = "") const {
    lnbwd_status status = LNBWD_ERROR_DRIVER;
    if (error == kErrorOutOfMemory)
      status = LNBWD_ERROR_OUT_OF_MEMORY;
    else if (error == kErrorNoDevice || error == kErrorInvalidDevice)
      status = LNBWD_ERROR_NO_DEVICE;
    else if (error == kErrorNoBinaryForGpu)
      status = LNBWD_ERROR_WRONG_CHIP;
    throw Error(status, describe(call, error) + details);
  }
};

class CudaDriver final : public Driver {
public:
  CudaDriver(std::shared_ptr<const CudaLibrary> library, int index);
  ~CudaDriver() override { cuda->cuDevicePrimaryCtxRelease_v2(device); }

  MemoryInfo memory() const override {
    MemoryInfo result{};
    call("cuMemGetInfo", cuda->cuMemGetInfo_v2, &result.freeBytes,
         &result.totalBytes);
    return result;
  }
  void *symbol(const char *name) const override {
    return cuda->library.symbol(name);
  }
  void makeCurrent() const override {
    cuda->check("cuCtxSetCurrent", cuda->cuCtxSetCurrent(context));
  }
  void *loadModule(const std::string &code) const override;
  void unloadModule(void *module) const noexcept override;
  void *findFunction(void *module, const std::string &name,
                     uint32_t dynamicSharedBytes) const override;
  int64_t residentClusters(void *function, const LaunchConfig &config,
                           uint32_t clusterSize) const override;
  void launch(void *function, const char *name, const LaunchConfig &config,
              void **parameters, void *stream) const override;
  void *allocate(size_t bytes) const override {
    void *pointer = nullptr;
    call("cuMemAlloc of " + std::to_string(bytes) + " bytes",
         cuda->cuMemAlloc_v2, &pointer, bytes);
    return pointer;
  }
  void release(void *pointer) const override {
    CudaLibrary::AllowFreeing allow(*cuda);
    call("cuMemFree", cuda->cuMemFree_v2, pointer);
  }
  void copyToDevice(void *destination, const void *source,
                    size_t bytes) const override {
    call("cuMemcpyHtoD", cuda->cuMemcpyHtoD_v2, destination, source, bytes);
  }
  void copyToHost(void *destination, const void *source,
                  size_t bytes) const override {
    call("cuMemcpyDtoH", cuda->cuMemcpyDtoH_v2, destination, source, bytes);
  }
  void copyOnDevice(void *destination, const void *source, size_t bytes,
                    void *stream) const override {
    call("cuMemcpyDtoDAsync", cuda->cuMemcpyDtoDAsync_v2, destination, source,
         bytes, stream);
  }
  void setBytes(void *pointer, int value, size_t bytes,
                void *stream) const override {
    call("cuMemsetD8Async", cuda->cuMemsetD8Async, pointer,
         static_cast<unsigned char>(value), bytes, stream);
  }
  void synchronize(void *stream) const override {
    call("cuStreamSynchronize", cuda->cuStreamSynchronize, stream);
  }
  void *createEvent() const override {
    CUevent event = nullptr;
    call("cuEventCreate", cuda->cuEventCreate, &event, 0);
    return event;
  }
  void destroyEvent(void *event) const noexcept override {
    CudaLibrary::AllowFreeing allow(*cuda);
    cuda->cuEventDestroy_v2(event);
  }
  void recordEvent(void *event, void *stream) const override {
    call("cuEventRecord", cuda->cuEventRecord, event, stream);
  }
  double elapsedMilliseconds(void *start, void *stop) const override {
    float milliseconds = 0;
    call("cuEventSynchronize", cuda->cuEventSynchronize, stop);
    call("cuEventElapsedTime", cuda->cuEventElapsedTime, &milliseconds, start,
         stop);
    return milliseconds;
  }

private:
  /// Makes the device's primary context current for the calls of one scope.
  class Current {
  public:
    explicit Current(const CudaDriver &driver) : cuda(*driver.cuda) {
      cuda.check("cuCtxGetCurrent", cuda.cuCtxGetCurrent(&previous));
      changed = previous != driver.context;
      if (changed)
        cuda.check("cuCtxSetCurrent", cuda.cuCtxSetCurrent(driver.context));
    }
    ~Current() {
      if (changed)
        cuda.cuCtxSetCurrent(previous);
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    const CudaLibrary &cuda;
    CUcontext previous = nullptr;
    bool changed = false;
  };

  /// Calls a function with the context current, and throws where it fails.
  template <typename Name, typename Function, typename... Arguments>
  void call(const Name &name, Function function, Arguments... arguments) const {
    Current current(*this);
    if (CUresult error = function(arguments...); error != kSuccess)
      cuda->fail(name, error);
  }

  int attribute(int which) const {
    int value = 0;
    cuda->check("cuDeviceGetAttribute",
                cuda->cuDeviceGetAttribute(&value, which, device));
    return value;
  }

  std::shared_ptr<const CudaLibrary> cuda;
  CUdevice device = 0;
  CUcontext context = nullptr;
};

} // namespace

CudaDriver::CudaDriver(std::shared_ptr<const CudaLibrary> library, int index)
    : cuda(std::move(library)) {
  cuda->check("cuDeviceGet", cuda->cuDeviceGet(&device, index));
  char name[256] = "";
  cuda->check("cuDeviceGetName",
              cuda->cuDeviceGetName(name, sizeof(name), device));
  int version = 0;
  cuda->check("cuDriverGetVersion", cuda->cuDriverGetVersion(&version));
  deviceInfo.name = name;
  deviceInfo.arch = "sm_" +
                    std::to_string(attribute(kAttributeCapabilityMajor)) +
                    std::to_string(attribute(kAttributeCapabilityMinor));
  deviceInfo.driver = "CUDA " + std::to_string(version / 1000) + "." +
                      std::to_string(version % 1000 / 10) + " (" +
                      cuda->library.fileName() + ")";
  deviceInfo.computeUnits = attribute(kAttributeMultiprocessorCount);
  deviceInfo.waveSize = attribute(kAttributeWarpSize);
  deviceInfo.l2Bytes = static_cast<uint64_t>(attribute(kAttributeL2CacheSize));
  deviceInfo.maxWorkgroups = {attribute(kAttributeMaxGridX),
                              attribute(kAttributeMaxGridY),
                              attribute(kAttributeMaxGridZ)};
  deviceInfo.maxWorkItems = std::numeric_limits<int64_t>::max();
  size_t total = 0;
  cuda->check("cuDeviceTotalMem", cuda->cuDeviceTotalMem_v2(&total, device));
  deviceInfo.memoryBytes = total;
  // Last, so that nothing can throw after it: the destructor gives it back.
  cuda->check("cuDevicePrimaryCtxRetain",
              cuda->cuDevicePrimaryCtxRetain(&context, device));
}

void *CudaDriver::loadModule(const std::string &code) const {
  Current current(*this);
  // PTX is compiled by the driver here; its complaints are worth reading.
  std::vector<char> log(8192, 0);
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSize};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module = nullptr;
  CUresult error =
      cuda->cuModuleLoadDataEx(&module, code.c_str(), 2, options, values);
  if (error == kSuccess)
    return module;
  log.back() = 0;
  std::string details = log[0] ? std::string(": ") + log.data() : "";
  if (error == kErrorUnsupportedPtxVersion)
    details += "; the driver is older than the PTX: update it, or have "
               "lnbwd-opt emit an older PTX version";
  else if (error == kErrorInvalidPtx && details.empty())
    details = "; the driver does not take this PTX";
  cuda->fail("cuModuleLoadDataEx", error, details);
}

void CudaDriver::unloadModule(void *module) const noexcept {
  CUcontext previous = nullptr;
  if (cuda->cuCtxGetCurrent(&previous) != kSuccess ||
      cuda->cuCtxSetCurrent(context) != kSuccess)
    return;
  CudaLibrary::AllowFreeing allow(*cuda);
  cuda->cuModuleUnload(module);
  cuda->cuCtxSetCurrent(previous);
}

void *CudaDriver::findFunction(void *module, const std::string &name,
                               uint32_t dynamicSharedBytes) const {
  Current current(*this);
  CUfunction function = nullptr;
  CUresult error = cuda->cuModuleGetFunction(&function, module, name.c_str());
  if (error != kSuccess)
    cuda->fail("cuModuleGetFunction of '" + name + "'", error,
               "; the plan launches it, the code does not have it");
  // The default limit counts what the kernel declares as well, so it is raised
  // for every launch that asks for more than nothing.
  if (dynamicSharedBytes > 0)
    cuda->check("cuFuncSetAttribute (dynamic shared memory)",
                cuda->cuFuncSetAttribute(function,
                                         kFunctionMaxDynamicSharedBytes,
                                         static_cast<int>(dynamicSharedBytes)));
  return function;
}

/// As cuLaunchKernelEx takes it, with one attribute, which must outlive it.
static CUlaunchConfig makeLaunchConfig(const LaunchConfig &config, void *stream,
                                       CUlaunchAttribute &attribute) {
  return {{config.grid[0], config.grid[1], config.grid[2]},
          {config.block[0], config.block[1], config.block[2]},
          config.dynamicSharedBytes,
          stream,
          &attribute,
          1};
}

int64_t CudaDriver::residentClusters(void *function, const LaunchConfig &config,
                                     uint32_t clusterSize) const {
  if (!cuda->cuOccupancyMaxActiveClusters)
    return 0;
  Current current(*this);
  CUlaunchAttribute attribute = {};
  attribute.id = kLaunchAttributeClusterDimension;
  attribute.value.clusterDim[0] = 1;
  attribute.value.clusterDim[1] = clusterSize;
  attribute.value.clusterDim[2] = 1;
  CUlaunchConfig launchConfig = makeLaunchConfig(config, nullptr, attribute);
  int count = 0;
  cuda->check(
      "cuOccupancyMaxActiveClusters",
      cuda->cuOccupancyMaxActiveClusters(&count, function, &launchConfig));
  return count;
}

void CudaDriver::launch(void *function, const char *name,
                        const LaunchConfig &config, void **parameters,
                        void *stream) const {
  Current current(*this);
  CUresult error;
  if (config.dependentLaunch && cuda->cuLaunchKernelEx) {
    CUlaunchAttribute attribute = {};
    attribute.id = kLaunchAttributeProgrammaticStreamSerialization;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig launchConfig = makeLaunchConfig(config, stream, attribute);
    error =
        cuda->cuLaunchKernelEx(&launchConfig, function, parameters, nullptr);
  } else {
    error = cuda->cuLaunchKernel(
        function, config.grid[0], config.grid[1], config.grid[2],
        config.block[0], config.block[1], config.block[2],
        config.dynamicSharedBytes, stream, parameters, nullptr);
  }
  if (error != kSuccess)
    cuda->fail(std::string("launch of '") + name + "'", error,
               error == kErrorInvalidValue
                   ? "; workgroup size or shared memory beyond the device's"
                   : "");
}

std::shared_ptr<Driver> openCudaDevice(int index) {
  auto library = std::make_shared<CudaLibrary>(
      std::vector<std::string>{"libcuda.so.1", "libcuda.so"},
      "install NVIDIA's driver, which brings libcuda.so.1, or set "
      "LNBWD_CUDA_LIBRARY to it");
  CUresult error = library->cuInit(0);
  int count = 0;
  if (error == kSuccess)
    error = library->cuDeviceGetCount(&count);
  if (error != kSuccess)
    throw Error(LNBWD_ERROR_NO_DEVICE, library->library.name() +
                                           " is there but offers no device: " +
                                           library->describe("cuInit", error) +
                                           "; does nvidia-smi show a card?");
  if (index >= count)
    throw Error(LNBWD_ERROR_NO_DEVICE,
                "there is no device cuda:" + std::to_string(index) +
                    "; there are " + std::to_string(count) +
                    " NVIDIA devices, counted from 0");
  return std::make_shared<CudaDriver>(library, index);
}

} // namespace lnbwd::runtime
