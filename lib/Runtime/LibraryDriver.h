//===- LibraryDriver.h - What the two drivers have in common ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HIP's functions for modules, memory, streams and events are CUDA's driver's
// with other names, and their errors have the same numbers: a table of each
// library's functions (HipDriver.cpp, CudaDriver.cpp) is all that differs.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_LIBRARYDRIVER_H
#define LNBWD_LIB_RUNTIME_LIBRARYDRIVER_H

#include "Driver.h"
#include "Error.h"

#include <cstring>
#include <string>
#include <vector>

namespace lnbwd::runtime {

/// A function of a driver's library, with the name that messages give it. It
/// takes handles as the void * that the runtime has them as.
template <typename Signature> struct DriverFunction;
template <typename Result, typename... Parameters>
struct DriverFunction<Result(Parameters...)> {
  Result (*pointer)(Parameters...) = nullptr;
  const char *name = nullptr;

  template <typename... Arguments>
  Result operator()(Arguments... arguments) const {
    return pointer(static_cast<Parameters>(arguments)...);
  }
};

/// Numbers of errors that mean something to the runtime's callers.
enum DriverError {
  kDriverSuccess = 0,
  kDriverOutOfMemory = 2,
  kDriverNoDevice = 100,
  kDriverInvalidDevice = 101,
  kDriverNoBinaryForGpu = 209
};

/// The folder of the library or program that this code was linked into, with
/// a slash at its end; empty if it cannot be found.
std::string ownFolder();

/// The value of an environment variable, or an empty string.
std::string environment(const char *variable);

/// A driver's library, which stays open until the process ends: drivers keep
/// threads and exit handlers of their own and do not survive being unloaded.
/// Those derived from it load their functions.
class DriverLibrary {
public:
  /// Opens the library that the environment's `variable` names, or else the
  /// first of `names` that there is. One that the process has loaded
  /// already is preferred, so that a program which came with a driver of its
  /// own does not get a second one. Throws LNBWD_ERROR_NO_DEVICE with all that
  /// was tried, followed by `remedy`.
  DriverLibrary(const char *variable, std::vector<std::string> names,
                const std::string &remedy);
  virtual ~DriverLibrary() = default;

  /// The name by which the library was found.
  const std::string &name() const { return foundName; }
  /// That name without its folder.
  std::string fileName() const {
    return foundName.substr(foundName.rfind('/') + 1);
  }
  /// A function or variable of the library, or null.
  void *symbol(const char *symbolName) const;

  /// The driver's words on a failed call.
  virtual std::string describe(const std::string &call, int error) const = 0;

  [[noreturn]] void fail(const std::string &call, int error,
                         const std::string &details = "") const {
    lnbwd_status status = LNBWD_ERROR_DRIVER;
    if (error == kDriverOutOfMemory)
      status = LNBWD_ERROR_OUT_OF_MEMORY;
    else if (error == kDriverNoDevice || error == kDriverInvalidDevice)
      status = LNBWD_ERROR_NO_DEVICE;
    else if (error == kDriverNoBinaryForGpu)
      status = LNBWD_ERROR_WRONG_CHIP;
    throw Error(status, describe(call, error) + details);
  }

