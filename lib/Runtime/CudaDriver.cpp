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

#include "LibraryDriver.h"

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

// Every function that is used: what it is called here and by the driver, and
// its parameters.
#define LNBWD_CUDA_FUNCTIONS(FUNCTION)                                         \
  FUNCTION(init, cuInit, unsigned)                                             \
  FUNCTION(errorName, cuGetErrorName, CUresult, const char **)                 \
  FUNCTION(errorString, cuGetErrorString, CUresult, const char **)             \
  FUNCTION(driverVersion, cuDriverGetVersion, int *)                           \
  FUNCTION(deviceCount, cuDeviceGetCount, int *)                               \
  FUNCTION(deviceGet, cuDeviceGet, CUdevice *, int)                            \
  FUNCTION(deviceName, cuDeviceGetName, char *, int, CUdevice)                 \
  FUNCTION(deviceAttribute, cuDeviceGetAttribute, int *, int, CUdevice)        \
  FUNCTION(deviceMemory, cuDeviceTotalMem_v2, size_t *, CUdevice)              \
  FUNCTION(retainContext, cuDevicePrimaryCtxRetain, CUcontext *, CUdevice)     \
  FUNCTION(releaseContext, cuDevicePrimaryCtxRelease_v2, CUdevice)             \
  FUNCTION(getPlace, cuCtxGetCurrent, CUcontext *)                             \
  FUNCTION(setPlace, cuCtxSetCurrent, CUcontext)                               \
  FUNCTION(memGetInfo, cuMemGetInfo_v2, size_t *, size_t *)                    \
  FUNCTION(moduleLoadData, cuModuleLoadDataEx, CUmodule *, const void *,       \
           unsigned, int *, void **)                                           \
  FUNCTION(moduleUnload, cuModuleUnload, CUmodule)                             \
  FUNCTION(moduleGetFunction, cuModuleGetFunction, CUfunction *, CUmodule,     \
           const char *)                                                       \
  FUNCTION(setFunctionAttribute, cuFuncSetAttribute, CUfunction, int, int)     \
  FUNCTION(launchKernel, cuLaunchKernel, CUfunction, unsigned, unsigned,       \
           unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,         \
           void **, void **)                                                   \
  FUNCTION(memAlloc, cuMemAlloc_v2, CUdeviceptr *, size_t)                     \
  FUNCTION(memFree, cuMemFree_v2, CUdeviceptr)                                 \
  FUNCTION(copyToDevice, cuMemcpyHtoD_v2, CUdeviceptr, const void *, size_t)   \
  FUNCTION(copyToHost, cuMemcpyDtoH_v2, void *, CUdeviceptr, size_t)           \
  FUNCTION(copyOnDevice, cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr,       \
           size_t, CUstream)                                                   \
  FUNCTION(setBytes, cuMemsetD8Async, CUdeviceptr, unsigned char, size_t,      \
           CUstream)                                                           \
  FUNCTION(streamSynchronize, cuStreamSynchronize, CUstream)                   \
  FUNCTION(eventCreate, cuEventCreate, CUevent *, unsigned)                    \
  FUNCTION(eventDestroy, cuEventDestroy_v2, CUevent)                           \
  FUNCTION(eventRecord, cuEventRecord, CUevent, CUstream)                      \
  FUNCTION(eventSynchronize, cuEventSynchronize, CUevent)                      \
  FUNCTION(eventElapsedTime, cuEventElapsedTime, float *, CUevent, CUevent)

// Those that are null in older drivers: since CUDA 11.8, and the last 10.1.
#define LNBWD_CUDA_NEWER_FUNCTIONS(FUNCTION)                                   \
  FUNCTION(launchKernelEx, cuLaunchKernelEx, const CUlaunchConfig *,           \
           CUfunction, void **, void **)                                       \
  FUNCTION(maxActiveClusters, cuOccupancyMaxActiveClusters, int *, CUfunction, \
           const CUlaunchConfig *)                                             \
  FUNCTION(exchangeCaptureMode, cuThreadExchangeStreamCaptureMode, int *)

/// The driver's functions.
struct CudaLibrary : DriverLibrary {
  using Result = CUresult;
  using Place = CUcontext;
#define LNBWD_DECLARE(NAME, FUNCTION, ...)                                     \
  DriverFunction<CUresult(__VA_ARGS__)> NAME;
  LNBWD_CUDA_FUNCTIONS(LNBWD_DECLARE)
  LNBWD_CUDA_NEWER_FUNCTIONS(LNBWD_DECLARE)
#undef LNBWD_DECLARE

  CudaLibrary(const std::vector<std::string> &names, const std::string &remedy)
      : DriverLibrary("LNBWD_CUDA_LIBRARY", names, remedy) {
#define LNBWD_LOAD(NAME, FUNCTION, ...) load(NAME, #FUNCTION);
    LNBWD_CUDA_FUNCTIONS(LNBWD_LOAD)
#undef LNBWD_LOAD
#define LNBWD_LOOK_UP(NAME, FUNCTION, ...) lookUp(NAME, #FUNCTION);
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
      if (cuda.exchangeCaptureMode.pointer)
        (void)cuda.exchangeCaptureMode(&mode);
    }

    const CudaLibrary &cuda;
    int mode = 2; ///< CU_STREAM_CAPTURE_MODE_RELAXED
  };

  std::string describe(const std::string &call, int error) const override {
    const char *name = nullptr;
    const char *words = nullptr;
    (void)errorName(error, &name);
    (void)errorString(error, &words);
    return DriverLibrary::describe(call, error, name, words);
  }
};

