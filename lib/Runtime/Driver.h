//===- Driver.h - What the runtime needs of a device ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device, seen through one driver. HipDriver serves AMD devices and the
// simulator (which exports HIP's functions), CudaDriver NVIDIA's; nothing else
// in the runtime knows which it talks to. Every function throws an Error with
// the driver's own words; all but makeCurrent() leave the caller's current
// device as it was.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_DRIVER_H
#define LNBWD_LIB_RUNTIME_DRIVER_H

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lnbwd::runtime {

/// What is known of a device, as the C interface tells it.
struct DeviceInfo : lnbwd_device_info {
  /// The largest grid, in workgroups, and in work-items along one dimension.
  std::array<int64_t, 3> maxWorkgroups{};
  int64_t maxWorkItems = 0;
};

struct MemoryInfo {
  size_t freeBytes;
  size_t totalBytes;
};

/// One kernel launch. `parameters` are addresses of the values.
struct LaunchConfig {
  std::array<uint32_t, 3> grid;
  std::array<uint32_t, 3> block;
  uint32_t dynamicSharedBytes;
  /// The kernel may start before the one before it on the stream has ended; it
  /// waits for that one itself. Drivers that cannot do so start it later.
  bool dependentLaunch;
};

/// Modules, functions, streams and events are the driver's own handles.
class Driver {
public:
  virtual ~Driver() = default;

  const DeviceInfo &info() const { return deviceInfo; }
  virtual MemoryInfo memory() const = 0;
  virtual void *symbol(const char *name) const = 0;
  /// The one function that does change the caller's current device.
  virtual void makeCurrent() const = 0;

  /// `code` must live as long as the module.
  virtual void *loadModule(const std::string &code) const = 0;
  virtual void unloadModule(void *module) const noexcept = 0;
  /// Finds a kernel and makes room for `dynamicSharedBytes` in its launches.
  virtual void *findFunction(void *module, const std::string &name,
                             uint32_t dynamicSharedBytes) const = 0;
  /// How many clusters of `clusterSize` workgroups, side by side in the grid's
  /// second dimension, the device holds at once; 0 if the driver cannot tell.
  virtual int64_t residentClusters(void * /*function*/,
                                   const LaunchConfig & /*config*/,
                                   uint32_t /*clusterSize*/) const {
    return 0;
  }
  virtual void launch(void *function, const char *name,
                      const LaunchConfig &config, void **parameters,
                      void *stream) const = 0;

  virtual void *allocate(size_t bytes) const = 0;
  virtual void release(void *pointer) const = 0;
  virtual void copyToDevice(void *destination, const void *source,
                            size_t bytes) const = 0;
  virtual void copyToHost(void *destination, const void *source,
                          size_t bytes) const = 0;
  virtual void copyOnDevice(void *destination, const void *source, size_t bytes,
                            void *stream) const = 0;
  virtual void setBytes(void *pointer, int value, size_t bytes,
                        void *stream) const = 0;
  virtual void synchronize(void *stream) const = 0;

  virtual void *createEvent() const = 0;
  virtual void destroyEvent(void *event) const noexcept = 0;
  virtual void recordEvent(void *event, void *stream) const = 0;
  /// Waits for `stop`.
  virtual double elapsedMilliseconds(void *start, void *stop) const = 0;

protected:
  DeviceInfo deviceInfo{};
};

/// Sets a text of a device's description, as far as there is room.
template <size_t N> void copyText(char (&to)[N], const std::string &from) {
  to[from.copy(to, N - 1)] = 0;
}

/// AMD device `index` through libamdhip64.
std::shared_ptr<Driver> openHipDevice(int index);
/// The simulated device of that chip.
std::shared_ptr<Driver> openSimulatedDevice(const std::string &chip);
/// NVIDIA device `index` through libcuda.
std::shared_ptr<Driver> openCudaDevice(int index);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_DRIVER_H
