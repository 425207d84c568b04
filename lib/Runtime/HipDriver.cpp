//===- HipDriver.cpp - AMD devices and the simulator through HIP ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of all functions come from the real HIP header, so that a wrong
// call does not compile; the functions themselves come from the library opened
// at run time. The simulator is the same driver with another library.
//
// One function needs care: hipGetDeviceProperties. Its structure changed
// between ROCm 5 and 6, and which symbol fills which layout is not the header's
// to say. Libraries since ROCm 6 keep the old layout under the plain name (and
// the new one under hipGetDevicePropertiesR0600). So the plain name is called
// with a buffer larger than either layout, only the two names are taken from
// it, and every number comes from hipDeviceGetAttribute, whose numbering did
// not change.
//
//===----------------------------------------------------------------------===//

#include "AmdCodeObject.h"
#include "Driver.h"
#include "DynamicLibrary.h"
#include "Error.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace lnbwd::runtime {

namespace {

// Every function that is used with the type that the header gives it.
#define LNBWD_HIP_FUNCTIONS(FUNCTION)                                          \
  FUNCTION(hipInit)                                                            \
  FUNCTION(hipGetErrorName)                                                    \
  FUNCTION(hipGetErrorString)                                                  \
  FUNCTION(hipGetDeviceCount)                                                  \
  FUNCTION(hipGetDevice)                                                       \
  FUNCTION(hipSetDevice)                                                       \
  FUNCTION(hipDeviceGetAttribute)                                              \
  FUNCTION(hipMemGetInfo)                                                      \
  FUNCTION(hipModuleLoadData)                                                  \
  FUNCTION(hipModuleUnload)                                                    \
  FUNCTION(hipModuleGetFunction)                                               \
  FUNCTION(hipModuleLaunchKernel)                                              \
  FUNCTION(hipMalloc)                                                          \
  FUNCTION(hipFree)                                                            \
  FUNCTION(hipMemcpy)                                                          \
  FUNCTION(hipMemcpyAsync)                                                     \
  FUNCTION(hipMemsetAsync)                                                     \
  FUNCTION(hipStreamSynchronize)                                               \
  FUNCTION(hipEventCreate)                                                     \
  FUNCTION(hipEventDestroy)                                                    \
  FUNCTION(hipEventRecord)                                                     \
  FUNCTION(hipEventSynchronize)                                                \
  FUNCTION(hipEventElapsedTime)

/// The names inside hipDeviceProp_t, wherever the library's layout has them.
struct DeviceNames {
  std::string name;
  std::string arch;
};

/// The functions of one HIP library.
struct HipLibrary {
  DynamicLibrary library;
#define LNBWD_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  LNBWD_HIP_FUNCTIONS(LNBWD_DECLARE)
#undef LNBWD_DECLARE
  /// hipGetDeviceProperties; the library's structure may not be the header's.
  hipError_t (*getProperties)(hipDeviceProp_t *, int) = nullptr;
  /// Of the simulator: what was behind the last error. Null elsewhere.
  const char *(*simulatorMessage)() = nullptr;

  HipLibrary(const char *variable, const std::vector<std::string> &names,
             const std::string &remedy)
      : library(variable, names, remedy) {
#define LNBWD_LOAD(NAME) library.load(this->NAME, #NAME);
    LNBWD_HIP_FUNCTIONS(LNBWD_LOAD)
#undef LNBWD_LOAD
    library.load(getProperties, "hipGetDeviceProperties");
    simulatorMessage = reinterpret_cast<const char *(*)()>(
        library.symbol("lnbwdSimLastErrorMessage"));
  }

  /// The driver's words on a failed call.
  std::string describe(const char *call, hipError_t error) const {
    const char *name = hipGetErrorName(error);
    const char *words = hipGetErrorString(error);
    std::string message =
        std::string(call) + " failed: " + (name ? name : "unknown error");
    if (words && (!name || std::strcmp(name, words) != 0))
      message += std::string(" (") + words + ")";
    const char *details = simulatorMessage ? simulatorMessage() : nullptr;
    if (details && *details)
      message += std::string(": ") + details;
    return message;
  }