class CudaDriver final : public LibraryDriver<CudaLibrary> {
public:
  CudaDriver(std::shared_ptr<const CudaLibrary> library, int index);
  ~CudaDriver() override { (void)library->releaseContext(device); }

  void *loadModule(const std::string &code) const override;
  void *findFunction(void *module, const std::string &name,
                     uint32_t dynamicSharedBytes) const override;
  int64_t residentClusters(void *function, const LaunchConfig &config,
                           uint32_t clusterSize) const override;
  void launch(void *function, const char *name, const LaunchConfig &config,
              void **parameters, void *stream) const override;

private:
  int attribute(int which) const {
    int value = 0;
    library->call(library->deviceAttribute, &value, which, device);
    return value;
  }

  CUdevice device = 0;
};

} // namespace

CudaDriver::CudaDriver(std::shared_ptr<const CudaLibrary> cuda, int index)
    : LibraryDriver(std::move(cuda), nullptr) {
  library->call(library->deviceGet, &device, index);
  library->call(library->deviceName, deviceInfo.name, sizeof(deviceInfo.name),
                device);
  int version = 0;
  library->call(library->driverVersion, &version);
  copyText(deviceInfo.arch,
           "sm_" + std::to_string(attribute(kAttributeCapabilityMajor)) +
               std::to_string(attribute(kAttributeCapabilityMinor)));
  copyText(deviceInfo.driver, "CUDA " + std::to_string(version / 1000) + "." +
                                  std::to_string(version % 1000 / 10) + " (" +
                                  library->fileName() + ")");
  deviceInfo.compute_units = attribute(kAttributeMultiprocessorCount);
  deviceInfo.wave_size = attribute(kAttributeWarpSize);
  deviceInfo.l2_bytes = static_cast<uint64_t>(attribute(kAttributeL2CacheSize));
  deviceInfo.maxWorkgroups = {attribute(kAttributeMaxGridX),
                              attribute(kAttributeMaxGridY),
                              attribute(kAttributeMaxGridZ)};
  deviceInfo.maxWorkItems = std::numeric_limits<int64_t>::max();
  size_t total = 0;
  library->call(library->deviceMemory, &total, device);
  deviceInfo.memory_bytes = total;
  // Last, so that nothing can throw after it: the destructor gives it back.
  library->call(library->retainContext, &place, device);
}

void *CudaDriver::loadModule(const std::string &code) const {
  Current current(*this);
  // PTX is compiled by the driver here; its complaints are worth reading.
  std::vector<char> log(8192, 0);
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSize};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module = nullptr;
  CUresult error =
      library->moduleLoadData(&module, code.c_str(), 2, options, values);
  if (!error)
    return module;
  log.back() = 0;
  std::string details = log[0] ? std::string(": ") + log.data() : "";
  if (error == kErrorUnsupportedPtxVersion)
    details += "; the driver is older than the PTX: update it, or have "
               "lnbwd-opt emit an older PTX version";
  else if (error == kErrorInvalidPtx && details.empty())
    details = "; the driver does not take this PTX";
  library->fail(library->moduleLoadData.name, error, details);
}

void *CudaDriver::findFunction(void *module, const std::string &name,
                               uint32_t dynamicSharedBytes) const {
  Current current(*this);
  CUfunction function = nullptr;
  CUresult error = library->moduleGetFunction(&function, module, name.c_str());
  if (error)
    library->fail("cuModuleGetFunction of '" + name + "'", error,
                  "; the plan launches it, the code does not have it");
  // The default limit counts what the kernel declares as well, so it is raised
  // for every launch that asks for more than nothing.
  if (dynamicSharedBytes > 0)
    library->call(library->setFunctionAttribute, function,
                  kFunctionMaxDynamicSharedBytes, dynamicSharedBytes);
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
  if (!library->maxActiveClusters.pointer)
    return 0;
  Current current(*this);
  CUlaunchAttribute attribute = {};
  attribute.id = kLaunchAttributeClusterDimension;
  attribute.value.clusterDim[0] = 1;
  attribute.value.clusterDim[1] = clusterSize;
  attribute.value.clusterDim[2] = 1;
  CUlaunchConfig launchConfig = makeLaunchConfig(config, nullptr, attribute);
  int count = 0;
  library->call(library->maxActiveClusters, &count, function, &launchConfig);
  return count;
}

void CudaDriver::launch(void *function, const char *name,
                        const LaunchConfig &config, void **parameters,
                        void *stream) const {
  Current current(*this);
  CUresult error;
  if (config.dependentLaunch && library->launchKernelEx.pointer) {
    CUlaunchAttribute attribute = {};
    attribute.id = kLaunchAttributeProgrammaticStreamSerialization;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig launchConfig = makeLaunchConfig(config, stream, attribute);
    error =
        library->launchKernelEx(&launchConfig, function, parameters, nullptr);
  } else {
    error = launchKernel(function, config, parameters, stream);
  }
  if (error)
    library->fail(std::string("launch of '") + name + "'", error,
                  error == kErrorInvalidValue
                      ? "; workgroup size or shared memory beyond the device's"
                      : "");
}

std::shared_ptr<Driver> openCudaDevice(int index) {
  auto library = std::make_shared<CudaLibrary>(
      std::vector<std::string>{"libcuda.so.1", "libcuda.so"},
      "install NVIDIA's driver, which brings libcuda.so.1, or set "
      "LNBWD_CUDA_LIBRARY to it");
  checkIndex("cuda", index,
             countDevices(*library, "does nvidia-smi show a card?"));
  return std::make_shared<CudaDriver>(library, index);
}

} // namespace lnbwd::runtime