  /// Calls a function, and throws where it fails.
  template <typename Signature, typename... Arguments>
  void call(const DriverFunction<Signature> &function,
            Arguments... arguments) const {
    if (int error = function(arguments...))
      fail(function.name, error);
  }

protected:
  /// Finds a function; null where the library does not have it.
  template <typename Signature>
  void lookUp(DriverFunction<Signature> &function, const char *name) {
    function.pointer =
        reinterpret_cast<decltype(function.pointer)>(symbol(name));
    function.name = name;
  }
  /// The same; throws LNBWD_ERROR_NO_DEVICE where it does not have it.
  template <typename Signature>
  void load(DriverFunction<Signature> &function, const char *name) {
    lookUp(function, name);
    if (!function.pointer)
      throw Error(LNBWD_ERROR_NO_DEVICE,
                  "the driver library " + foundName + " has no function " +
                      name + "; it is too old or no such driver");
  }
  static std::string describe(const std::string &call, int error,
                              const char *name, const char *words) {
    std::string message =
        call + " failed: " + (name ? name : "error " + std::to_string(error));
    if (words && (!name || std::strcmp(name, words) != 0))
      message += std::string(" (") + words + ")";
    return message;
  }

private:
  void *handle = nullptr;
  std::string foundName;
};

/// The number of devices of a library; throws with `remedy` if it cannot tell.
template <typename Library>
int countDevices(const Library &library, const std::string &remedy) {
  int count = 0;
  const char *call = library.init.name;
  int error = library.init(0);
  if (!error) {
    call = library.deviceCount.name;
    error = library.deviceCount(&count);
  }
  if (!error && count > 0)
    return count;
  throw Error(LNBWD_ERROR_NO_DEVICE,
              library.name() +
                  (error ? " is there but offers no device: " +
                               library.describe(call, error)
                         : " is there but reports no device") +
                  (remedy.empty() ? "" : "; " + remedy));
}

/// Refuses a device's index that there is not.
inline void checkIndex(const std::string &kind, int index, int count) {
  if (index >= count)
    throw Error(LNBWD_ERROR_NO_DEVICE,
                "there is no device " + kind + ":" + std::to_string(index) +
                    "; the devices are " + kind + ":0 to " + kind + ":" +
                    std::to_string(count - 1));
}

/// A device through a library. Its functions are called with the device, or its
/// context, current: a `Library::Place`, which `getPlace` and `setPlace` take.
/// While a `Library::AllowFreeing` lives, memory and modules may be given back.
template <typename Library> class LibraryDriver : public Driver {
public:
  MemoryInfo memory() const override {
    MemoryInfo result{};
    call(library->memGetInfo, &result.freeBytes, &result.totalBytes);
    return result;
  }
  void *symbol(const char *name) const override {
    return library->symbol(name);
  }
  void makeCurrent() const override { library->call(library->setPlace, place); }

  void unloadModule(void *module) const noexcept override {
    typename Library::Place previous;
    if (library->getPlace(&previous) || library->setPlace(place))
      return;
    typename Library::AllowFreeing allow(*library);
    (void)library->moduleUnload(module);
    (void)library->setPlace(previous);
  }

  void *allocate(size_t bytes) const override {
    Current current(*this);
    void *pointer = nullptr;
    if (int error = library->memAlloc(&pointer, bytes))
      library->fail(library->memAlloc.name + (" of " + std::to_string(bytes)) +
                        " bytes",
                    error);
    return pointer;
  }
  void release(void *pointer) const override {
    typename Library::AllowFreeing allow(*library);
    call(library->memFree, pointer);
  }
  void copyToDevice(void *destination, const void *source,
                    size_t bytes) const override {
    call(library->copyToDevice, destination, const_cast<void *>(source), bytes);
  }
  void copyToHost(void *destination, const void *source,
                  size_t bytes) const override {
    call(library->copyToHost, destination, const_cast<void *>(source), bytes);
  }
  void copyOnDevice(void *destination, const void *source, size_t bytes,
                    void *stream) const override {
    call(library->copyOnDevice, destination, const_cast<void *>(source), bytes,
         stream);
  }
  void setBytes(void *pointer, int value, size_t bytes,
                void *stream) const override {
    call(library->setBytes, pointer, value, bytes, stream);
  }
  void synchronize(void *stream) const override {
    call(library->streamSynchronize, stream);
  }

  void *createEvent() const override {
    return make(library->eventCreate, library->eventCreate.name, 0);
  }
  void destroyEvent(void *event) const noexcept override {
    typename Library::AllowFreeing allow(*library);
    (void)library->eventDestroy(event);
  }
  void recordEvent(void *event, void *stream) const override {
    call(library->eventRecord, event, stream);
  }
  double elapsedMilliseconds(void *start, void *stop) const override {
    float milliseconds = 0;
    call(library->eventSynchronize, stop);
    call(library->eventElapsedTime, &milliseconds, start, stop);
    return milliseconds;
  }

protected:
  LibraryDriver(std::shared_ptr<const Library> library,
                typename Library::Place place)
      : library(std::move(library)), place(place) {}

  /// Makes the device current for the calls of one scope.
  class Current {
  public:
    explicit Current(const LibraryDriver &driver) : library(*driver.library) {
      const bool isKnown = !library.getPlace(&previous);
      const bool isOther = !isKnown || previous != driver.place;
      if (isOther)
        library.call(library.setPlace, driver.place);
      isToRestore = isKnown && isOther;
    }
    ~Current() {
      if (isToRestore)
        (void)library.setPlace(previous);
    }
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    const Library &library;
    typename Library::Place previous{};
    bool isToRestore;
  };

  template <typename Function, typename... Arguments>
  void call(const Function &function, Arguments... arguments) const {
    Current current(*this);
    library->call(function, arguments...);
  }

  /// The handle that a function makes, which messages call `what`.
  template <typename Handle, typename... Parameters, typename... Arguments>
  void *
  make(const DriverFunction<typename Library::Result(Handle *, Parameters...)>
           &function,
       const std::string &what, Arguments... arguments) const {
    Current current(*this);
    Handle handle = nullptr;
    if (int error = function(&handle, arguments...))
      library->fail(what, error);
    return handle;
  }

  int launchKernel(void *function, const LaunchConfig &config,
                   void **parameters, void *stream) const {
    const auto &[grid, block, sharedBytes, dependent] = config;
    return library->launchKernel(function, grid[0], grid[1], grid[2], block[0],
                                 block[1], block[2], sharedBytes, stream,
                                 parameters, nullptr);
  }

  std::shared_ptr<const Library> library;
  typename Library::Place place;
};

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_LIBRARYDRIVER_H