  void check(const char *call, hipError_t error) const {
    if (error == hipSuccess)
      return;
    lnbwd_status status = LNBWD_ERROR_DRIVER;
    if (error == hipErrorOutOfMemory)
      status = LNBWD_ERROR_OUT_OF_MEMORY;
    else if (error == hipErrorNoDevice || error == hipErrorInvalidDevice)
      status = LNBWD_ERROR_NO_DEVICE;
    else if (error == hipErrorNoBinaryForGpu)
      status = LNBWD_ERROR_WRONG_CHIP;
    throw Error(status, describe(call, error));
  }

  /// The number of devices, at least 1; throws with `remedy` if there is none.
  int deviceCount(const std::string &remedy) const {
    const std::string joined = remedy.empty() ? "" : "; " + remedy;
    int count = 0;
    const char *call = "hipInit";
    hipError_t error = hipInit(0);
    if (error == hipSuccess) {
      call = "hipGetDeviceCount";
      error = hipGetDeviceCount(&count);
    }
    if (error != hipSuccess)
      throw Error(LNBWD_ERROR_NO_DEVICE,
                  library.name() + " is there but offers no device: " +
                      describe(call, error) + joined);
    if (count <= 0)
      throw Error(LNBWD_ERROR_NO_DEVICE,
                  library.name() + " is there but reports no device" + joined);
    return count;
  }

  DeviceNames names(int index) const {
    // The layouts have 800 and 1472 bytes; a future one may be larger.
    std::vector<char> buffer(16384, 0);
    auto *properties = reinterpret_cast<hipDeviceProp_t *>(buffer.data());
    check("hipGetDeviceProperties", getProperties(properties, index));
    auto textAt = [&](size_t offset) {
      return std::string(buffer.data() + offset,
                         strnlen(buffer.data() + offset, 256));
    };
    DeviceNames result;
    result.name = textAt(0);
    // Where gcnArchName is in ROCm 5's layout, and in that of ROCm 6 and 7.
    for (size_t offset : {size_t(396), size_t(1160)}) {
      result.arch = textAt(offset);
      if (result.arch.compare(0, 3, "gfx") == 0)
        return result;
    }
    throw Error(LNBWD_ERROR_NO_DEVICE,
                library.name() + " does not tell the chip of device " +
                    std::to_string(index) +
                    " in a way that this runtime knows");
  }
};

class HipDriver final : public Driver {
public:
  HipDriver(std::shared_ptr<const HipLibrary> library, int index,
            bool isSimulated);

