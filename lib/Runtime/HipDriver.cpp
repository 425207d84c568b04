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

#include "LibraryDriver.h"
#include "Program.h"

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

// Every function that is used: what it is called here and by HIP. Its type is
// the one that the header gives it.
#define LNBWD_HIP_FUNCTIONS(FUNCTION)                                          \
  FUNCTION(init, hipInit)                                                      \
  FUNCTION(errorName, hipGetErrorName)                                         \
  FUNCTION(errorString, hipGetErrorString)                                     \
  FUNCTION(deviceCount, hipGetDeviceCount)                                     \
  FUNCTION(getPlace, hipGetDevice)                                             \
  FUNCTION(setPlace, hipSetDevice)                                             \
  FUNCTION(deviceAttribute, hipDeviceGetAttribute)                             \
  FUNCTION(memGetInfo, hipMemGetInfo)                                          \
  FUNCTION(moduleLoadData, hipModuleLoadData)                                  \
  FUNCTION(moduleUnload, hipModuleUnload)                                      \
  FUNCTION(moduleGetFunction, hipModuleGetFunction)                            \
  FUNCTION(launchKernel, hipModuleLaunchKernel)                                \
  FUNCTION(memAlloc, hipMalloc)                                                \
  FUNCTION(memFree, hipFree)                                                   \
  FUNCTION(copyToDevice, hipMemcpyHtoD)                                        \
  FUNCTION(copyToHost, hipMemcpyDtoH)                                          \
  FUNCTION(copyOnDevice, hipMemcpyDtoDAsync)                                   \
  FUNCTION(setBytes, hipMemsetD8Async)                                         \
  FUNCTION(streamSynchronize, hipStreamSynchronize)                            \
  FUNCTION(eventCreate, hipEventCreateWithFlags)                               \
  FUNCTION(eventDestroy, hipEventDestroy)                                      \
  FUNCTION(eventRecord, hipEventRecord)                                        \
  FUNCTION(eventSynchronize, hipEventSynchronize)                              \
  FUNCTION(eventElapsedTime, hipEventElapsedTime)

static_assert(int(hipErrorOutOfMemory) == kDriverOutOfMemory &&
              int(hipErrorNoDevice) == kDriverNoDevice &&
              int(hipErrorInvalidDevice) == kDriverInvalidDevice &&
              int(hipErrorNoBinaryForGpu) == kDriverNoBinaryForGpu);

/// The names inside hipDeviceProp_t, wherever the library's layout has them.
struct DeviceNames {
  std::string name;
  std::string arch;
};

/// The functions of one HIP library.
struct HipLibrary : DriverLibrary {
  using Result = hipError_t;
  using Place = int;
  /// HIP's functions that free are allowed at all times.
  struct AllowFreeing {
    explicit AllowFreeing(const HipLibrary &) {}
    ~AllowFreeing() {}
  };
#define LNBWD_DECLARE(NAME, FUNCTION) DriverFunction<decltype(::FUNCTION)> NAME;
  LNBWD_HIP_FUNCTIONS(LNBWD_DECLARE)
#undef LNBWD_DECLARE
  /// The library's structure may not be the header's.
  DriverFunction<hipError_t(hipDeviceProp_t *, int)> deviceProperties;
  /// Of the simulator: what was behind the last error. Null elsewhere.
  const char *(*simulatorMessage)() = nullptr;

  HipLibrary(const char *variable, const std::vector<std::string> &names,
             const std::string &remedy)
      : DriverLibrary(variable, names, remedy) {
#define LNBWD_LOAD(NAME, FUNCTION) load(NAME, #FUNCTION);
    LNBWD_HIP_FUNCTIONS(LNBWD_LOAD)
#undef LNBWD_LOAD
    load(deviceProperties, "hipGetDeviceProperties");
    simulatorMessage =
        reinterpret_cast<const char *(*)()>(symbol("lnbwdSimLastErrorMessage"));
  }

  std::string describe(const std::string &call, int error) const override {
    std::string message = DriverLibrary::describe(call, error, errorName(error),
                                                  errorString(error));
    const char *details = simulatorMessage ? simulatorMessage() : nullptr;
    if (details && *details)
      message += std::string(": ") + details;
    return message;
  }

  DeviceNames names(int index) const {
    // The layouts have 800 and 1472 bytes; a future one may be larger.
    std::vector<char> buffer(16384, 0);
    call(deviceProperties, reinterpret_cast<hipDeviceProp_t *>(buffer.data()),
         index);
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
                name() + " does not tell the chip of device " +
                    std::to_string(index) +
                    " in a way that this runtime knows");
  }
};

