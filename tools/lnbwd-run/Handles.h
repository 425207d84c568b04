//===- Handles.h - The C interface with owners ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's C interface, with handles that destroy themselves and failures
// as exceptions. The runner uses nothing of the runtime but this interface.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_HANDLES_H
#define LNBWD_TOOLS_LNBWD_RUN_HANDLES_H

#include "Failure.h"

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <memory>

namespace lnbwd::run {

/// Throws if a call failed: code 3 for a missing device, `code` otherwise.
inline void check(lnbwd_status status, ExitCode code = BadInput) {
  if (status == LNBWD_SUCCESS)
    return;
  throw Failure(status == LNBWD_ERROR_NO_DEVICE ? NoDevice : code,
                lnbwd_last_error());
}

template <auto Destroy> struct Destroyer {
  template <typename T> void operator()(T *handle) const { Destroy(handle); }
};

using ProgramHandle =
    std::unique_ptr<lnbwd_program, Destroyer<lnbwd_program_destroy>>;
using DeviceHandle =
    std::unique_ptr<lnbwd_device, Destroyer<lnbwd_device_close>>;
using KernelHandle =
    std::unique_ptr<lnbwd_kernel, Destroyer<lnbwd_kernel_destroy>>;
using EventHandle =
    std::unique_ptr<lnbwd_event, Destroyer<lnbwd_event_destroy>>;

inline ProgramHandle loadProgram(const std::string &path) {
  lnbwd_program *program = nullptr;
  check(lnbwd_program_from_file(path.c_str(), &program));
  return ProgramHandle(program);
}

/// From the bytes of a compiled file.
inline ProgramHandle readProgram(const std::string &bytes) {
  lnbwd_program *program = nullptr;
  check(lnbwd_program_from_memory(bytes.data(), bytes.size(), &program));
  return ProgramHandle(program);
}

inline DeviceHandle openDevice(const std::string &spec,
                               const std::string &chip) {
  lnbwd_device *device = nullptr;
  check(lnbwd_device_open(spec.c_str(), chip.c_str(), &device));
  return DeviceHandle(device);
}

inline KernelHandle loadKernel(const lnbwd_device *device,
                               const lnbwd_program *program) {
  lnbwd_kernel *kernel = nullptr;
  check(lnbwd_kernel_load(device, program, &kernel));
  return KernelHandle(kernel);
}

inline EventHandle createEvent(const lnbwd_device *device) {
  lnbwd_event *event = nullptr;
  check(lnbwd_event_create(device, &event));
  return EventHandle(event);
}

/// Device memory.
class DeviceMemory {
public:
  DeviceMemory(const lnbwd_device *device, size_t bytes) : device(device) {
    check(lnbwd_malloc(device, bytes, &pointer));
  }
  ~DeviceMemory() { lnbwd_free(device, pointer); }
  DeviceMemory(DeviceMemory &&other) noexcept
      : device(other.device), pointer(other.pointer) {
    other.pointer = nullptr;
  }
  DeviceMemory &operator=(DeviceMemory &&) = delete;

  char *data() const { return static_cast<char *>(pointer); }

private:
  const lnbwd_device *device;
  void *pointer = nullptr;
};

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_HANDLES_H