  MemoryInfo memory() const override {
    MemoryInfo result{};
    call("hipMemGetInfo", hip->hipMemGetInfo, &result.freeBytes,
         &result.totalBytes);
    return result;
  }
  void *symbol(const char *name) const override {
    return hip->library.symbol(name);
  }
  void makeCurrent() const override {
    hip->check("hipSetDevice", hip->hipSetDevice(index));
  }
  void *loadModule(const std::string &code) const override {
    hipModule_t module = nullptr;
    call("hipModuleLoadData", hip->hipModuleLoadData, &module, code.data());
    return module;
  }
  void unloadModule(void *module) const noexcept override {
    (void)hip->hipModuleUnload(static_cast<hipModule_t>(module));
  }
  void *findFunction(void *module, const std::string &name,
                     uint32_t dynamicSharedBytes) const override {
    hipFunction_t function = nullptr;
    call("hipModuleGetFunction of '" + name + "'", hip->hipModuleGetFunction,
         &function, static_cast<hipModule_t>(module), name.c_str());
    return function;
  }
  void launch(void *function, const char *name, const LaunchConfig &config,
              void **parameters, void *stream) const override;
  void *allocate(size_t bytes) const override {
    void *pointer = nullptr;
    call("hipMalloc of " + std::to_string(bytes) + " bytes", hip->hipMalloc,
         &pointer, bytes);
    return pointer;
  }
  void release(void *pointer) const override {
    call("hipFree", hip->hipFree, pointer);
  }
  void copyToDevice(void *destination, const void *source,
                    size_t bytes) const override {
    call("hipMemcpy to the device", hip->hipMemcpy, destination, source, bytes,
         hipMemcpyHostToDevice);
  }
  void copyToHost(void *destination, const void *source,
                  size_t bytes) const override {
    call("hipMemcpy to the host", hip->hipMemcpy, destination, source, bytes,
         hipMemcpyDeviceToHost);
  }
  void copyOnDevice(void *destination, const void *source, size_t bytes,
                    void *stream) const override {
    call("hipMemcpyAsync on the device", hip->hipMemcpyAsync, destination,
         source, bytes, hipMemcpyDeviceToDevice,
         static_cast<hipStream_t>(stream));
  }
  void setBytes(void *pointer, int value, size_t bytes,
                void *stream) const override {
    call("hipMemsetAsync", hip->hipMemsetAsync, pointer, value, bytes,
         static_cast<hipStream_t>(stream));
  }
  void synchronize(void *stream) const override {
    call("hipStreamSynchronize", hip->hipStreamSynchronize,
         static_cast<hipStream_t>(stream));
  }
  void *createEvent() const override {
    hipEvent_t event = nullptr;
    call("hipEventCreate", hip->hipEventCreate, &event);
    return event;
  }
  void destroyEvent(void *event) const noexcept override {
    (void)hip->hipEventDestroy(static_cast<hipEvent_t>(event));
  }
  void recordEvent(void *event, void *stream) const override {
    call("hipEventRecord", hip->hipEventRecord, static_cast<hipEvent_t>(event),
         static_cast<hipStream_t>(stream));
  }
  double elapsedMilliseconds(void *start, void *stop) const override {
    float milliseconds = 0;
    call("hipEventSynchronize", hip->hipEventSynchronize,
         static_cast<hipEvent_t>(stop));
    call("hipEventElapsedTime", hip->hipEventElapsedTime, &milliseconds,
         static_cast<hipEvent_t>(start), static_cast<hipEvent_t>(stop));
    return milliseconds;
  }

private:
  /// Makes the device current for the calls of one scope.
  class Current {
  public:
    explicit Current(const HipDriver &driver) : hip(*driver.hip) {
      if (hip.hipGetDevice(&previous) != hipSuccess)
        previous = -1;
      if (previous == driver.index)
        previous = -1;
      else
        hip.check("hipSetDevice", hip.hipSetDevice(driver.index));
    }
    ~Current() {
      if (previous >= 0)
        (void)hip.hipSetDevice(previous);
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    const HipLibrary &hip;
    int previous = -1;
  };

  /// Calls a function with the device current, and throws where it fails.
  template <typename Name, typename Function, typename... Arguments>
  void call(const Name &name, Function function, Arguments... arguments) const {
    Current current(*this);
    if (hipError_t error = function(arguments...); error != hipSuccess)
      hip->check(std::string(name).c_str(), error);
  }

  int64_t attribute(hipDeviceAttribute_t which) const {
    int value = 0;
    hip->check("hipDeviceGetAttribute",
               hip->hipDeviceGetAttribute(&value, which, index));
    return value;
  }