class HipDriver final : public LibraryDriver<HipLibrary> {
public:
  HipDriver(std::shared_ptr<const HipLibrary> library, int index,
            bool isSimulated);

  void *loadModule(const std::string &code) const override {
    return make(library->moduleLoadData, library->moduleLoadData.name,
                code.data());
  }
  void *findFunction(void *module, const std::string &name,
                     uint32_t /*dynamicSharedBytes*/) const override {
    return make(library->moduleGetFunction,
                "hipModuleGetFunction of '" + name + "'", module, name.c_str());
  }
  void launch(void *function, const char *name, const LaunchConfig &config,
              void **parameters, void *stream) const override {
    Current current(*this);
    if (int error = launchKernel(function, config, parameters, stream))
      library->fail(std::string("hipModuleLaunchKernel of '") + name + "'",
                    error);
  }

private:
  int64_t attribute(hipDeviceAttribute_t which) const {
    int value = 0;
    library->call(library->deviceAttribute, &value, which, place);
    return value;
  }
};

} // namespace

/// Compute units of what HIP calls a multiprocessor. On RDNA, gfx10 to gfx12,
/// that is a workgroup processor, a pair of compute units (ROCm/hip#3767),
/// unless GPU_ENABLE_WGP_MODE=0 tells HIP to count these. CDNA5's gfx125x has a
/// name of as many digits and no such pairs. docs/runtime.md says which of the
/// two numbers a plan means.
static int64_t unitsOfMultiprocessor(const std::string &arch) {
  // "gfx" and the number: one or two digits, then those of minor and stepping.
  const size_t begin = 3;
  const size_t length = std::min(arch.find_first_of(":-"), arch.size()) - begin;
  const bool isPaired = length >= 4 && arch.compare(begin, 3, "125") != 0;
  const char *mode = std::getenv("GPU_ENABLE_WGP_MODE");
  const bool isOff =
      mode && (std::strcmp(mode, "0") == 0 || std::strcmp(mode, "false") == 0);
  return isPaired && !isOff ? 2 : 1;
}

HipDriver::HipDriver(std::shared_ptr<const HipLibrary> hip, int index,
                     bool isSimulated)
    : LibraryDriver(std::move(hip), index) {
  DeviceNames names = library->names(index);
  copyText(deviceInfo.name, names.name);
  copyText(deviceInfo.arch, names.arch);
  copyText(deviceInfo.driver, "HIP (" + library->fileName() + ")");
  deviceInfo.compute_units = attribute(hipDeviceAttributeMultiprocessorCount) *
                             unitsOfMultiprocessor(names.arch);
  deviceInfo.wave_size = attribute(hipDeviceAttributeWarpSize);
  deviceInfo.is_simulated = isSimulated;
  int l2 = 0;
  if (!library->deviceAttribute(&l2, hipDeviceAttributeL2CacheSize, index) &&
      l2 > 0)
    deviceInfo.l2_bytes = static_cast<uint64_t>(l2);
  if (deviceInfo.compute_units <= 0)
    throw Error(LNBWD_ERROR_NO_DEVICE,
                "device '" + names.name + "' reports no compute units");
  // HIP counts a grid in work-items too, in 32 bits a dimension.
  deviceInfo.maxWorkgroups.fill(std::numeric_limits<int32_t>::max());
  deviceInfo.maxWorkItems = std::numeric_limits<uint32_t>::max();
  deviceInfo.memory_bytes = memory().totalBytes;
}

std::shared_ptr<Driver> openHipDevice(int index) {
  auto library = std::make_shared<HipLibrary>(
      "LNBWD_HIP_LIBRARY",
      std::vector<std::string>{"libamdhip64.so", "libamdhip64.so.7",
                               "libamdhip64.so.6", "libamdhip64.so.5"},
      "install ROCm's HIP runtime (libamdhip64) or set LNBWD_HIP_LIBRARY to "
      "it, or run on the simulator (device 'sim')");
  checkIndex(
      "hip", index,
      countDevices(
          *library,
          "is there an AMD card, is the amdgpu driver loaded and may this user "
          "open /dev/kfd? The simulator (device 'sim') needs no card"));
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
  int count = countDevices(
      *library, environment("LNBWD_SIM_LIBRARY").empty()
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