  std::shared_ptr<const HipLibrary> hip;
  int index;
};

} // namespace

/// Compute units of what HIP calls a multiprocessor. From gfx10 on that is a
/// workgroup processor, a pair of compute units (ROCm/hip#3767), unless
/// GPU_ENABLE_WGP_MODE=0 tells HIP to count compute units. docs/runtime.md says
/// which of the two numbers a plan means.
static int64_t unitsOfMultiprocessor(const std::string &arch) {
  // "gfx" and the number: one or two digits, then those of minor and stepping.
  const size_t begin = 3;
  const size_t length = std::min(arch.find_first_of(":-"), arch.size()) - begin;
  const bool isPaired = length >= 4;
  const char *mode = std::getenv("GPU_ENABLE_WGP_MODE");
  const bool isOff =
      mode && (std::strcmp(mode, "0") == 0 || std::strcmp(mode, "false") == 0);
  return isPaired && !isOff ? 2 : 1;
}

HipDriver::HipDriver(std::shared_ptr<const HipLibrary> library, int index,
                     bool isSimulated)
    : hip(std::move(library)), index(index) {
  DeviceNames names = hip->names(index);
  deviceInfo.name = names.name;
  deviceInfo.arch = names.arch;
  deviceInfo.driver = "HIP (" + hip->library.fileName() + ")";
  deviceInfo.computeUnits = attribute(hipDeviceAttributeMultiprocessorCount) *
                            unitsOfMultiprocessor(names.arch);
  deviceInfo.waveSize = attribute(hipDeviceAttributeWarpSize);
  deviceInfo.isSimulated = isSimulated;
  int l2 = 0;
  if (hip->hipDeviceGetAttribute(&l2, hipDeviceAttributeL2CacheSize, index) ==
          hipSuccess &&
      l2 > 0)
    deviceInfo.l2Bytes = static_cast<uint64_t>(l2);
  if (deviceInfo.computeUnits <= 0)
    throw Error(LNBWD_ERROR_NO_DEVICE,
                "device '" + names.name + "' reports no compute units");
  // HIP counts a grid in work-items too, in 32 bits a dimension.
  deviceInfo.maxWorkgroups.fill(std::numeric_limits<int32_t>::max());
  deviceInfo.maxWorkItems = std::numeric_limits<uint32_t>::max();
  deviceInfo.memoryBytes = memory().totalBytes;
}

void HipDriver::launch(void *function, const char *name,
                       const LaunchConfig &config, void **parameters,
                       void *stream) const {
  Current current(*this);
  hipError_t error = hip->hipModuleLaunchKernel(
      static_cast<hipFunction_t>(function), config.grid[0], config.grid[1],
      config.grid[2], config.block[0], config.block[1], config.block[2],
      config.dynamicSharedBytes, static_cast<hipStream_t>(stream), parameters,
      nullptr);
  if (error != hipSuccess)
    hip->check((std::string("hipModuleLaunchKernel of '") + name + "'").c_str(),
               error);
}

std::shared_ptr<Driver> openHipDevice(int index) {
  auto library = std::make_shared<HipLibrary>(
      "LNBWD_HIP_LIBRARY",
      std::vector<std::string>{"libamdhip64.so", "libamdhip64.so.7",
                               "libamdhip64.so.6", "libamdhip64.so.5"},
      "install ROCm's HIP runtime (libamdhip64) or set LNBWD_HIP_LIBRARY to "
      "it, or run on the simulator (device 'sim')");
  int count = library->deviceCount(
      "is there an AMD card, is the amdgpu driver loaded and may this user "
      "open /dev/kfd? The simulator (device 'sim') needs no card");
  if (index >= count)
    throw Error(
        LNBWD_ERROR_NO_DEVICE,
        "there is no device hip:" + std::to_string(index) +
            "; the devices are hip:0 to hip:" + std::to_string(count - 1));
  return std::make_shared<HipDriver>(library, index, false);
}

std::shared_ptr<Driver> openSimulatedDevice(const std::string &chip) {
  const char *fileName = "liblnbwd-hip-sim.so";
  std::string folder = ownFolder();
  auto library = std::make_shared<HipLibrary>(
      "LNBWD_SIM_LIBRARY",
      std::vector<std::string>{folder + fileName, folder + "../lib/" + fileName,
                               fileName},
      "the simulator's library liblnbwd-hip-sim.so belongs beside the "
      "runtime's; build it (LNBWD_ENABLE_SIMULATOR), install it (cmake "
      "--install BUILD --component simulator) or set LNBWD_SIM_LIBRARY to it");
  // The simulator says itself what is wrong, such as a variable's value.
  int count = library->deviceCount(
      environment("LNBWD_SIM_LIBRARY").empty()
          ? ""
          : "LNBWD_SIM_LIBRARY is set and has to name the simulator");
  std::string known;
  for (int i = 0; i < count; ++i) {
    std::string arch = library->names(i).arch;
    if (isCompatible(chip, arch))
      return std::make_shared<HipDriver>(library, i, true);
    if (baseChip(arch) == baseChip(chip))
      throw Error(LNBWD_ERROR_NO_DEVICE,
                  "the simulated device is " + arch + ", not " + chip +
                      "; HSA_XNACK=1 in the environment gives it xnack+");
    known += (i == 0 ? "" : ", ") + baseChip(arch);
  }
  throw Error(LNBWD_ERROR_NO_DEVICE,
              "the simulator has no chip '" + chip + "'; it has " + known);
}

} // namespace lnbwd::runtime
